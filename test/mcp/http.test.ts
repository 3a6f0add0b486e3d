import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Switches } from '../fixtures/mcp/core.mjs'
import { httpServer, serveHttp, testServers } from '../helpers/mcp-server.ts'

const signal = new AbortController().signal
const patient = { timeout: 20_000 }
const eager = { ...systemClock, sleep: async () => {} }

describe('a server over HTTP', () => {
  it.each<[string, Switches]>([
    ['with streams', {}],
    ['with plain JSON', { json: true }],
    ['without sessions', { stateless: true }],
    ['of the older form', { sseOnly: true }],
  ])('%s lists, calls, reads and prompts', async (_, switches) => {
    await using served = await serveHttp(switches)
    await using mcp = testServers([httpServer(served.url, { headers: { 'x-team': 'blue' } })])
    expect((await mcp.tools('test', signal)).map(({ name }) => name)).toContain('add')
    const calls = [1, 2, 3].map((a) => mcp.call('test', 'add', { a, b: 1 }, { signal }))
    expect((await Promise.all(calls)).map(({ structured }) => structured)).toEqual([{ sum: 2 }, { sum: 3 }, { sum: 4 }])
    expect(await mcp.read('test', 'memo://one', { signal })).toMatchObject([{ text: 'the first memo' }])
    expect(await mcp.prompt('test', 'greet', { who: 'Ada' }, { signal })).toHaveLength(2)
    expect(new Set(served.requests.map(({ headers }) => headers['x-team']))).toEqual(new Set(['blue']))
    expect(mcp.about('test')).toMatchObject({ name: 'scripted', protocol: '2025-11-25' })
    expect(mcp.notices).toEqual([])
    await mcp.close()
    const ended = served.requests.filter(({ method }) => method === 'DELETE')
    expect(ended).toHaveLength('sseOnly' in switches || 'stateless' in switches ? 0 : 1)
  })

  it('reports progress, is notified of a cancelled call, and reports a changed list', async () => {
    await using served = await serveHttp()
    await using mcp = testServers([httpServer(served.url)])
    const names = async (): Promise<readonly string[]> => (await mcp.tools('test', signal)).map(({ name }) => name)
    expect(await names()).not.toContain('extra')
    const seen: unknown[] = []
    const onProgress = ({ done }: { readonly done: number }): void => void seen.push(done)
    await mcp.call('test', 'progress', { steps: 3 }, { signal, onProgress })
    expect(seen).toEqual([1, 2, 3])
    await mcp.call('test', 'change', {}, { signal })
    expect(await names()).toContain('extra')
    const stop = new AbortController()
    const call = mcp.call('test', 'slow', { ms: 60_000 }, { signal: stop.signal })
    await vi.waitFor(() => expect(served.state.calls).toBe(3), patient)
    stop.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await vi.waitFor(() => expect(served.state.cancelled).toHaveLength(1), patient)
  })

  it('that has lost its session is initialized again, once', async () => {
    await using served = await serveHttp()
    await using mcp = testServers([httpServer(served.url)])
    await mcp.tools('test', signal)
    served.forgetSessions()
    expect(await mcp.call('test', 'add', { a: 1, b: 1 }, { signal })).toMatchObject({ structured: { sum: 2 } })
    expect(served.state.calls).toBe(1)
    expect(served.requests.filter(({ headers }) => headers['mcp-session-id'] === undefined).length).toBeGreaterThan(1)
    const [first, ...others] = await Promise.all(
      [1, 2, 3].map(async (a) => {
        if (a === 1) served.forgetSessions()
        return mcp.call('test', 'add', { a, b: 0 }, { signal })
      }),
    )
    expect([first, ...others].map((result) => result?.structured)).toEqual([{ sum: 1 }, { sum: 2 }, { sum: 3 }])
  })

  it('whose connection breaks during a call fails that call at once', async () => {
    await using served = await serveHttp()
    await using mcp = testServers([httpServer(served.url)], { clock: eager })
    await mcp.tools('test', signal)
    const call = mcp.call('test', 'slow', { ms: 60_000 }, { signal })
    const failed = expect(call).rejects.toMatchObject({
      code: 'MCP_FAILED',
      message: expect.stringMatching(/^the MCP server test cannot be reached at http.*\/mcp when asked for slow: /),
    })
    await vi.waitFor(() => expect(served.state.calls).toBe(1), patient)
    served.breakConnections()
    await failed
    expect(await mcp.call('test', 'add', { a: 1, b: 1 }, { signal })).toMatchObject({ structured: { sum: 2 } })
  })

  it('of the older transport whose stream breaks is connected again', async () => {
    await using served = await serveHttp({ sseOnly: true })
    await using mcp = testServers([httpServer(served.url, { kind: 'sse' })], { clock: eager })
    await mcp.tools('test', signal)
    const call = mcp.call('test', 'slow', { ms: 60_000 }, { signal })
    const failed = expect(call).rejects.toMatchObject({
      message: expect.stringContaining('its event stream broke'),
    })
    await vi.waitFor(() => expect(served.state.calls).toBe(1), patient)
    served.breakConnections()
    await failed
    expect(await mcp.call('test', 'add', { a: 1, b: 1 }, { signal })).toMatchObject({ structured: { sum: 2 } })
  })

  it('that sends notifications endlessly is disconnected', async () => {
    await using served = await serveHttp()
    await using mcp = testServers([httpServer(served.url)])
    await expect(mcp.call('test', 'chatter', {}, { signal })).rejects.toMatchObject({
      message: expect.stringContaining('was stopped because it sent thousands of messages that nobody asked for'),
    })
  })

  it('that sends too much is disconnected', async () => {
    await using plain = await serveHttp({ json: true })
    await using streams = await serveHttp()
    const servers = [httpServer(plain.url), httpServer(streams.url, { name: 'streams' })]
    await using mcp = testServers(servers, { maxBytes: 100_000 })
    for (const { name } of servers) {
      expect(await mcp.call(name, 'big', { bytes: 90_000 }, { signal })).toMatchObject({ content: [{ type: 'text' }] })
      await expect(mcp.call(name, 'big', { bytes: 110_000 }, { signal }).then(() => 'it came')).rejects.toMatchObject({
        message: expect.stringContaining('sent a message larger than 97.7kb when asked for big'),
      })
    }
  })
})

describe('a server over HTTP that cannot be used', () => {
  it.each([
    [
      401,
      'requires authentication (HTTP 401): ',
      'Log in with baton mcp login test, or set a key in the headers in baton.toml:3.',
    ],
    [403, 'denies access (HTTP 403): .*/mcp: the server says no', 'The account or key in use lacks permission'],
    [404, 'does not speak MCP at this address (HTTP 404): .*/mcp', 'Check the url in baton.toml:3.'],
    [500, 'failed (HTTP 500): .*/mcp: the server says no', 'This is a server-side problem. Try again later.'],
    [503, 'failed (HTTP 503): .*/mcp: the server says no', 'This is a server-side problem. Try again later.'],
  ])('answers with %i', async (status, message, hint) => {
    await using served = await serveHttp({ status })
    await using mcp = testServers([httpServer(served.url, { headers: { authorization: 'Bearer of-nobody-at-all' } })])
    await expect(mcp.tools('test', signal)).rejects.toMatchObject({
      code: 'MCP_FAILED',
      message: expect.stringMatching(`^the MCP server test ${message.replaceAll(/[()]/g, '\\$&')}`),
      hint: expect.stringContaining(hint),
    })
    await expect(mcp.tools('test', signal)).rejects.not.toMatchObject({ message: expect.stringContaining('of-nobody') })
  })

  it.each([401, 403, 500])('answers with %i and echoes its request: no key is shown', async (status) => {
    const echo = createServer((request, response) => {
      const { headers, url } = request
      response.writeHead(status).end(`\u001b[2J${JSON.stringify({ url, ...headers })}`)
    })
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void echo.close())
    const { port } = echo.address() as AddressInfo
    const headers = { 'x-api-key': 'k/ey-9876543210', authorization: 'Bearer tok-123456789' }
    const token = 'access-abcdef-123456'
    const authProvider = () => ({ token: async () => token, secrets: () => [token] })
    for (const [given, options] of [
      [headers, {}],
      [{ 'x-api-key': headers['x-api-key'] }, { authProvider }],
    ] as const) {
      const url = `http://127.0.0.1:${port}/mcp?sig=s1g-of-the-url`
      await using mcp = testServers([httpServer(url, { headers: given, isNamed: true })], options)
      const said = await mcp
        .tools('test', signal)
        .catch((error: Error) => `${error.message} ${String(Reflect.get(error, 'hint'))}`)
      expect(said).toMatch(/^the MCP server test /)
      expect(said).not.toMatch(/9876543210|tok-1234|access-abc|s1g-of|\p{Cc}/u)
    }
  })

  it('does not exist', async () => {
    const served = await serveHttp()
    await served[Symbol.asyncDispose]()
    await using mcp = testServers([httpServer(served.url)])
    await expect(mcp.tools('test', signal)).rejects.toMatchObject({
      message: `the MCP server test cannot be reached at ${served.url}: connect ECONNREFUSED ${new URL(served.url).host}`,
      hint: 'Check that it is running and that the url in baton.toml:3 is correct.',
    })
  })

  it('supports only the older transport but is configured with the newer one', async () => {
    await using served = await serveHttp({ sseOnly: true })
    await using mcp = testServers([httpServer(served.url, { isNamed: true })])
    await expect(mcp.tools('test', signal)).rejects.toMatchObject({ message: expect.stringContaining('HTTP 404') })
    expect(served.requests.filter(({ method }) => method === 'GET')).toEqual([])
  })

  it('requires a key, which it is given', async () => {
    await using served = await serveHttp({ key: 'of-the-server' })
    const headers = { authorization: 'Bearer of-the-server' }
    await using mcp = testServers([httpServer(served.url, { headers })])
    expect(await mcp.tools('test', signal)).not.toEqual([])
  })

  it('redirects: only redirects to itself are followed', async () => {
    await using other = await serveHttp()
    await using served = await serveHttp({ redirect: other.url })
    await using same = await serveHttp({ redirect: '/moved' })
    await using mcp = testServers([
      httpServer(served.url, { headers: { authorization: 'Bearer of-the-server' } }),
      httpServer(same.url, { name: 'same' }),
    ])
    await expect(mcp.tools('test', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/redirects \(HTTP 307\): .*\/mcp: Redirect to .*\/mcp not followed/),
    })
    expect(other.requests).toEqual([])
    expect(await mcp.tools('same', signal)).not.toEqual([])
  })
})
