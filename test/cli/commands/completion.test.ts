import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandTable } from '../../../src/cli/command-table.ts'
import { completionCommand } from '../../../src/cli/commands/completion.ts'
import type { CommandIo } from '../../../src/cli/io.ts'
import { runProgram } from '../../../src/cli/program.ts'
import { tempTree } from '../../helpers/temp.ts'

const shells = ['bash', 'zsh', 'fish'] as const

const folder = tempTree({
  '.git/HEAD': '',
  'ask.md': '',
  'a b.md': '',
  'c:d.md': '',
  '$(>ran).md': '',
  'line\nbreak.md': '',
  'bell\u0007.md': '',
  '-y.md': '',
  'agents/lint.aip': '',
  'agents/two words.aip': '',
  'agents/z$(id).aip': '',
  '.baton/packs/demo/short/main.aip': '# Output\n\n```lua\nreturn 1\n```\n',
  '.baton/packs/demo/short/check.aip': '',
  'home/.baton/config/config.toml': '[mcp_servers.docs]\ncommand = "none"\n',
  'notes.txt': '',
  '.hidden.md': '',
  'home/deep/own.md': '',
})
const env = { BATON_HOME: join(folder, 'home/.baton') }

/** What `baton` prints for these arguments. */
async function printed(args: readonly string[]): Promise<readonly string[]> {
  let text = ''
  const io = {
    cwd: folder,
    home: join(folder, 'home'),
    env,
    columns: () => 80,
    signal: new AbortController().signal,
    inputKind: () => 'none',
    onInterrupt: () => () => undefined,
    onContinue: () => () => undefined,
    out: (part: string) => (text += part),
    err: () => undefined,
  }
  expect(await runProgram(args, io as unknown as CommandIo)).toBe(0)
  return text.replace(/\n$/, '').split('\n')
}

/** What bash gets for a line, after the folder of files. */
async function inBash(line: string): Promise<readonly string[]> {
  return (await printed(['__complete', 'bash', '--', line, ' "\'@=:'])).slice(1)
}

async function stubOf(shell: (typeof shells)[number]): Promise<string> {
  let text = ''
  await completionCommand({ shell }, { out: (part) => (text += part) })
  return text
}

describe('completion', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['baton ch', ['chat', 'check']],
    ['baton conf', ['config']],
    ['baton demo', ['demo@short', 'demo@short/check']],
    ['baton check a', ['a b.md', 'agents', 'agents/lint.aip', 'ask.md', 'auto-context']],
    ['baton check ask.md agents', ['agents', 'agents/lint.aip']],
    ['baton check ./agents/l', ['./agents/lint.aip']],
    ['baton check agents/l', ['agents/lint.aip']],
    ['baton check ./a', ['./a b.md', './agents', './ask.md']],
    ['baton check a\\ ', ['a b.md']],
    ['baton check "a ', ['a b.md']],
    ["baton check 'a ", ['a b.md']],
    ['baton check .h', ['.hidden.md']],
    ['baton check ~/d', ['~/deep']],
    ['baton check ~/deep/', ['~/deep/own.md']],
    // the shell quotes it
    ['baton check \\$', ['$(>ran).md']],
    ['baton check $', ['$(>ran).md']],
    // no line can hold these names, or they would be flags
    ['baton check li', []],
    ['baton check be', []],
    ['baton check -y', []],
    ['baton check ./-', ['./-y.md']],
    ['baton check agents/z', ['agents/z$(id).aip']],
    // bash replaces the word that starts with the @, and what follows another character that divides words
    ['baton check demo@sh', ['@short', '@short/check']],
    ['baton check c:', ['d.md']],
    ['baton check "c:', ['c:d.md']],
    // as typed, else without regard to case
    ['baton check REV', ['reviewer']],
    ['baton run --mod', ['--mode', '--model']],
    ['baton run --model x --mod', ['--mode']],
    ['baton run --input x --inp', ['--input']],
    ['baton run --single', []],
    ['baton ask.md --max-c', ['--max-cost']],
    ['baton config --or', ['--origin']],
    ['baton check --or', []],
    ['baton --vers', ['--version']],
    ['baton check --vers', []],
    ['baton run ask.md --dry ', ['changes', 'req', 'res']],
    ['baton ask.md --dry ', ['changes', 'req', 'res']],
    ['baton ask.md --dry=re', ['req', 'res']],
    ['baton run ask.md ', []],
    ['baton -m check conf', ['config']],
    ['baton new ', ['prompt', 'agent', 'pack']],
    ['baton new pack ', []],
    ['baton list to', ['tools', 'todo']],
    ['baton list mo', ['modes']],
    ['baton list com', ['commands']],
    ['baton ask.md --mode ', ['classic', 'code']],
    ['baton plan ask.md --mode=cl', ['classic']],
    ['baton models so', ['sol', 'sonnet']],
    ['baton -m son', ['sonnet']],
    ['baton config --permission web', ['webfetch']],
    ['baton help appr', ['approve']],
    ['baton new prompt x --from quick', ['quickstart']],
    ['baton -C ag', ['agents']],
    ['baton --env n', ['notes.txt']],
    ['baton --env=n', ['notes.txt']],
    ['baton schema ', ['prompt', 'config', 'events']],
    ['baton completion ', shells],
    ['baton init ag', ['agents']],
    ['baton runs sh', ['show']],
    ['baton mcp call ', ['docs']],
    ['baton resume last --from ', []],
    ['baton run --replay n', ['notes.txt']],
    ['baton nothing-like-this', []],
  ]
  it.each(cases)('of %s', async (line, names) => {
    expect((await inBash(line)).toSorted()).toEqual(names.toSorted())
  })

  it('names the runs of the workspace', async () => {
    await printed(['demo@short'])
    const [id = ''] = await printed(['runs', '--ids'])
    expect(await inBash('baton resume ')).toEqual(['last', id])
    expect(await inBash(`baton runs diff ${id.slice(0, -2)}`)).toEqual([id])
  })

  it('knows every command, and its flags that are not hidden', async () => {
    for (const { name, flags } of commandTable) {
      expect(await inBash(`baton ${name}`)).toContain(name)
      const known = await inBash(`baton ${name} --`)
      const shown = Object.entries(flags).filter(([, { hidden }]) => hidden !== true)
      expect(known).toEqual(expect.arrayContaining(shown.map(([flag]) => `--${flag}`)))
    }
  })

  it('describes names in zsh and fish, and gives each shell the files as it fills them in', async () => {
    const zsh = await printed(['__complete', 'zsh', '--', 'baton schema --env=./'])
    expect(zsh).toEqual([`${folder}/`, ...zsh.slice(1).toSorted()])
    expect(zsh).toEqual(expect.arrayContaining(['a b.md', 'agents', 'notes.txt']))
    const fish = await printed(['__complete', 'fish', '--', 'baton schema --env=./'])
    expect(fish).toEqual(expect.arrayContaining(['--env=./a b.md', '--env=./agents/', '--env=./notes.txt']))
    expect(await printed(['__complete', 'zsh', '--', 'baton ch'])).toEqual(
      expect.arrayContaining(['check\tcheck       -- report errors in prompt files and agents without running them']),
    )
    expect(await printed(['__complete', 'fish', '--', 'baton run --mo'])).toContain(
      '--model\tmodel of the main agent (-m)',
    )
  })
})

describe('the stub', () => {
  it.each(shells)('for %s has at most twenty lines, and evaluates nothing', async (shell) => {
    const text = await stubOf(shell)
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
    expect(text.replaceAll(/^#.*$/gm, '')).not.toMatch(/\beval\b|compgen|_call_program|\(e\)/)
  })

  it('for bash passes the line on as it is, and takes lines as they are', async () => {
    const place = tempTree({
      'completion.bash': await stubOf('bash'),
      'try.bash': `
source ./completion.bash
COMP_LINE='baton check $(>ran) "\`>ran\`'
COMP_POINT=\${#COMP_LINE}
_baton
printf '<%s>\\n' "\${COMPREPLY[@]}"`,
    })
    const names = ['$(>ran)', '`>ran`', '*', 'two  words', '-n', 'x\\', "'", '"', '~', '\u001b[2J', '{a,b}']
    const lines = names.map((name) => `'${name.replaceAll("'", "'\\''")}'`).join(' ')
    writeFileSync(join(place, 'baton'), `#!/bin/sh\nprintf '%s\\n' /folder/ "$4" ${lines}\n`, { mode: 0o755 })
    const { stdout, stderr } = spawnSync('bash', ['--norc', '--noprofile', 'try.bash'], {
      cwd: place,
      env: { PATH: `${place}:${process.env['PATH']}`, HOME: place },
      encoding: 'utf8',
    })
    // a shell without a prompt completes nothing
    expect(stderr.replace(/.*compopt: not currently executing.*\n/, '')).toBe('')
    expect(stdout).toBe(['baton check $(>ran) "`>ran`', ...names].map((name) => `<${name}>\n`).join(''))
    expect(existsSync(join(place, 'ran'))).toBe(false)
  })
})
