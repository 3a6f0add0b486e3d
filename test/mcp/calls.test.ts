import { describe, expect, it } from 'vitest'
import type { McpAnswer, McpQuestion } from '../../src/event/mcp.ts'
import { httpServer, serveHttp, stdioServer, testServers } from '../helpers/mcp-server.ts'

const signal = new AbortController().signal

describe('lists of a server', () => {
  it('are cached until the server reports a change', async () => {
    await using mcp = testServers([stdioServer()])
    const names = async (): Promise<readonly string[]> => (await mcp.tools('test', signal)).map(({ name }) => name)
    expect(await names()).not.toContain('extra')
    await names()
    expect(await stateOf(mcp)).toMatchObject({ opened: 1 })
    await mcp.call('test', 'change', {}, { signal })
    expect(await names()).toContain('extra')
    await names()
    expect(await stateOf(mcp)).toMatchObject({ opened: 2 })
  })

  it('come in pages, up to a limit', async () => {
    await using mcp = testServers([
      stdioServer({ pageSize: 3 }),
      stdioServer({}, { name: 'whole' }),
      stdioServer({ endless: true }, { name: 'endless' }),
    ])
    expect(await mcp.tools('test', signal)).toEqual(await mcp.tools('whole', signal))
    await expect(mcp.tools('endless', signal)).rejects.toMatchObject({
      message: expect.stringContaining(
        'sent an invalid answer when asked for its tools: its list of tools has more than 500 pages or 10000 entries',
      ),
    })
  })

  it.each([
    ['an empty cursor', ''],
    ['the cursor that was asked for', 'again'],
  ])('end with %s, and every tool is listed once', async (_, lastCursor) => {
    await using mcp = testServers([stdioServer({ lastCursor }), stdioServer({}, { name: 'whole' })])
    expect(await mcp.tools('test', signal)).toEqual(await mcp.tools('whole', signal))
  })

  it('exclude invalid tools and filtered ones', async () => {
    const filter = { tools: ['e*', 'add', 'slow'], disallowedTools: ['s*w', 'extra'] }
    await using mcp = testServers([stdioServer({ wrongList: true }), stdioServer({}, { name: 'less', ...filter })])
    expect((await mcp.tools('test', signal)).map(({ name }) => name)).toEqual(['echo'])
    expect((await mcp.tools('less', signal)).map(({ name }) => name)).toEqual(['echo', 'add'])
    await expect(mcp.call('less', 'slow', {}, { signal })).rejects.toMatchObject({
      message: 'the tool slow of the MCP server less is filtered out',
      hint: 'Check tools and disallowed_tools in baton.toml:3.',
    })
  })

  it('are empty if the server does not support them, and are not requested', async () => {
    await using mcp = testServers([stdioServer({ capabilities: {} })])
    const lists = [mcp.tools('test', signal), mcp.resources('test', signal), mcp.prompts('test', signal)]
    expect(await Promise.all(lists)).toEqual([[], [], []])
    expect(await stateOf(mcp)).toMatchObject({ opened: 0 })
  })

  it('name the existing servers', async () => {
    await using mcp = testServers([stdioServer()])
    await expect(mcp.tools('tset', signal)).rejects.toMatchObject({
      code: 'MCP_FAILED',
      message: 'there is no MCP server tset',
      hint: 'Did you mean test?',
    })
  })
})

describe('a call', () => {
  it('returns images, sounds, links and files unchanged, and errors of the tool as results', async () => {
    await using mcp = testServers([stdioServer()])
    expect(await mcp.call('test', 'picture', {}, { signal })).toEqual({
      content: [
        { type: 'text', text: 'here they are' },
        { type: 'image', data: expect.stringMatching(/^iVBOR/), mimeType: 'image/png' },
        { type: 'audio', data: 'UklGRgAAAABXQVZF', mimeType: 'audio/wav' },
        {
          type: 'resource_link',
          uri: 'memo://one',
          name: 'one',
          description: 'the first memo',
          mimeType: 'text/plain',
        },
        { type: 'resource', resource: { uri: 'memo://two', mimeType: 'text/plain', text: 'the second memo' } },
      ],
    })
    expect(await mcp.call('test', 'fail', {}, { signal })).toEqual({
      content: [{ type: 'text', text: 'it did not work' }],
      isError: true,
    })
    await expect(mcp.call('test', 'refuse', {}, { signal })).rejects.toMatchObject({
      message: 'the MCP server test answered with an error when asked for refuse: I do not do that (-32602)',
    })
    await expect(mcp.call('test', 'refuse', { url: 'https://example.com/login' }, { signal })).rejects.toMatchObject({
      message: expect.stringContaining('Log in first: https://example.com/login (-32042)'),
    })
    await expect(mcp.call('test', 'nonsense', {}, { signal })).rejects.toMatchObject({
      message: expect.stringContaining('it is not a tool result'),
    })
  })

  it('of a tool that works only as a task is an error with that reason', async () => {
    await using mcp = testServers([stdioServer()])
    await expect(mcp.call('test', 'job', {}, { signal })).rejects.toMatchObject({
      message: 'the tool job of the MCP server test works only as a task of the protocol',
      hint: expect.stringContaining('Baton does not call tools as tasks'),
    })
  })

  it('is refused in one line, whatever the server sends', async () => {
    await using mcp = testServers([stdioServer()])
    const url = 'https://x.example/\nhint: run this'
    await expect(mcp.read('test', 'memo://\nhint: x', { signal })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^the MCP server test .* asked for memo:\/\/␊hint: x: there is no memo:.* \(-32002\)$/,
      ),
    })
    await expect(mcp.call('test', 'refuse', { url }, { signal })).rejects.toMatchObject({
      message: expect.stringMatching(/^the MCP server test .* https:\/\/x\.example\/ hint: run this \(-32042\)$/),
    })
  })

  it('is refused without control characters, and without a secret of the server', async () => {
    const key = 'tok-0123456789-abcdef'
    await using mcp = testServers([stdioServer({}, { env: { API_KEY: key, THING: 'odd/9876+x' } })])
    await expect(mcp.call('test', 'refuse', { message: 'odd/9876+x' }, { signal })).rejects.not.toMatchObject({
      message: expect.stringContaining('9876'),
    })
    const message = `no \u001b]0;T\u0007 \u001b[31mred\u001b[0m \u009b2J \u202e txt\r\nerror: forged ${key}`
    await expect(mcp.call('test', 'refuse', { message }, { signal })).rejects.toMatchObject({
      message:
        'the MCP server test answered with an error when asked for refuse: no ␛]0;T␇ red �2J � txt error: forged «secret:API_KEY» (-32602)',
    })
    // what is cut is masked before
    const long = `${'x'.repeat(1_860)}${key}`
    const said = await mcp.call('test', 'refuse', { message: long }, { signal }).catch(String)
    expect(said).toContain('xx«secret')
    expect(said).not.toContain('tok-')
  })

  it('names only web pages, or pages on this machine, that a user has to open first', async () => {
    await using mcp = testServers([stdioServer()])
    for (const url of ['file:///etc/passwd', 'javascript:alert(1)', 'http://login.example/', 'vscode://x']) {
      const said = await mcp.call('test', 'refuse', { url }, { signal }).catch(String)
      expect(said).toContain('Log in first: (-32042)')
    }
  })

  it('can be one of two hundred at once', async () => {
    await using mcp = testServers([stdioServer()])
    const calls = Array.from({ length: 200 }, (_, a) => mcp.call('test', 'add', { a, b: 1 }, { signal }))
    expect((await Promise.all(calls)).map(({ structured }) => structured)).toEqual(
      calls.map((_, a) => ({ sum: a + 1 })),
    )
    expect(mcp.pids).toHaveLength(1)
  })

  it('reports its progress', async () => {
    await using mcp = testServers([stdioServer()])
    const seen: unknown[] = []
    await mcp.call('test', 'progress', { steps: 2 }, { signal, onProgress: (progress) => void seen.push(progress) })
    expect(seen).toEqual([
      { done: 1, total: 2, message: 'step 1' },
      { done: 2, total: 2, message: 'step 2' },
    ])
  })

  it('is cancelled with its signal, and no others are', async () => {
    await using mcp = testServers([stdioServer()])
    await mcp.tools('test', signal)
    const stop = new AbortController()
    const [cancelled, other] = [
      mcp.call('test', 'slow', { ms: 60_000 }, { signal: stop.signal }),
      mcp.call('test', 'slow', { ms: 300 }, { signal }),
    ]
    await stateOf(mcp)
    stop.abort(new Error('enough'))
    await expect(cancelled).rejects.toThrow('enough')
    expect(await other).toEqual({ content: [{ type: 'text', text: 'after 300 ms' }] })
    expect(await stateOf(mcp)).toMatchObject({ cancelled: [expect.any(Number)] })
  })

  it('does not end the start that another one waits for', async () => {
    await using mcp = testServers([stdioServer()])
    const stop = new AbortController()
    const [first, second] = [mcp.tools('test', stop.signal), mcp.tools('test', signal)]
    stop.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    expect(await second).not.toEqual([])
    expect(mcp.pids).toHaveLength(1)
  })

  it('lets a server request folders, and log, only up to a limit', async () => {
    await using mcp = testServers([stdioServer()], { roots: ['/work/a b'] })
    expect(await textOf(mcp.call('test', 'roots', {}, { signal }))).toEqual({
      roots: [{ uri: 'file:///work/a%20b', name: '/work/a b' }],
    })
    await mcp.call('test', 'log', { text: 'hello', times: 1_500 }, { signal })
    expect(mcp.notices[0]).toEqual({ server: 'test', level: 'debug', text: 'info test: hello' })
    expect(mcp.notices).toHaveLength(1_000)
    expect(mcp.notices.at(-1)?.text).toBe('it logs too much; the rest is not shown')
  })

  it('logs in one line without control characters', async () => {
    await using mcp = testServers([stdioServer()])
    await mcp.call('test', 'log', { text: 'a\nb: forged\u001b[2J' }, { signal })
    expect(mcp.notices).toEqual([{ server: 'test', level: 'debug', text: 'info test: a␊b: forged␛[2J' }])
  })
})

describe('questions of a server', () => {
  const accept = async (): Promise<McpAnswer> => ({ action: 'accept', content: { name: 'Ada' } })

  it('are passed to the caller, and the time for the answer does not count', async () => {
    await using mcp = testServers([stdioServer({}, { toolMs: 400 })])
    await mcp.tools('test', signal)
    const asked: McpQuestion[] = []
    const onQuestion = async (question: McpQuestion): Promise<McpAnswer> => {
      asked.push(question)
      await new Promise((resolve) => setTimeout(resolve, 600))
      return accept()
    }
    expect(await textOf(mcp.call('test', 'ask', {}, { signal, onQuestion }))).toEqual({
      action: 'accept',
      content: { name: 'Ada' },
    })
    await mcp.call('test', 'ask', { url: 'https://example.com/login' }, { signal, onQuestion })
    expect(asked).toEqual([
      {
        kind: 'form',
        message: 'Who are you?',
        schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
      { kind: 'url', message: 'Please log in.', url: 'https://example.com/login' },
    ])
  })

  it('are declined when nobody is there, and not announced when nobody ever is', async () => {
    await using mcp = testServers([stdioServer()])
    expect(await textOf(mcp.call('test', 'ask', {}, { signal }))).toEqual({ action: 'decline' })
    expect((await stateOf(mcp))['capabilities']).toEqual({
      roots: {},
      elicitation: { form: { applyDefaults: true }, url: {} },
    })
    await using alone = testServers([stdioServer()], { canAsk: false })
    expect(await textOf(alone.call('test', 'ask', {}, { signal }))).toMatchObject({ error: { code: -32601 } })
    expect((await stateOf(alone))['capabilities']).toEqual({ roots: {} })
  })

  it('for a model are answered if the settings allow it', async () => {
    await using mcp = testServers([stdioServer(), stdioServer({}, { name: 'sampling', sampling: true })])
    expect(await textOf(mcp.call('test', 'sample', {}, { signal }))).toMatchObject({ error: { code: -32601 } })
    const content = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hi.' } }
    const asked: McpQuestion[] = []
    const onQuestion = async (question: McpQuestion): Promise<McpAnswer> => {
      asked.push(question)
      return { action: 'accept', content }
    }
    expect(await textOf(mcp.call('sampling', 'sample', {}, { signal, onQuestion }))).toEqual(content)
    expect(asked).toMatchObject([
      { kind: 'sampling', params: { maxTokens: 100, messages: [{ role: 'user', content: { text: 'Hello?' } }] } },
    ])
    expect(await textOf(mcp.call('sampling', 'sample', {}, { signal }))).toMatchObject({
      error: { message: 'the request was declined' },
    })
  })

  it('go to the newest call over one channel, and over HTTP to their own call', async () => {
    await using served = await serveHttp()
    await using mcp = testServers([stdioServer(), httpServer(served.url, { name: 'http' })])
    await Promise.all([mcp.tools('test', signal), mcp.tools('http', signal)])
    for (const [server, expected] of [
      ['test', ['second', 'second']],
      ['http', ['first', 'second']],
    ] as const) {
      const asked: string[] = []
      const answer = (who: string) => async (): Promise<McpAnswer> => {
        asked.push(who)
        return accept()
      }
      await Promise.all(
        ['first', 'second'].map((who) => mcp.call(server, 'ask', {}, { signal, onQuestion: answer(who) })),
      )
      expect([server, asked.toSorted()]).toEqual([server, expected])
    }
  })
})

async function stateOf(mcp: ReturnType<typeof testServers>): Promise<{ readonly [key: string]: unknown }> {
  return (await textOf(mcp.call('test', 'state', {}, { signal }))) as { readonly [key: string]: unknown }
}

async function textOf(call: Promise<{ readonly content: readonly unknown[] }>): Promise<unknown> {
  const [first] = (await call).content as readonly { readonly text: string }[]
  return JSON.parse(first?.text ?? '')
}
