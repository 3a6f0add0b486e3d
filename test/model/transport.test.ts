import { textMessage } from '../../src/event/message.ts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { defaultTimeouts } from '../../src/model/call.ts'
import type { ModelEvent, ModelProvider, ModelRequest } from '../../src/model/provider.ts'
import type { TransportOptions } from '../../src/model/transport.ts'
import { collectModelEvents, describeModelProvider, textOf } from '../contract/model-provider.ts'
import { chatProvider } from '../helpers/chat-provider.ts'
import { chatEvents, startModelServer, type ModelScript, type ModelServer } from '../helpers/model-server.ts'

const never = new AbortController().signal
const request: ModelRequest = { model: 'm1', messages: [textMessage('user', 'Hello')] }

const servers: ModelServer[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

async function open(script: ModelScript): Promise<ModelServer> {
  const server = await startModelServer(script)
  servers.push(server)
  return server
}

function providerOf({ url }: ModelServer, options: Partial<TransportOptions> = {}): ModelProvider {
  return chatProvider(url, options)
}

describeModelProvider('createTransport', async () => {
  const server = await open(() => ({ text: 'one two three four' }))
  return { provider: providerOf(server), request }
})

describe('a request', () => {
  it('contains the given settings, and nothing else', async () => {
    const server = await open([{ text: 'a' }, { text: 'b' }])
    const settings = { temperature: 0.5, top_p: 0.9, max_tokens: 7, reasoning_effort: 'low', seed: 3 }
    await collectModelEvents(providerOf(server).stream({ ...request, ...settings }, never))
    await collectModelEvents(providerOf(server).stream(request, never))
    const messages = [{ role: 'user', content: 'Hello' }]
    const shared = { model: 'm1', messages, stream: true, stream_options: { include_usage: true } }
    expect(server.requests.map(({ body }) => body)).toEqual([{ ...shared, ...settings }, shared])
  })

  it('sends no Authorization header without a key, and only headers of ours', async () => {
    const server = await open([{ text: 'a' }])
    await collectModelEvents(providerOf(server, { headers: { 'X-Team': 'red' } }).stream(request, never))
    const names = Object.keys(server.requests[0]?.headers ?? {})
    expect(names).not.toContain('authorization')
    expect(names.filter((name) => name.startsWith('x-') || name.startsWith('openai'))).toEqual(['x-team'])
  })

  it('ignores variables of the openai package', async () => {
    const variables = {
      OPENAI_CUSTOM_HEADERS: 'Authorization: Bearer other\nX-Other: 1',
      OPENAI_ORG_ID: 'org-1',
      OPENAI_PROJECT_ID: 'proj-1',
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
      OPENAI_ADMIN_KEY: 'admin',
    }
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
    const server = await open([{ text: 'a' }, { text: 'b' }])
    await collectModelEvents(providerOf(server, { apiKey: 'k-123' }).stream(request, never))
    await collectModelEvents(providerOf(server).stream(request, never))
    const [keyed, keyless] = server.requests.map(({ headers }) => headers)
    expect(keyed?.authorization).toBe('Bearer k-123')
    expect(keyless).not.toHaveProperty('authorization')
    for (const headers of [keyed, keyless]) {
      expect(Object.keys(headers ?? {}).filter((name) => /^(?:x-|openai)/.test(name))).toEqual([])
    }
  })

  it('sends a long body unchanged, with its length', async () => {
    const server = await open([{ text: 'a' }])
    const text = `${'a "line" of 漢字 😀\n'.repeat(50_000)}end`
    const events = await collectModelEvents(
      providerOf(server).stream({ ...request, messages: [textMessage('user', text)] }, never),
    )
    expect(textOf(events)).toBe('a')
    const [{ body, headers } = { body: null, headers: {} }] = server.requests
    expect(body?.messages).toEqual([{ role: 'user', content: text }])
    expect(headers['content-length']).toBe(String(Buffer.byteLength(JSON.stringify(body))))
    expect(headers['content-type']).toBe('application/json')
  })

  it('sends the key as a bearer token, and the query of the base URL with the path', async () => {
    const server = await open([{ text: 'a' }])
    const provider = providerOf(server, { apiKey: 'k-123', baseUrl: `${server.url}/?api-version=7` })
    await collectModelEvents(provider.stream(request, never))
    expect(server.requests[0]?.headers.authorization).toBe('Bearer k-123')
    expect(server.requests[0]?.path).toBe('/v1/chat/completions?api-version=7')
  })
})

describe('an answer', () => {
  it('arrives incrementally, while the server is still writing', async () => {
    const server = await open([{ text: 'a b c', stallAfter: 2 }])
    let seen = ''
    for await (const event of providerOf(server).stream(request, never)) {
      if (event.type === 'text') seen += event.text
      if (seen.length >= 4) break
    }
    expect(seen).toBe('a b ')
    await server.closedByClient()
  })

  it('is read with any line endings, a byte order mark, comments, split data and split UTF-8 characters', async () => {
    const events = chatEvents({ chunks: ['Grüße', ' 漢字 🎉'] }).join(': comment\n\n')
    const split = events.replace('"choices"', '\ndata: "choices"')
    const bytes = (end: string): Buffer[] =>
      [...Buffer.from(`\uFEFF${split.replaceAll('\n', end)}`)].map((byte) => Buffer.of(byte))
    const server = await open([{ rawChunks: bytes('\n') }, { rawChunks: bytes('\r\n') }, { rawChunks: bytes('\r') }])
    const provider = providerOf(server)
    for (let round = 0; round < 3; round += 1) {
      expect(textOf(await collectModelEvents(provider.stream(request, never)))).toBe('Grüße 漢字 🎉')
    }
  })

  it('is complete without the last blank line', async () => {
    const raw = chatEvents({ text: 'all of it', usage: null, doneMark: false }).join('').trimEnd()
    const server = await open([{ rawChunks: [Buffer.from(raw)] }])
    expect(textOf(await collectModelEvents(providerOf(server).stream(request, never)))).toBe('all of it')
  })

  it('may contain a line of 1 MB', async () => {
    const server = await open([{ chunks: ['x'.repeat(1024 * 1024)] }])
    expect(textOf(await collectModelEvents(providerOf(server).stream(request, never)))).toHaveLength(1024 * 1024)
  })

  it('counts one call without tokens when the server sends no usage', async () => {
    const server = await open([{ text: 'a', usage: null }])
    const events = await collectModelEvents(providerOf(server).stream(request, never))
    expect(events.at(-2)).toEqual({ type: 'usage', usage: { calls: 1, input: 0, output: 0, cached: 0, reasoning: 0 } })
  })

  it('is complete when the connection breaks after the finish reason', async () => {
    const server = await open([{ text: 'a b', doneMark: false, usage: null, cutAfter: 3 }])
    const events = await collectModelEvents(providerOf(server).stream(request, never))
    expect(textOf(events)).toBe('a b')
    expect(events.at(-1)).toEqual({ type: 'finish', reason: 'stop' })
  })

  it('is complete when the server falls silent after the finish reason, or leaves the connection open after the end mark', async () => {
    const server = await open([
      { text: 'a b', doneMark: false, usage: null, stallAfter: 3 },
      { text: 'a b', stallAfter: 5 },
    ])
    const provider = providerOf(server, { timeouts: { ...defaultTimeouts, streamIdleMs: 50 } })
    for (let round = 0; round < 2; round += 1) {
      expect(textOf(await collectModelEvents(provider.stream(request, never)))).toBe('a b')
    }
    await server.closedByClient(2)
  })

  it('merges pieces that arrive together', async () => {
    const server = await open([{ rawChunks: [Buffer.from(chatEvents({ text: 'a b c', usage: null }).join(''))] }])
    const events = await collectModelEvents(providerOf(server).stream(request, never))
    expect(events.map(({ type }) => type)).toEqual(['start', 'text', 'usage', 'finish'])
    expect(textOf(events)).toBe('a b c')
  })

  it('begins with its id, and ends with its usage, the reported cost, and its finish', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, cost: 0.25 }
    const server = await open([{ text: 'a', usage, finish: 'length' }])
    const events = await collectModelEvents(providerOf(server).stream(request, never))
    expect(events).toEqual([
      { type: 'start', id: 'c1' },
      { type: 'text', block: 0, text: 'a' },
      { type: 'usage', usage: { calls: 1, input: 3, output: 2, cached: 0, reasoning: 0 }, costUsd: 0.25 },
      { type: 'finish', reason: 'length' },
    ])
  })

  it('may contain tool calls in pieces', async () => {
    const server = await open([
      { toolCalls: [{ id: 't1', name: 'read', pieces: ['{"a":', '1}'] }], finish: 'tool_calls' },
    ])
    const events = await collectModelEvents(providerOf(server).stream(request, never))
    expect(events.filter(({ type }) => type === 'tool_call' || type === 'finish')).toEqual([
      { type: 'tool_call', block: 0, id: 't1', name: 'read', input: '{"a":' },
      { type: 'tool_call', block: 0, input: '1}' },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('may contain no text at all', async () => {
    const server = await open([{ text: '' }])
    const events = await collectModelEvents(providerOf(server).stream(request, never))
    expect(events.map(({ type }) => type)).toEqual(['start', 'usage', 'finish'])
  })

  it('is read from a server that does not stream', async () => {
    const body = { choices: [{ message: { content: 'at once' }, finish_reason: 'stop' }] }
    const server = await open([{ body }])
    expect(textOf(await collectModelEvents(providerOf(server).stream(request, never)))).toBe('at once')
  })

  it('leaves the connection usable for the next request', async () => {
    const server = await open(() => ({ text: 'a' }))
    const provider = providerOf(server)
    for (let round = 0; round < 10; round += 1) await collectModelEvents(provider.stream(request, never))
    // fetch itself opens a second one if the next request follows immediately
    expect(server.connections()).toBeLessThanOrEqual(2)
  })
})

describe('stopping', () => {
  it('closes the connection at once when aborted during a silent answer', async () => {
    const server = await open([{ text: 'a b c', stallAfter: 1 }])
    const controller = new AbortController()
    const reason = new Error('enough')
    const consume = async (): Promise<void> => {
      for await (const _ of providerOf(server).stream(request, controller.signal)) {
        setImmediate(() => controller.abort(reason))
      }
    }
    await expect(consume()).rejects.toBe(reason)
    await server.closedByClient()
  })

  it('returns no more data that has arrived already', async () => {
    const raw = chatEvents({ reasoning: ['hm'], text: 'a b c' }).join('')
    const server = await open([{ rawChunks: [Buffer.from(raw)] }])
    const controller = new AbortController()
    const reason = new Error('enough')
    const seen: ModelEvent[] = []
    const consume = async (): Promise<void> => {
      for await (const event of providerOf(server).stream(request, controller.signal)) {
        seen.push(event)
        controller.abort(reason)
      }
    }
    await expect(consume()).rejects.toBe(reason)
    expect(seen).toEqual([{ type: 'start', id: 'c1' }])
  })

  it('closes the connection when aborted before the first byte', async () => {
    const controller = new AbortController()
    const server = await open(() => {
      setImmediate(() => controller.abort(new Error('enough')))
      return { gate: new Promise<void>(() => undefined) }
    })
    await expect(collectModelEvents(providerOf(server).stream(request, controller.signal))).rejects.toThrow('enough')
    await server.closedByClient()
  })

  it('serves 150 streams at once on one signal', async () => {
    const server = await open(() => ({ text: 'a b c' }))
    const provider = providerOf(server)
    const warnings: string[] = []
    const note = (warning: Error): void => void warnings.push(warning.name)
    process.on('warning', note)
    const answers = await Promise.all(
      Array.from({ length: 150 }, async () => textOf(await collectModelEvents(provider.stream(request, never)))),
    )
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', note)
    expect(answers.filter((answer) => answer === 'a b c')).toHaveLength(150)
    expect(server.maxInFlight()).toBeGreaterThan(1)
    expect(warnings).toEqual([])
  })
})
