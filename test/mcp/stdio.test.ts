import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { processStatus } from '../../src/base/process-group.ts'
import { stdioServer, testServers } from '../helpers/mcp-server.ts'

const signal = new AbortController().signal
const patient = { timeout: 20_000 }
const eager = { ...systemClock, sleep: async () => {} }

// Most of their time is waiting, for limits of time and for processes that end.
describe.concurrent('a server over stdio that fails', () => {
  it('during a call: the error contains its output, and another one is started for the next call', async () => {
    await using mcp = testServers([stdioServer()], { clock: eager })
    const call = mcp.call('test', 'crash', {}, { signal })
    await expect(call).rejects.toMatchObject({
      code: 'MCP_FAILED',
      message: expect.stringMatching(
        /^the MCP server test ended with exit code 3 when asked for crash: .*stdio.mjs.*\n {2}out of cheese$/,
      ),
      hint: 'It is restarted when it is needed again. Whether it did what it was asked is unknown.',
    })
    expect(await textOf(mcp.call('test', 'state', {}, { signal }))).toMatchObject({ calls: 1 })
    expect(mcp.pids).toHaveLength(2)
    expect(mcp.notices).toMatchObject([
      { level: 'debug', text: expect.stringContaining('exit code 3') },
      { level: 'warning', text: 'it was started again, because it ended with exit code 3' },
    ])
  })

  it('because it is killed during calls: all of them fail, and none is repeated', async () => {
    await using mcp = testServers([stdioServer()], { clock: eager })
    await mcp.tools('test', signal)
    const calls = [1, 2].map(() => mcp.call('test', 'slow', { ms: 60_000 }, { signal }))
    const settled = Promise.allSettled(calls)
    await mcp.call('test', 'state', {}, { signal })
    process.kill(mcp.pids[0] ?? 0, 'SIGKILL')
    expect(await settled).toMatchObject(
      [1, 2].map(() => ({ reason: { message: expect.stringContaining('was killed by SIGKILL when') } })),
    )
    expect(await textOf(mcp.call('test', 'state', {}, { signal }))).toMatchObject({ calls: 1 })
  })

  it('is started again after waits that double, but not during the wait after a failed start', async () => {
    let now = 0
    const waits: number[] = []
    const clock = {
      ...systemClock,
      monotonic: () => now,
      sleep: async (ms: number) => {
        waits.push(ms)
        now += ms
      },
    }
    await using mcp = testServers([stdioServer({ die: 'no key' })], { clock })
    const ask = async (): Promise<unknown> => mcp.tools('test', signal).catch((error: unknown) => error)
    const first = await ask()
    expect(first).toMatchObject({
      message: expect.stringMatching(
        /^the MCP server test ended with exit code 4 before it was ready: .*\n {2}no key$/s,
      ),
      hint: 'Run the command manually to see why; it is configured in baton.toml:3.',
    })
    expect(await ask()).toBe(first)
    expect(mcp.pids).toHaveLength(1)
    const times: number[] = []
    for (let start = 2; start <= 8; start += 1) {
      for (; mcp.pids.length < start; now += 500) await ask()
      times.push(now)
    }
    expect(times.map((time, index) => time - (times[index - 1] ?? 0))).toEqual([
      1_500, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
    ])
    expect(waits.filter((ms) => ms > 0)).toEqual([])
  })

  it('is delayed after its end, but no longer after a successful call', async () => {
    const waits: number[] = []
    const clock = { ...systemClock, monotonic: () => 0, sleep: async (ms: number) => void waits.push(ms) }
    await using mcp = testServers([stdioServer()], { clock })
    const crash = async (): Promise<unknown> => mcp.call('test', 'crash', {}, { signal }).catch(() => 'crashed')
    await crash()
    await crash()
    await crash()
    await mcp.call('test', 'echo', { text: '' }, { signal })
    await crash()
    await mcp.call('test', 'echo', { text: '' }, { signal })
    expect(waits).toEqual([0, 1_000, 2_000, 4_000, 1_000])
  })

  it('by hanging at the start: it is stopped in time, with its output', async () => {
    const server = stdioServer(
      { hang: true, words: 'waiting for the database, password hunter22hunter' },
      {
        startMs: 400,
        env: { DB_PASSWORD: 'hunter22hunter' },
      },
    )
    await using mcp = testServers([server])
    await expect(mcp.tools('test', signal)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^the MCP server test was not ready within 400 ms: .*node.* .*stdio\.mjs .*\n {2}waiting for the database, password «secret:DB_PASSWORD»$/s,
      ),
      hint: 'If it needs longer, set startup_timeout_sec in baton.toml:3.',
    })
    expect(isAlive(mcp.pids[0])).toBe(false)
  })

  it('to start', async () => {
    const transport = {
      kind: 'stdio',
      command: 'no-such-program',
      args: ['x'],
      env: {},
      cwd: import.meta.dirname,
    } as const
    await using mcp = testServers([{ ...stdioServer(), transport: () => transport }])
    await expect(mcp.tools('test', signal)).rejects.toMatchObject({
      message: 'the MCP server test cannot be started: there is no program no-such-program',
      hint: 'Install the program, or change the command in baton.toml:3.',
    })
    const nowhere = { ...transport, command: process.execPath, cwd: '/no/such/folder' }
    await using other = testServers([{ ...stdioServer(), transport: () => nowhere }])
    await expect(other.tools('test', signal)).rejects.toMatchObject({
      message: 'the MCP server test cannot be started: there is no folder /no/such/folder',
    })
  })

  // alone: the memory of this process is measured
  it.sequential.each([
    ['one line', { bytes: 1_000_000_000, line: 0 }],
    ['lines that are no messages', { bytes: 1_000_000_000, line: 1_000 }],
  ])('floods in %s: it is stopped with one error, and little output is kept', async (_, flood) => {
    await using mcp = testServers([stdioServer()])
    await mcp.tools('test', signal)
    const before = process.memoryUsage().rss
    let most = 0
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss - before)), 5)
    await expect(mcp.call('test', 'flood', flood, { signal })).rejects.toMatchObject({
      message: expect.stringContaining(
        'test was stopped because it wrote more than 16mb without a message when asked for flood',
      ),
    })
    clearInterval(watch)
    expect(most).toBeLessThan(300_000_000)
    expect(isAlive(mcp.pids[0])).toBe(false)
  })

  it.each([
    ['nests a line 100,000 levels deep', 'deep', 'it sent JSON with thousands of nested levels'],
    ['logs without end', 'chatter', 'it sent thousands of messages that nobody asked for'],
  ])('%s: it is stopped, and another one is started for the next call', async (_, tool, why) => {
    await using mcp = testServers([stdioServer()], { clock: eager })
    await expect(mcp.call('test', tool, {}, { signal })).rejects.toMatchObject({
      code: 'MCP_FAILED',
      message: expect.stringMatching(
        new RegExp(`^the MCP server test was stopped because .*${why} when asked for ${tool}: `),
      ),
    })
    await vi.waitFor(() => expect(isAlive(mcp.pids[0])).toBe(false), patient)
    expect(await textOf(mcp.call('test', 'state', {}, { signal }))).toMatchObject({ calls: 1 })
  })

  it('accepts a large message, up to the limit', async () => {
    await using mcp = testServers([stdioServer()], { maxBytes: 1024 ** 2 })
    const { content } = await mcp.call('test', 'big', { bytes: 990_000 }, { signal })
    expect(content).toMatchObject([{ text: expect.stringMatching(/^x{990000}$/) }])
    await expect(mcp.call('test', 'big', { bytes: 1024 ** 2 }, { signal })).rejects.toMatchObject({
      message: expect.stringContaining('wrote more than 1mb without a message'),
    })
  })

  it('by writing lines that are not messages: they are skipped with one warning', async () => {
    const junk = ['Server listening on stdio', '{"level":"info"}', '{broken', '', '["no","message"]']
    await using mcp = testServers([stdioServer({ junk })])
    expect(await mcp.tools('test', signal)).not.toEqual([])
    const text = 'it writes lines that are not messages; they are skipped, the first one is "Server listening on stdio"'
    expect(mcp.notices).toEqual([{ server: 'test', level: 'warning', text }])
  })

  it('to answer in time', async () => {
    await using mcp = testServers([stdioServer({}, { toolMs: 200 })])
    const call = mcp.call('test', 'slow', { ms: 60_000 }, { signal })
    await expect(call).rejects.toMatchObject({
      message: 'the MCP server test did not answer within 200 ms when asked for slow',
      hint: 'If it needs longer, set tool_timeout_sec in baton.toml:3.',
    })
    expect(await textOf(mcp.call('test', 'state', {}, { signal }))).toMatchObject({ cancelled: [expect.any(Number)] })
    expect(mcp.pids).toHaveLength(1)
  })

  it('to list its tools in time: the hint names the limit', async () => {
    await using mcp = testServers([stdioServer({ silentList: true }, { startMs: 3000, toolMs: 60_000 })])
    await expect(mcp.tools('test', signal)).rejects.toMatchObject({
      message: 'the MCP server test did not answer within 3 s when asked for its tools',
      hint: 'If it needs longer, set startup_timeout_sec in baton.toml:3.',
    })
  })
})

describe.concurrent('processes of servers', () => {
  it('have ended when the service is closed, with their child processes', async () => {
    const mcp = testServers([stdioServer()])
    const child = Number(await textOf(mcp.call('test', 'child', {}, { signal })))
    expect([mcp.pids[0], child].map(isAlive)).toEqual([true, true])
    await mcp.close()
    await vi.waitFor(() => expect([mcp.pids[0], child].map(isAlive)).toEqual([false, false]), patient)
    await expect(mcp.tools('test', signal)).rejects.toMatchObject({
      message: 'the MCP server test was closed because the run ended',
    })
  })

  it('have ended when the run is stopped, and waiting callers are told', async () => {
    const stop = new AbortController()
    await using mcp = testServers([stdioServer({ hang: true })], { signal: stop.signal })
    const tools = mcp.tools('test', signal)
    const failed = expect(tools).rejects.toMatchObject({
      message: 'the MCP server test was closed because the run ended',
    })
    await vi.waitFor(() => expect(mcp.pids).toHaveLength(1), patient)
    stop.abort()
    await failed
    await mcp.close()
    expect(isAlive(mcp.pids[0])).toBe(false)
  })

  it('have ended when this process was killed: with their server, or soon if it stays', async ({ onTestFinished }) => {
    const host = join(import.meta.dirname, '../helpers/mcp-host.ts')
    // its parent never collects its exit status, so the killed process remains as a zombie
    const script = '"$@" & exec sleep 60'
    const args = ['-c', script, 'sh', process.execPath, '--import', 'tsx', host]
    const parent = spawn('/bin/sh', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill())
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const { pid, leaves, stays } = JSON.parse(line.toString()) as {
      readonly pid: number
      readonly leaves: readonly number[]
      readonly stays: readonly number[]
    }
    expect([...leaves, ...stays].every(isAlive)).toBe(true)
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(() => expect(leaves.some(isAlive)).toBe(false), patient)
    await vi.waitFor(() => expect(stays.some(isAlive)).toBe(false), patient)
    expect(processStatus(pid)?.state).toBe('Z')
  })

  it('get the variables that commands get, and their own', async () => {
    const access = { SSH_AUTH_SOCK: '/run/agent', KUBECONFIG: '/home/a/kube', DOCKER_HOST: 'unix:///run/d' }
    const env = { PATH: process.env['PATH'], OPENAI_API_KEY: 'sk-secret-of-ours', LANG: 'C', ...access }
    const own = { SERVER_KEY: 'of-the-server', KUBECONFIG: access.KUBECONFIG }
    await using mcp = testServers([stdioServer({}, { env: own })], { env })
    const variable = async (name: string): Promise<unknown> => {
      const { content } = await mcp.call('test', 'variable', { name }, { signal })
      return content[0]
    }
    expect(await variable('OPENAI_API_KEY')).toEqual({ type: 'text', text: 'undefined' })
    expect(await variable('LANG')).toEqual({ type: 'text', text: 'C' })
    expect(await variable('SERVER_KEY')).toEqual({ type: 'text', text: 'of-the-server' })
    // what acts for the user, only where it is named
    const names = ['SSH_AUTH_SOCK', 'DOCKER_HOST', 'KUBECONFIG']
    const values = await Promise.all(names.map(variable))
    expect(values.map((value) => (value as { readonly text: string }).text)).toEqual([
      'undefined',
      'undefined',
      access.KUBECONFIG,
    ])
  })
})

async function textOf(call: Promise<{ readonly content: readonly unknown[] }>): Promise<unknown> {
  const [first] = (await call).content as readonly { readonly text: string }[]
  return JSON.parse(first?.text ?? '')
}

function isAlive(pid: number | undefined): boolean {
  return pid !== undefined && (processStatus(pid)?.state ?? 'Z') !== 'Z'
}
