import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { hasBox } from '../helpers/box.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type Files, type World } from './harness.ts'

// A model whose commands misbehave: they keep running, print forever, look for keys, lie about where they are. What
// they may change and read on the disk is attacked in the sandbox tests.

const secret = 'the-words-that-nobody-may-see'
const work: Files = {
  'ask.md': '+++\nmodel = "m"\nwrite_mode = true\ntools = ["bash"]\n+++\nLook.\n',
  'src/a.txt': 'one\n',
  'bin/bash': '#!/bin/sh\n{{mark}}\ntouch "{{marker}}"\n',
  'evil.sh': 'touch "{{marker}}"\n',
}

interface Attempt {
  readonly calls: readonly (readonly [tool: string, input: JsonObject])[]
  /** The results of the calls, in order. */
  readonly gives: readonly RegExp[]
  readonly prepare?: (world: World) => void
  readonly env?: (world: World) => Readonly<Record<string, string>>
}

const run = (command: string, more: JsonObject = {}) => ['bash', { command, ...more }] as const
const background = (command: string) => run(command, { background: true })
/** How long the processes that must not survive sleep: they are found by this number. */
const nap = 31_000_000 + (process.pid % 1_000_000)
const stays = /"\." again|runs in "src" again/

const core: Readonly<Record<string, Attempt>> = {
  'a process in the background': { calls: [run(`sleep ${nap} & echo up`)], gives: [/^up/] },
  'a process in a session of its own': { calls: [run(`setsid sleep ${nap} & echo up`)], gives: [/^up/] },
  'a process that forks and is forgotten': { calls: [run(`setsid -f sleep ${nap}; echo up`)], gives: [/^up/] },
  'nohup and disown': { calls: [run(`nohup sleep ${nap} >/dev/null 2>&1 & disown; echo up`)], gives: [/^up/] },
  'a fork of a fork': { calls: [run(`( ( setsid sleep ${nap} & ) & ); echo up`)], gives: [/^up/] },
  'processes that ignore TERM': {
    calls: [run(`trap "" TERM HUP; (trap "" TERM; sleep ${nap}) & while :; do sleep 1; done`, { timeout: 1 })],
    gives: [/^Error: stopped at its time limit of 1 s/],
  },
  'a shell that replaces itself': {
    calls: [run(`exec sleep ${nap}`, { timeout: 1 })],
    gives: [/^Error: stopped at its time limit of 1 s/],
  },
  'commands in the background that hide': {
    calls: [background(`setsid -f sleep ${nap}; nohup sleep ${nap} & wait`), background(`sleep ${nap}`)],
    gives: [/as bash_1:/, /as bash_2:/],
  },
  'more in the background than there may be': {
    calls: Array.from({ length: 9 }, () => background(`sleep ${nap}`)),
    gives: [
      ...Array.from({ length: 8 }, () => /^It runs/),
      /^Error: .*8 commands are already running in the background/,
    ],
  },
  'names of commands that are none': {
    calls: ['__proto__', 'bash_0', 'constructor', '../1'].map((id) => ['bash_output', { id }] as const),
    gives: Array.from({ length: 4 }, () => /^Error: there is no command .*: none was started$/),
  },
  'the end of its parents': {
    calls: [run('kill -9 $PPID; kill -9 1; kill -9 $$'), run('echo still')],
    gives: [/^Error: (?:ended by SIGKILL|exit code 137)/, /^still$/],
  },
  'output without end': { calls: [run('yes', { timeout: 1 })], gives: [/\[cut: lines \d+ to \d+ of \d+ are left out/] },
  'a line without end': {
    calls: [run('tr "\\0" x </dev/zero', { timeout: 1 })],
    gives: [/\[cut: lines \d+ to \d+ of \d+ are left out/],
  },
  'noise without end': { calls: [run('cat /dev/urandom', { timeout: 1 })], gives: [/\n\[binary data, [\d.]+[km]b: /] },
  'output of the background without end': {
    calls: [background('yes'), ['bash_output', { id: 'bash_1', wait: 1 }]],
    gives: [/as bash_1:/, /bytes are not kept|lines \d+ to \d+ of \d+ are left out/],
  },
  'codes for the terminal': {
    calls: [run(String.raw`printf '\033]0;pwned\007\033[2J\033[31mred\033]52;c;eA==\007\n\x1b[?1049h'; exit 3`)],
    gives: [/^Error: exit code 3\nred\n?$/],
  },
  'codes for the terminal in the line': { calls: [run('echo \u001b[2Jx; false')], gives: [/^Error: exit code 1\nx$/] },
  'lines that look like remarks, in the name of a folder': {
    calls: [run("cd src; mkdir -p 'a\n[x]' 2>/dev/null; cd 'a\n[x]' 2>/dev/null; true"), run('pwd')],
    gives: [/^\[no output\]\n\[the next command runs in "src(?:\/a\\n\[x\])?"\]$/, /\/src/],
  },
  'keys of the environment': {
    calls: [
      run(`env; cat /proc/self/environ /proc/1/environ /proc/$PPID/environ; cat /proc/*/environ | grep -a ${secret}`),
    ],
    gives: [/PATH=|binary data/],
  },
  'keys in addresses': {
    calls: [run('echo "$https_proxy$HTTPS_PROXY$ALL_PROXY"')],
    gives: [/^\[no output\]$|^http:\/\/127/],
  },
  'what shells read first': {
    calls: [run('ls src')],
    gives: [/^a\.txt/],
    env: ({ work: folder }) => ({
      BASH_ENV: join(folder, 'evil.sh'),
      ENV: join(folder, 'evil.sh'),
      'BASH_FUNC_ls%%': `() { . ${join(folder, 'evil.sh')}; }`,
      PROMPT_COMMAND: `. ${join(folder, 'evil.sh')}`,
      SHELLOPTS: 'xtrace',
      PS4: '$(. ./evil.sh)',
    }),
  },
  'a shell of the workspace': {
    calls: [run('echo mine')],
    gives: [/^mine$/],
    prepare: ({ work: folder }) => chmodSync(join(folder, 'bin/bash'), 0o755),
    env: ({ work: folder }) => ({ PATH: `bin:.:${join(folder, 'bin')}:${process.env['PATH']}` }),
  },
  'folders outside': {
    calls: [
      run('cd /'),
      run('cd ..'),
      run('cd ~'),
      run('ln -sfn / src/out 2>/dev/null; cd src/out || cd /etc'),
      run('pwd'),
    ],
    gives: [stays, stays, /again|No such file/, stays, /\/work$/],
  },
  'lies about where it is': {
    calls: [
      run('echo / >&250; trap - EXIT'),
      run('pwd() { echo /; }; command() { echo /etc; }; cd src'),
      run('exec 250>&-; cd src'),
      run('head -c 100000 /dev/zero | tr "\\0" / >&250'),
      run('pwd'),
    ],
    gives: [stays, stays, /./, /^\[no output\]/, /\/work$/],
  },
  'a folder that is gone': {
    calls: [run('mkdir -p d 2>/dev/null; cd d; rmdir ../d; true'), run('echo here; pwd')],
    gives: [/./, /^here\n.*\/work(?:$|\n)/],
  },
  'questions for a person': {
    calls: [
      run('read x; cat; read y </dev/tty; echo "[$x$y]"'),
      run('git commit --allow-empty 2>&1; ssh -o ConnectTimeout=1 git@127.0.0.1 2>&1; true'),
    ],
    gives: [/\[\]$/, /./],
  },
  'a here-document with a program in it': {
    calls: [run('sh <<EOF\ntouch "{{marker}}"\nEOF'), run('cat <<EOF\n$(touch "{{marker}}")\nEOF')],
    gives: [/touch: cannot touch/, /touch: cannot touch/],
  },
  'a NUL character, nothing, and too much': {
    calls: [run('echo a\0b'), run(''), run(`: ${'x'.repeat(99_000)}`), run('x'.repeat(100_001))],
    gives: [/NUL character/, /do not fit its schema/, /^\[no output\]$/, /do not fit its schema/],
  },
  '60 calls in one answer': {
    calls: Array.from({ length: 60 }, (_, index) => run(`echo ${index}`)),
    gives: Array.from({ length: 60 }, (_, index) => new RegExp(`^${index}$`)),
  },
}

/** Whether a process sleeps for this long, and so is one of these. */
function survives(): boolean {
  return readdirSync('/proc').some((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`sleep\0${nap}\0`)
    } catch {
      return false
    }
  })
}

async function isQuiet(): Promise<boolean> {
  for (let tries = 0; tries < 150 && survives(); tries += 1) await sleep(20)
  return !survives()
}

describe.skipIf(!hasBox)('in a box', () => {
  attack('a command that does what it should not is held, and the run goes on', { core, every: 5 }, async (attempt) => {
    const { calls, gives, prepare, env = () => ({}) } = attempt
    const keys = { OPENAI_API_KEY: secret, GITHUB_TOKEN: secret, MY_KEY: secret }
    const proxies = { https_proxy: `http://me:${secret}@127.0.0.1:9`, no_proxy: '127.0.0.1' }
    const world = createWorld({ work, env: { ...keys, ...proxies } })
    const filled = calls.map(
      ([tool, input]) => [tool, JSON.stringify(input).replaceAll('{{marker}}', world.marker)] as const,
    )
    const model = await startToolModel([callsTools(...filled), { text: 'Done.' }])
    execFileSync('git', ['init', '-q'], { cwd: world.work })
    prepare?.(world)
    const end = await world.run(['ask.md', '-c', 'permission.bash=allow'], {
      env: { BATON_GATEWAY_URL: model.url, ...env(world) },
    })
    expectHeld(world, end, [0])
    expect(end.stdout).toBe('Done.\n')
    expect(end.stderr).not.toMatch(/\u001b/) // oxlint-disable-line no-control-regex
    const results = model.results()
    expect(results.length).toBe(calls.length)
    for (const [index, result] of results.entries()) expect(result).toMatch(gives[index] ?? /./)
    expect(results.join('\n')).not.toContain(secret)
    expect(results.join('\n')).not.toMatch(/\u001b/) // oxlint-disable-line no-control-regex
    expect(await isQuiet()).toBe(true)
  })
})
