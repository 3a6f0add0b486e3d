import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import type { LimitedPack } from '../../../src/event/permission.ts'
import { tempTree } from '../../helpers/temp.ts'
import { toolHost } from '../../helpers/tool-call.ts'
import { bash as bashTool } from '../../../src/tool/toolbox/bash.ts'

const PATH = process.env['PATH'] ?? ''

interface HostOptions {
  readonly files?: Readonly<Record<string, string>>
  readonly more?: Parameters<typeof toolHost>[1]
  readonly env?: Readonly<Record<string, string>>
}

const hosts: ReturnType<typeof toolHost>[] = []
afterAll(() => Promise.all(hosts.map(async ({ box, context }) => bashTool.close?.(box, context))))

/** The tools of one conversation; its command lines run without a sandbox, and all are allowed. */
function shellHost({ files = {}, env = {}, more = {} }: HostOptions = {}) {
  const folder = tempTree({ 'sub/a.txt': 'one\n', ...files })
  const host = toolHost(folder, {
    sandbox: 'danger-full-access',
    rules: [{ tool: 'bash', effect: 'allow', origin: 'test' }],
    services: { env: { PATH, ...env } },
    ...more,
  })
  hosts.push(host)
  const bash = (command: string, others: JsonObject = {}) => host.call('bash', { command, ...others })
  return { ...host, folder, bash, say: async (command: string) => (await bash(command)).text }
}

describe.concurrent('bash', () => {
  it('returns both streams in the order in which they were written, and the exit code', async () => {
    const { bash } = shellHost()
    expect(await bash('echo a; echo b >&2; echo c')).toEqual({ text: 'a\nb\nc' })
    expect(await bash('echo no >&2; exit 3')).toEqual({ text: 'exit code 3\nno', isError: true })
    expect(await bash('kill -SEGV $BASHPID')).toEqual({ text: 'ended by SIGSEGV\n[no output]', isError: true })
    expect(await bash("sh -c 'kill -TERM $$'; exit $?")).toMatchObject({
      text: expect.stringContaining('exit code 143 (SIGTERM)'),
    })
    expect((await bash('for i in 1 2')).text).toMatch(/^exit code 2\nbash: .*syntax error/)
  })

  it('starts in the folder in which the line before ended, and keeps no other state of it', async () => {
    const { say, folder } = shellHost()
    expect(await say('x=1; cd sub; cat a.txt')).toBe('one\n[the next command runs in "sub"]')
    expect(await say('echo "$#$*"; [ -z "$(env | grep ^REPLY)" ] && echo none')).toBe('0\nnone')
    expect(await say('pwd; echo "x=$x"; (cd ..; pwd)')).toBe(`${folder}/sub\nx=\n${folder}`)
    expect(await say('cd .. || exit 1; exit 4')).toBe('exit code 4\n[no output]\n[the next command runs in "."]')
    expect(await say('pwd')).toBe(folder)
  })

  it('never starts in a folder that may not be read', async () => {
    const outside = tempTree()
    const { say, folder } = shellHost({ files: { 'real/x': '' } })
    symlinkSync(outside, join(folder, 'link'))
    symlinkSync('real', join(folder, 'inner'))
    const refused = (path: string): string => `[the next command runs in "." again: "${path}" may not be read]`
    expect(await say('cd /etc')).toBe(`[no output]\n${refused('/etc')}`)
    expect(await say('cd link')).toBe(`[no output]\n${refused(outside)}`)
    expect(await say('pwd() { echo /etc; }; cd sub; trap - EXIT; echo /etc >&250')).toBe(
      `[no output]\n${refused('/etc')}`,
    )
    expect(await say('printf "sub\\n" >&250; trap - EXIT')).toBe('[no output]')
    expect(await say('cd inner')).toBe('[no output]\n[the next command runs in "real"]')
    rmSync(join(folder, 'real'), { recursive: true })
    expect(await say('pwd')).toBe(`${folder}\n[it ran in the base folder: ${folder}/real is gone]`)
  })

  it('may start in a folder outside that a rule allows', async () => {
    const outside = tempTree({ 'b.txt': 'two\n' })
    const rules = [
      { tool: 'bash', effect: 'allow', origin: 'test' },
      { tool: 'read', pattern: `${outside}/**`, effect: 'allow', origin: 'test' },
      { tool: 'read', pattern: outside, effect: 'allow', origin: 'test' },
    ] as const
    const { say } = shellHost({ more: { rules } })
    await say(`cd ${outside}`)
    expect(await say('cat b.txt')).toBe('two')
  })

  it('has empty standard input, no terminal, and only variables meant for commands', async () => {
    const secrets = { OPENAI_API_KEY: 'k', https_proxy: 'http://me:word@proxy.example', DISPLAY: ':0', LANG: 'C' }
    const { say } = shellHost({ env: secrets })
    expect(await say('read x; echo "[$x]"; cat; cat /dev/tty')).toMatch(/^exit code 1\n\[\]\ncat: \/dev\/tty: /)
    const names = (await say('env')).split('\n').map((line) => line.replace(/=.*/, ''))
    const own = [
      'PATH',
      'LANG',
      'PWD',
      'TERM',
      'PAGER',
      'EDITOR',
      'VISUAL',
      'GIT_TERMINAL_PROMPT',
      'SHLVL',
      '_',
      'OLDPWD',
    ]
    expect(names.filter((name) => !own.includes(name))).toEqual([])
  })

  it('stops a line at its time limit, with its child processes, and shows its output', async () => {
    const { bash, folder } = shellHost()
    expect(await bash('echo begun; sleep 60 & sleep 60; echo never', { timeout: 0.3 })).toEqual({
      text: 'stopped at its time limit of 0.3 s; this is what it had printed\nbegun',
      isError: true,
    })
    expect(await bash('(sleep 60; touch late) & echo $!')).toEqual({
      text: expect.stringMatching(/^\d+\n\[the processes it had left running were ended\]$/),
    })
    expect(existsSync(join(folder, 'late'))).toBe(false)
  })

  it('shows the beginning and the end of a long output, and read returns the rest', async () => {
    const { call, say } = shellHost()
    const text = await say('seq 1 20000')
    const [, from, to, id] =
      /\n\[cut: lines (\d+) to (\d+) of 20000 are left out; to see them, read "(output:\w+)" from offset \1\]\n/.exec(
        text,
      ) ?? []
    expect(text.startsWith('1\n2\n')).toBe(true)
    expect(text.endsWith('\n20000')).toBe(true)
    expect(text.length).toBeLessThan(31_000)
    expect(text).toContain(`\n${Number(from) - 1}\n[cut`)
    expect(text).toContain(`]\n${Number(to) + 1}\n`)
    const rest = await call('read', { path: id ?? '', offset: Number(from), limit: 2 })
    expect(rest.text).toContain(`${from}\n${Number(from) + 1}\n[lines`)
  })

  it('sends a model 2 kB of the beginning and the end of a large output, and a program more', async () => {
    const ofModel = shellHost({ more: { scope: { at: [{ kind: 'turn', index: 0 }] } } })
    expect(await ofModel.say('seq 1 2000')).toBe(Array.from({ length: 2000 }, (_, line) => line + 1).join('\n'))
    const text = await ofModel.say('seq 1 20000')
    expect(text.length).toBeLessThan(2_048)
    expect(text).toMatch(/^1\n2\n[^]*\n\[cut: lines \d+ to \d+ of 20000 [^]*\n19999\n20000$/)
    const oneLine = await ofModel.say('head -c 100000 /dev/zero | tr "\\0" x; printf "the end"')
    expect(oneLine.length).toBeLessThan(2_048)
    expect(oneLine).toMatch(/^x+…\n\[cut: lines 1 to 50 of 51 [^]*\]\n…x+the end$/)
    expect((await shellHost().say('seq 1 4000')).split('\n')).toHaveLength(4000)
  })

  it('without the tool read, bash_output returns the rest of an output', async () => {
    const { call, say } = shellHost({ more: { hasRead: false, scope: { at: [{ kind: 'turn', index: 0 }] } } })
    const text = await say('seq 1 20000')
    const [, id = '', offset] = /call bash_output with the id "(output:\w+)" and the offset (\d+)\]/.exec(text) ?? []
    const rest = await call('bash_output', { id, offset: Number(offset) })
    expect(rest.text).toMatch(new RegExp(`^${offset}\\n[^]*\\[lines ${offset} to \\d+ of 20000; go on from`))
    expect(await call('bash_output', { id: 'output:123456789abc' })).toMatchObject({ isError: true })
  })

  it('does not end a program that prints endlessly or in one line, and reports what is not kept', async () => {
    const { bash } = shellHost()
    const { text } = await bash('head -c 9000000 /dev/zero | tr "\\0" x; echo; echo end')
    expect(text).toMatch(/\[cut: lines \d+ to \d+ of \d+ are left out/)
    expect(text).toMatch(/x\nend$/)
    expect(text.length).toBeLessThan(34_000)
    expect((await bash('yes', { timeout: 0.5 })).text.length).toBeLessThan(31_000)
  })

  it('executes calls in order, and later calls wait for a line', async () => {
    const { bash, call, folder } = shellHost()
    const results = await Promise.all([
      bash('sleep 0.2; mkdir new; cd new; echo first > f'),
      bash('cat f; cd ..'),
      call('read', { path: 'new/f' }),
      bash('pwd'),
    ])
    expect(results.map(({ text }) => text.split('\n')[0])).toEqual(['[no output]', 'first', '1→first', folder])
  })

  it('is refused in plan mode, in a dry run, and with a NUL character', async () => {
    const { bash, call } = shellHost()
    await call('enter_plan', {})
    expect(await bash('ls')).toMatchObject({ isError: true, text: expect.stringContaining('plan mode is on') })
    const dry = shellHost({ more: { scope: { dry: 'changes' } } })
    expect(await dry.bash('touch made')).toEqual({
      text: 'not run, because this is a dry run: touch made',
      isError: true,
    })
    expect(existsSync(join(dry.folder, 'made'))).toBe(false)
    expect((await shellHost().bash('echo \0')).text).toBe('a command line cannot contain a NUL character')
  })

  it('runs for an agent of a pack that was granted bash, and for no other', async () => {
    const granted = { read: ['**'], write: [], hosts: [], commands: ['git'], env: [], models: [], mcp: [] }
    const places = { ownFolders: [], keptFolders: [], executed: [], allow: [] }
    const held = { identity: 'demo@pack', granted, ...places }
    const host = (packs: readonly LimitedPack[]) => shellHost({ more: { packs } })
    expect(await host([held]).bash('echo one')).toEqual({ text: expect.stringContaining('demo@pack'), isError: true })
    const full = { ...held, granted: { ...granted, commands: ['bash'] } }
    expect(await host([full]).bash('echo one')).toEqual({ text: 'one' })
  })

  it('makes files that it changes stale for edit', async () => {
    const { bash, call, folder } = shellHost()
    await call('read', { path: 'sub/a.txt' })
    await bash('echo two > sub/a.txt')
    expect(await call('write', { path: 'sub/a.txt', content: 'three\n' })).toMatchObject({ isError: true })
    expect(readFileSync(join(folder, 'sub/a.txt'), 'utf8')).toBe('two\n')
  })
})

describe.concurrent('commands in the background', () => {
  it('keep running, show new output, and how they have ended', async () => {
    const { bash, call, folder } = shellHost()
    const started = await bash('echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 5', {
      background: true,
    })
    expect(started.text).toBe(
      'It runs in the background as bash_1: bash_output shows what it has printed, kill ends it.',
    )
    const first = await call('bash_output', { id: 'bash_1', wait: 0.5 })
    expect(first.text).toBe('bash_1 is running\none')
    expect((await call('bash_output', { id: 'bash_1' })).text).toBe('bash_1 is running\n[nothing new]')
    writeFileSync(join(folder, 'go'), '')
    expect((await call('bash_output', { id: 'bash_1', wait: 20 })).text).toBe('bash_1 has ended: exit code 5\ntwo')
    expect((await call('kill', { id: 'bash_1' })).text).toBe('bash_1 had already ended; bash_output shows how')
  })

  it('are ended by kill, and by the end of the conversation, with their child processes', async () => {
    const { bash, call, folder, box, context } = shellHost()
    mkdirSync(join(folder, 'alive'))
    const line = (name: string): string => `(while :; do touch alive/${name}; sleep 0.05; done) & wait`
    await bash(line('a'), { background: true })
    await bash(line('b'), { background: true })
    expect((await call('kill', { id: 'bash_1' })).text).toBe('bash_1 was ended; bash_output shows what it had printed')
    expect((await call('bash_output', { id: 'bash_1' })).text).toMatch(
      /^bash_1 has ended: (?:ended by SIGTERM|exit code 143)/,
    )
    await bashTool.close?.(box, context)
    expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: expect.stringMatching(/^background commands stopped at the end of the conversation: bash_2 \(/) },
    ])
    for (const name of ['a', 'b']) rmSync(join(folder, 'alive', name), { force: true })
    await sleep(200)
    expect([existsSync(join(folder, 'alive/a')), existsSync(join(folder, 'alive/b'))]).toEqual([false, false])
  })

  it('are eight at most, and identified by name', async () => {
    const { bash, call } = shellHost()
    for (let count = 0; count < 8; count += 1) await bash('sleep 60', { background: true })
    expect((await bash('sleep 60', { background: true })).text).toContain(
      '8 commands are already running in the background',
    )
    expect((await call('kill', { id: 'bash_9' })).text).toMatch(
      /^there is no command bash_9 in the background; known commands: bash_1,/,
    )
    await call('kill', { id: 'bash_3' })
    expect((await bash('sleep 60', { background: true })).text).toContain('as bash_9:')
  })

  it('of a process that is gone are reported as ended', async () => {
    const { call, box } = shellHost()
    box.shell.jobs.know('bash_1')
    for (const name of ['bash_output', 'kill'] as const) {
      expect(await call(name, { id: 'bash_1' })).toEqual({
        text: 'bash_1 was ended with the process of the run that had started it: start it again',
        isError: true,
      })
    }
  })
})
