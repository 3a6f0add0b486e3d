import { createServer, type AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { isBatonError, type BatonError } from '../../src/base/error.ts'
import type { Json } from '../../src/base/json.ts'
import { defaultTimeouts } from '../../src/model/call.ts'
import { modelFailureOf } from '../../src/model/errors.ts'
import { createChatProvider, type ChatProviderOptions } from '../../src/model/openai.ts'
import type { ModelEvent } from '../../src/model/provider.ts'
import { textOf } from '../contract/model-provider.ts'
import { chatEvents, startModelServer, type ModelReply, type ModelServer } from '../helpers/model-server.ts'

const key = 'sk-live-0123456789abcdef'
const never = new AbortController().signal

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

async function open(reply: ModelReply): Promise<ModelServer> {
  const server = await startModelServer(() => reply)
  closers.push(() => server.close())
  return server
}

interface Outcome {
  readonly error: BatonError
  readonly events: readonly ModelEvent[]
}

/** Calls an endpoint that fails and gives its error. No word of any error may hold the key. */
async function failing(baseUrl: string, options: Partial<ChatProviderOptions> = {}): Promise<Outcome> {
  const provider = createChatProvider({
    name: 'test',
    baseUrl,
    apiKey: key,
    apiKeyName: 'TEST_KEY',
    timeouts: defaultTimeouts,
    ...options,
  })
  const events: ModelEvent[] = []
  try {
    const request = { model: 'm1', messages: [{ role: 'user', content: 'Hello' }] } as const
    for await (const event of provider.stream(request, never)) events.push(event)
  } catch (error) {
    if (!isBatonError(error)) throw error
    expect(JSON.stringify([error.message, error.hint, error.cause, error.stack])).not.toContain(key.slice(8))
    return { error, events }
  }
  throw new Error('the call did not fail')
}

async function failingReply(reply: ModelReply, options: Partial<ChatProviderOptions> = {}): Promise<Outcome> {
  return failing((await open(reply)).url, options)
}

function errorBody(message: string, code: string | null = null): Json {
  return { error: { message, code, type: null } }
}

describe('a status that is no success', () => {
  it.each([
    [400, 'invalid_request', false],
    [402, 'quota', false],
    [404, 'not_found', false],
    [408, 'timeout', true],
    [413, 'invalid_request', false],
    [422, 'invalid_request', false],
    [429, 'rate_limit', true],
    [500, 'unavailable', true],
    [502, 'unavailable', true],
    [503, 'unavailable', true],
    [504, 'unavailable', true],
    [529, 'unavailable', true],
  ])('%i is MODEL_FAILED of class %s', async (status, kind, retryable) => {
    const server = await open({ status, body: errorBody('the words of the server') })
    const { error } = await failing(server.url)
    expect(error.code).toBe('MODEL_FAILED')
    expect(modelFailureOf(error)).toEqual({ kind: 'model-failure', class: kind, retryable, status })
    expect(error.message).toMatch(new RegExp(`^m1: ${server.host} .*\\(status ${status}\\): the words of the server$`))
    expect(error.hint).toBeTruthy()
    expect(server.requests).toHaveLength(1)
  })

  it.each([401, 403])('%i is KEY_REFUSED, and the hint names the variable of the key', async (status) => {
    const { error } = await failingReply({ status, body: errorBody(`Incorrect API key provided: ${key}`) })
    expect(error.code).toBe('KEY_REFUSED')
    expect(error.message).toContain('refused the key')
    expect(error.hint).toContain('TEST_KEY')
    expect(modelFailureOf(error)).toMatchObject({ class: 'auth', retryable: false, status })
  })

  it('401 says that no key was sent when there is none', async () => {
    const { error } = await failingReply({ status: 401, body: '' }, { apiKey: undefined })
    expect(error.code).toBe('KEY_REFUSED')
    expect(error.hint).toBe('No key was sent: set the environment variable TEST_KEY.')
  })

  it('429 with a used-up quota is not worth a retry', async () => {
    const { error } = await failingReply({ status: 429, body: errorBody('pay', 'insufficient_quota') })
    expect(modelFailureOf(error)).toMatchObject({ class: 'quota', retryable: false })
  })

  it('400 for a prompt that is too long says what to do', async () => {
    const body = errorBody("This model's maximum context length is 8 tokens", 'context_length_exceeded')
    const { error } = await failingReply({ status: 400, body })
    expect(error.hint).toContain('too long')
  })

  it.each([
    [{ object: 'error', message: 'top level', code: 400 }, 'top level'],
    [{ detail: [{ loc: ['body'], msg: 'bad' }] }, '[{"loc":["body"],"msg":"bad"}]'],
    [{ error: 'just text' }, 'just text'],
    ['<html><head><title>502 Bad Gateway</title></head></html>', 'an HTML page titled "502 Bad Gateway"'],
    ['plain\u001b[31m words\nin lines', 'plain [31m words in lines'],
  ])('shows the words of the server in %j', async (body, words) => {
    const { error } = await failingReply({ status: 400, body })
    expect(error.message.endsWith(`: ${words}`)).toBe(true)
  })

  it('shows at most 300 characters of them', async () => {
    const { error } = await failingReply({ status: 500, body: 'x'.repeat(200_000) })
    expect(error.message.length).toBeLessThan(400)
  })

  it('is reported although its body never ends', async () => {
    const { error } = await failingReply(
      { status: 500, rawChunks: [Buffer.alloc(70_000, 'x')], stallAfter: 1 },
      { timeouts: { headersMs: 15_000, streamIdleMs: 15_000 } },
    )
    expect(modelFailureOf(error)).toMatchObject({ status: 500 })
  })

  it('as a redirect is not followed, because the key could go to another host', async () => {
    const other = await open({ text: 'a' })
    const { error } = await failingReply({
      status: 307,
      body: '',
      headers: { location: `${other.url}/chat/completions` },
    })
    expect(error.message).toContain(`redirects to http://${other.host}`)
    expect(other.requests).toEqual([])
  })
})

describe('a connection that fails', () => {
  it('by being refused is a network failure', async () => {
    const server = await startModelServer([])
    await server.close()
    const { error } = await failing(server.url)
    expect(error.code).toBe('MODEL_FAILED')
    expect(error.message).toBe(`m1: ${server.host} refused the connection: nothing listens there`)
    expect(modelFailureOf(error)).toEqual({ kind: 'model-failure', class: 'network', retryable: true })
  })

  it('by having no address is a network failure', async () => {
    const { error } = await failing('http://no-such-host.invalid/v1')
    expect(error.message).toContain('no-such-host.invalid has no address')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: true })
  })

  it('by not speaking TLS is not worth a retry', async () => {
    const server = await open({ text: 'a' })
    const { error } = await failing(server.url.replace('http:', 'https:'))
    expect(error.message).toContain('no secure connection')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: false })
  })

  it('by not speaking HTTP is garbled', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.resume()
      socket.end('SSH-2.0-OpenSSH_9.6\r\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(() => new Promise((resolve) => server.close(() => resolve())))
    const { error } = await failing(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
    expect(modelFailureOf(error)).toMatchObject({ class: 'garbled' })
  })

  it('before the headers is a network failure', async () => {
    const { error, events } = await failingReply({ reset: true })
    expect(error.message).toContain('closed the connection before it answered')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: true })
    expect(events).toEqual([])
  })

  const cuts: readonly (readonly [string, ModelReply])[] = [
    ['in the middle of the answer', { text: 'a b c', cutAfter: 2 }],
    ['in the middle of an event', { rawChunks: [Buffer.from(chatEvents({ text: 'a b c' }).join('').slice(0, 200))] }],
    [
      'after the last token, without finish reason and end mark',
      { text: 'a b', finish: null, usage: null, cutAfter: 2 },
    ],
    ['after the last token, by a proper end of the body', { text: 'a b', finish: null, doneMark: false }],
  ]
  it.each(cuts)('%s is never an answer', async (_, reply) => {
    const { error, events } = await failingReply(reply)
    expect(error.message).toContain('closed the connection in the middle of the answer')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: true })
    expect(events.map(({ type }) => type)).not.toContain('finish')
  })
})

describe('a server that takes too long', () => {
  const timeouts = { headersMs: 60, streamIdleMs: 60 }

  it('to begin its answer is a timeout', async () => {
    const { error } = await failingReply({ gate: new Promise<void>(() => undefined) }, { timeouts })
    expect(error.message).toContain('did not begin to answer within 0.06 s')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true })
  })

  it('between two pieces of its answer is a timeout, and the connection is closed', async () => {
    const server = await open({ text: 'a b c', stallAfter: 2 })
    const { error, events } = await failing(server.url, { timeouts: { headersMs: 5_000, streamIdleMs: 60 } })
    expect(error.message).toContain('sent nothing for 0.06 s in the middle of the answer')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true })
    expect(textOf(events)).toBe('a b ')
    await server.closedByClient()
  })

  it('for the whole answer is a timeout when the request has a limit', async () => {
    const limits = { headersMs: 5_000, streamIdleMs: 5_000, requestMs: 60 }
    const { error } = await failingReply({ text: 'a b c', stallAfter: 1 }, { timeouts: limits })
    expect(error.message).toContain('did not finish the answer within 0.06 s')
  })
})

describe('an answer that is none', () => {
  const replies: readonly (readonly [string, ModelReply, string])[] = [
    [
      'HTML',
      { body: '<html></html>', headers: { 'content-type': 'text/html; charset=utf-8' } },
      'answered with text/html',
    ],
    ['an empty stream', { rawChunks: [] }, 'answered with an empty body'],
    ['an empty JSON body', { body: '' }, 'answered with an empty body'],
    ['truncated JSON', { body: '{"choices":[{"message":{"content":"half' }, 'answered with JSON that cannot be read'],
    ['JSON of another kind', { body: { status: 'ok' } }, 'answered with JSON that is no chat completion'],
    [
      'an event that is not JSON',
      { rawChunks: [Buffer.from('data: {oops}\n\n')] },
      'sent an event that is not a JSON object',
    ],
    [
      'a body that cannot be decompressed',
      { rawChunks: [Buffer.from('not gzip')], headers: { 'content-encoding': 'gzip' } },
      'cannot be decompressed',
    ],
  ]
  it.each(replies)('%s is garbled', async (_, reply, words) => {
    const { error } = await failingReply(reply)
    expect(error.code).toBe('MODEL_FAILED')
    expect(error.message).toContain(words)
    expect(modelFailureOf(error)).toMatchObject({ class: 'garbled', retryable: false })
  })

  it('an error in the middle of the stream fails the call although text came', async () => {
    const [first = ''] = chatEvents({ text: 'a b c' })
    const rawChunks = [first, `data: {"error":{"message":"lost ${key}","code":502}}\n\n`].map((text) =>
      Buffer.from(text),
    )
    const { error, events } = await failingReply({ rawChunks })
    expect(error.message).toContain('failed (status 502): lost «secret»')
    expect(modelFailureOf(error)).toMatchObject({ class: 'unavailable', retryable: true, status: 502 })
    expect(events).toEqual([{ type: 'text', text: 'a ' }])
  })

  it('an error that arrives together with text fails the call after the text', async () => {
    const raw = `${chatEvents({ text: 'a b c' }).slice(0, 2).join('')}data: {"error":{"message":"lost"}}\n\n`
    const { error, events } = await failingReply({ rawChunks: [Buffer.from(raw)] })
    expect(error.message).toContain(': lost')
    expect(textOf(events)).toBe('a b ')
  })
})

describe('a base URL', () => {
  it.each(['not a url', 'ftp://host/v1', 'http://user:hidden@host/v1'])('%s is refused', (baseUrl) => {
    const make = (): unknown =>
      createChatProvider({ name: 'mine', baseUrl, apiKey: undefined, timeouts: defaultTimeouts })
    expect(make).toThrow(/the base URL of mine/)
    expect(make).not.toThrow(/hidden/)
  })
})
