import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, root } from '../helpers/baton.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { core } from '../helpers/series.ts'
import { tempTree } from '../helpers/temp.ts'
import { hasTmux, inTmux } from '../helpers/tmux.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'
import { isAlive } from '../helpers/worker-processes.ts'

const program = join(root, 'test/fixtures/mcp/stdio.mjs')

/** The table of a server that writes a line for each of its starts. */
function countedServer(folder: string, name = 'calc', switches = '{}'): string {
  const script = `echo $$ >> ${join(folder, name)}; exec ${process.execPath} ${program} '${switches}'`
  return `[mcp_servers.${name}]\ncommand = "sh"\nargs = ["-c", ${JSON.stringify(script)}]\n`
}

type Answer = ModelReply | (() => ModelReply)

/** A chat in a workspace of its own: its tools may do everything, without a sandbox. */
async function world(answers: readonly Answer[], servers: (folder: string) => string = () => '') {
  const folder = tempTree({ '.keep': '' })
  const cwd = tempTree({ 'sub/a.txt': 'a\n' })
  const model = await startToolModel((_, index) => {
    const answer = answers[index] ?? { status: 400, body: 'no more answers' }
    return typeof answer === 'function' ? answer() : answer
  })
  const config = 'model = "m"\nwrite_mode = true\n[permission]\n"*" = "allow"\n[sandbox]\nmode = "danger-full-access"\n'
  const home = tempTree({ 'config/config.toml': config + servers(folder) })
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, BATON_HOME: home, BATON_GATEWAY_URL: model.url, CI: '1' }
  const lastUser = (): string =>
    String(model.requests.at(-1)?.body?.messages.findLast(({ role }) => role === 'user')?.content)
  return {
    model,
    folder,
    cwd,
    env,
    lastUser,
    config: (text: string) => writeFileSync(join(home, 'config/config.toml'), config + text),
    starts: (name = 'calc') => readFileSync(join(folder, name), 'utf8').trim().split('\n').map(Number),
    chat: (lines: readonly string[], ...args: readonly string[]): Promise<BatonResult> =>
      baton(['chat', ...args], { cwd, env, input: lines.map((line) => `${line}\n`).join('') }),
    /** The records of the runs of its messages. */
    records: (): readonly string[] => {
      const state = join(home, 'state/runs')
      const files = readdirSync(state, { recursive: true, encoding: 'utf8' })
      const list = readFileSync(join(state, files.find((name) => name.endsWith('chats.jsonl')) ?? ''), 'utf8')
      return list
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => (JSON.parse(line) as { readonly run: string }).run)
        .map((run) => files.find((name) => name.endsWith(`${run}/j-000001.jsonl`)) ?? '')
        .map((file) => readFileSync(join(state, file), 'utf8'))
    },
  }
}

const callsState = callsTools(['calc__state', {}])
const callsOf = (text: string | undefined): unknown => (JSON.parse(text ?? '{}') as { readonly calls?: number }).calls

it('a server keeps its state from message to message, and each message is a run with a whole record of its own', async () => {
  const { chat, model, starts, records } = await world(
    [callsState, { text: 'One.' }, callsState, { text: 'Two.' }, { text: 'Three.' }],
    countedServer,
  )
  const { code, stdout, stderr } = await chat(['First', 'Second', 'Third', '/mcp'])
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'One.\nTwo.\nThree.\n' })
  expect(stderr).toContain('calc  connected')
  const results = model.requests.flatMap(({ body }) => {
    const last = body?.messages.at(-1)
    return last?.role === 'tool' ? [callsOf(last.content)] : []
  })
  expect(results).toEqual([1, 2])
  expect(starts().map(isAlive)).toEqual([false])
  expect(starts()).toHaveLength(1)
  // each message can be resumed by itself, and ends what a killed process left
  for (const record of records()) {
    expect(record.match(/"name":"mcp.tools"/g)).toHaveLength(1)
    expect(record.match(/"k":"process","p":"mcp\/calc"/g)).toHaveLength(1)
  }
})

it('a server that is defined differently, ended, or no longer configured is started anew, said so, or ended', async () => {
  const around: { change?: () => void } = {}
  const made = await world(
    [
      callsState,
      { text: 'One.' },
      callsState,
      () => {
        around.change?.()
        return { text: 'Two.' }
      },
      callsState,
      { text: 'Three.' },
    ],
    countedServer,
  )
  const { starts, folder, model } = made
  let step = 0
  around.change = () => {
    step += 1
    made.config(countedServer(folder, 'calc', '{"slow":1}'))
  }
  const { stderr } = await made.chat([
    'First',
    '!kill $(cat ' + join(folder, 'calc') + '); sleep 0.3',
    'Second',
    'Third',
  ])
  expect(step).toBe(1)
  expect(starts(), stderr).toHaveLength(3)
  expect(stderr).toContain('MCP server calc: it was started again, because it was killed by SIGTERM')
  expect(stderr).toContain('MCP server calc: it was started anew: its definition has changed')
  const told = model.requests.flatMap(({ body }) => {
    const last = body?.messages.at(-1)
    return last?.role === 'tool' ? [last.content.split('\n')[0]] : []
  })
  const loss = '[the MCP server calc was started again before this call: what it had kept in memory is gone]'
  expect(told.slice(1)).toEqual([loss, loss])
  expect(starts().filter(isAlive)).toEqual([])
})

it('the folder of the shell and background commands outlive a message; a continued chat tells the model once what has ended', async () => {
  const background = callsTools(['bash', { command: 'echo $$ > ../pid; echo up; sleep 300', background: true }])
  const { chat, model, cwd, lastUser } = await world([
    callsTools(['bash', { command: 'cd sub' }]),
    background,
    { text: 'One.' },
    callsTools(['bash_output', { id: 'bash_1', wait: 0 }], ['bash', { command: 'pwd' }]),
    { text: 'Two.' },
    callsTools(['bash_output', { id: 'bash_1' }], ['bash', { command: 'pwd' }]),
    callsTools(['bash', { command: 'true', background: true }]),
    { text: 'Three.' },
    { text: 'Four.' },
  ])
  const first = await chat(['First', 'Second', '/tasks'])
  expect(first.code, first.stderr).toBe(0)
  expect(first.stderr).toMatch(/^bash_1 {2}running {2}echo \$\$ > \.\.\/pid/m)
  const results = (request: number): readonly string[] =>
    (model.requests[request]?.body?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
  expect(results(4).slice(-2)).toEqual([expect.stringMatching(/^bash_1 is running\n/), `${join(cwd, 'sub')}`])
  const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'))
  expect(isAlive(pid)).toBe(false)

  const later = await chat(['Third', 'Fourth'], '--continue')
  expect(later.code, later.stderr).toBe(0)
  const note =
    '[Since the last message, the commands that were running in the background have ended: bash_1 (echo $$ > ../pid; echo up; sleep 300).]'
  const users = model.requests.at(-1)?.body?.messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []))
  expect(users).toEqual(['First', 'Second', `${note}\n\nThird`, 'Fourth'])
  expect(lastUser()).toBe('Fourth')
  expect(results(6).slice(-2)).toEqual([
    'Error: bash_1 was ended with the process of the run that had started it: start it again',
    join(cwd, 'sub'),
  ])
  expect(results(7).at(-1)).toContain('as bash_2:')
})

it('a message that was killed goes on in the folder in which it began', async () => {
  const gate = new Promise<void>(() => undefined)
  const pwd = callsTools(['bash', { command: 'pwd; cd ../sub2' }])
  const { chat, model, cwd, env } = await world([
    callsTools(['bash', { command: 'mkdir sub2; cd sub' }]),
    { text: 'One.' },
    pwd,
    { gate },
    pwd,
    { text: 'Two.' },
  ])
  await chat(['First'])
  const child = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), 'chat', '--continue'], {
    cwd,
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.stdin.write('Second\n')
  await expect.poll(() => model.requests.length, { timeout: 20_000 }).toBe(4)
  child.kill('SIGKILL')
  await exited
  const { code, stderr } = await chat([], '--continue')
  expect(code, stderr).toBe(0)
  const results = model.requests
    .at(-1)
    ?.body?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
  const moved = '[the next command runs in "sub2"]'
  expect(results?.slice(1)).toEqual([`${join(cwd, 'sub')}\n${moved}`, join(cwd, 'sub2')])
})

const ways = [
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGKILL', null],
] as const

it.each(ways)('%s between messages leaves no process once the chat is continued', async (signal, code) => {
  const command = 'trap "" HUP; echo $$ > pid; sleep 300 & wait'
  const { cwd, env, starts, chat, model } = await world(
    [callsTools(['bash', { command, background: true }], ['calc__state', {}]), { text: 'One.' }, { text: 'Two.' }],
    countedServer,
  )
  const child = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), 'chat'], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  let out = ''
  child.stdout.on('data', (piece: Buffer) => (out += piece.toString()))
  child.stdin.write('First\n')
  await expect.poll(() => out, { timeout: 20_000 }).toBe('One.\n')
  await expect.poll(() => existsSync(join(cwd, 'pid')), { timeout: 20_000 }).toBe(true)
  const pids = [Number(readFileSync(join(cwd, 'pid'), 'utf8')), ...starts()]
  onTestFinished(() => pids.filter(isAlive).forEach((pid) => process.kill(pid, 'SIGKILL')))
  expect(pids.map(isAlive)).toEqual([true, true])
  child.kill(signal)
  expect(await exited).toBe(code)
  if (signal !== 'SIGKILL') expect(pids.filter(isAlive)).toEqual([])
  const { stderr } = await chat(['Second'], '--continue')
  expect(pids.filter(isAlive), stderr).toEqual([])
  const told = String(model.requests.at(-1)?.body?.messages.at(-1)?.content)
  expect(told).toContain('and are started anew: what they had kept in memory is gone (calc).')
  expect(told).toContain('bash_1 (trap "" HUP; echo $$ > pid; sleep 300 & wait)')
})

const isWhole = core(false, true)

it.skipIf(!hasTmux)(
  'a continued chat shows the last messages with their calls and the end of their answers',
  async () => {
    const long = Array.from({ length: 20 }, (_, line) => `Line ${line + 1}.`).join('\n')
    const { chat, cwd, env } = await world([
      { text: 'Zero.' },
      callsTools(['read', { path: 'sub/a.txt' }], ['read', { path: 'none.txt' }]),
      { text: long },
      { text: 'Two.' },
      { text: 'Three.' },
    ])
    await chat(['Too old', 'First,\\', 'of two lines', '!echo hi', 'Second', 'Third'])
    const command = `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' chat --continue`
    const { lines } = inTmux(command, { ...env, BATON_LOCAL_SERVERS: 'off', NO_COLOR: '1' }, cwd, 50)
    await expect.poll(() => lines().at(-1), { timeout: 20_000, interval: 100 }).toBe('>')
    const shown = lines()
    expect(shown.slice(shown.indexOf('> First,'))).toEqual([
      '> First,',
      'of two lines',
      'read sub/a.txt',
      'failed read none.txt',
      '… 8 more lines',
      ...long.split('\n').slice(-12),
      '> Second',
      'Two.',
      '> Third',
      'Three.',
      '>',
    ])
    expect(shown).not.toContain('> Too old')
  },
)

it.skipIf(!hasTmux)(
  'a long chat at a terminal starts its servers once, warns of no leak, and does not grow',
  async () => {
    const messages = isWhole ? 120 : 14
    const memory: number[] = []
    let chatPid = 0
    const answers = Array.from({ length: messages }, (_, index) => () => {
      memory.push(memoryOf(chatPid))
      return { text: `Answer ${index + 1}.` }
    })
    const servers = ['one', 'two', 'three']
    const { cwd, env, folder, starts } = await world(answers, (at) =>
      servers.map((name) => countedServer(at, name)).join(''),
    )
    const pidFile = join(folder, 'chat')
    const shell = `sh -c 'echo $$ > "$0"; exec "$@"' ${pidFile} '${process.execPath}' '${join(root, 'dist/bin/baton.js')}' chat`
    const { lines, type } = inTmux(shell, { ...env, BATON_LOCAL_SERVERS: 'off', NO_COLOR: '1' }, cwd, 50)
    const patience = { timeout: 30_000, interval: 50 }
    await expect.poll(() => lines().at(-1), patience).toBe('>')
    chatPid = Number(readFileSync(pidFile, 'utf8'))
    const seen = new Set<string>()
    for (let index = 1; index <= messages; index += 1) {
      type(`N${index}`, 'Enter')
      await expect.poll(() => [lines().includes(`Answer ${index}.`), lines().at(-1)], patience).toEqual([true, '>'])
      for (const line of lines()) seen.add(line)
    }
    expect([...seen].filter((line) => /MaxListeners|memory leak/.test(line))).toEqual([])
    for (const name of servers) expect(starts(name)).toHaveLength(1)
    if (!isWhole) return
    const at = [10, 30, 60, 90, messages].map((number) => `${number}: ${memory[number - 1]} MB`)
    process.stdout.write(`memory of a chat after messages: ${at.join(', ')}\n`)
    expect((memory.at(-1) ?? 0) / (memory[59] ?? 1)).toBeLessThan(1.3)
  },
)

/** The resident memory of a process, in megabytes. */
function memoryOf(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)
}
