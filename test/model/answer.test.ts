import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { textMessage } from '../../src/event/message.ts'
import { defaultTimeouts } from '../../src/model/call.ts'
import { modelFailureOf } from '../../src/model/errors.ts'
import { collectModelEvents, textOf } from '../contract/model-provider.ts'
import { chatProvider } from '../helpers/chat-provider.ts'
import { failing, failingReply, openServer } from '../helpers/failing-call.ts'
import { chatEvents } from '../helpers/model-server.ts'
import type { ModelReply } from '../helpers/model-server.ts'

const request = { model: 'm1', messages: [textMessage('user', 'Hello')] } as const

describe('an unusable answer', () => {
  const replies: readonly (readonly [string, ModelReply, string])[] = [
    [
      'HTML',
      { body: '<html></html>', headers: { 'content-type': 'text/html; charset=utf-8' } },
      'answered with text/html',
    ],
    ['an empty stream', { rawChunks: [] }, 'answered with an empty body'],
    ['an empty JSON body', { body: '' }, 'answered with an empty body'],
    ['truncated JSON', { body: '{"choices":[{"message":{"content":"half' }, 'answered with invalid JSON'],
    ['JSON of another kind', { body: { status: 'ok' } }, 'answered with JSON that is not a chat completion'],
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
  it.each(replies)('is reported as garbled: %s', async (_, reply, words) => {
    const { error } = await failingReply(reply)
    expect(error.code).toBe('MODEL_FAILED')
    expect(error.message).toContain(words)
    expect(modelFailureOf(error)).toMatchObject({ class: 'garbled', retryable: false })
  })
})

describe('an answer is recognized by its beginning, whatever its content type is', () => {
  const stream = chatEvents({ text: 'all of it' }).join('')
  const message = { role: 'assistant', content: 'all of it' }
  const whole = { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] }
  const bodies: readonly (readonly [string, string])[] = [
    ['a stream', stream],
    ['a stream behind a comment', `: wait\n\n${stream}`],
    ['a stream behind empty lines', `\n\n${stream}`],
    ['a stream behind a byte order mark', `\uFEFF${stream}`],
    ['a stream with names and ids', stream.replaceAll('data:', 'event: message\nid: 1\ndata:')],
    ['JSON', JSON.stringify(whole)],
    ['JSON on several lines behind empty ones', `\n\n${JSON.stringify(whole, null, 2)}`],
    ['JSON in one event', `data: ${JSON.stringify(whole)}\n\ndata: [DONE]\n\n`],
  ]
  const types = ['application/json', 'text/event-stream', 'text/plain', 'text/html; charset=utf-8', 'binary/any']
  const read = bodies.flatMap(([name, body]) => types.map((type) => [name, type, body] as const))

  it.each(read)('%s as %s', async (_, type, body) => {
    for (const cut of [body.length, 1]) {
      const rawChunks = [body.slice(0, cut), body.slice(cut)].map((text) => Buffer.from(text))
      const server = await openServer({ rawChunks, headers: { 'content-type': type } })
      const events = await collectModelEvents(chatProvider(server.url).stream(request, new AbortController().signal))
      expect(textOf(events)).toBe('all of it')
    }
  })

  it('and an error in it keeps its text', async () => {
    for (const type of types) {
      const rawChunks = [Buffer.from('{"detail":"the engine has stopped"}')]
      const { error } = await failingReply({ rawChunks, headers: { 'content-type': type } })
      expect(error.message).toContain('reported an error instead of an answer: the engine has stopped')
      expect(modelFailureOf(error)).toMatchObject({ class: 'unavailable', retryable: true })
    }
  })
})

/** A server that answers each request by writing to its socket; returns its base URL. */
async function openSocketServer(answer: (socket: Socket) => void | Promise<void>): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => void answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'

describe('a connection that is closed right after the headers', () => {
  it.each([
    ['without a length', `${streamHead}\r\n`],
    ['before the first chunk', `${streamHead}transfer-encoding: chunked\r\nconnection: close\r\n\r\n`],
    ['before any byte of the length that was said', `${streamHead}content-length: 10\r\n\r\n`],
  ])('is a dropped connection, which may be retried: %s', async (_, head) => {
    const { error } = await failing(await openSocketServer((socket) => void socket.end(head)))
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: true })
    expect(error.message).toContain('closed the connection')
  })
})

describe('a server that only keeps the connection alive', () => {
  const pings = [
    'data: {}\n\n',
    'data: {"choices":[{"delta":{"content":""}}]}\n\n',
    'd',
    ': keep-alive\n\n',
    'event: ping\ndata: {"type": "ping"}\n\n',
    '\n',
    'data: \n\n',
  ]

  it.each(pings)('counts as silent: %j', async (ping) => {
    const url = await openSocketServer(async (socket) => {
      socket.write(`${streamHead}\r\n${chatEvents({ text: 'half ' })[0]}`)
      while (!socket.destroyed) {
        socket.write(ping)
        await wait(10)
      }
    })
    const { error, events } = await failing(url, { timeouts: { ...defaultTimeouts, streamIdleMs: 120 } })
    expect(textOf(events)).toBe('half ')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true })
    expect(error.message).toContain('sent only keep-alive messages and empty or incomplete events for 0.12 s')
  })

  it('counts as silent also when its JSON does not begin', async () => {
    const url = await openSocketServer(async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n')
      while (!socket.destroyed) {
        socket.write('\n')
        await wait(10)
      }
    })
    const { error } = await failing(url, { timeouts: { ...defaultTimeouts, streamIdleMs: 120 } })
    expect(error.message).toContain('sent only keep-alive messages and empty or incomplete events for 0.12 s')
  })

  it('gets the whole time limit again with each event, and with each piece of a long one', async () => {
    const events = chatEvents({ text: 'all of it' }).join('')
    const url = await openSocketServer(async (socket) => {
      socket.write(`${streamHead}\r\n`)
      for (let at = 0; at < events.length; at += 100) {
        socket.write(events.slice(at, at + 100))
        await wait(30)
        if (events.lastIndexOf('\n\n', at + 100) === at + 98) socket.write(': keep-alive\n\n')
      }
      socket.end()
    })
    const provider = chatProvider(url, { timeouts: { ...defaultTimeouts, streamIdleMs: 200 } })
    expect(textOf(await collectModelEvents(provider.stream(request, new AbortController().signal)))).toBe('all of it')
  })
})

it('received data is read before a limit is applied, because the process may have been suspended', async () => {
  const url = await openSocketServer((socket) => {
    socket.end(`${streamHead}\r\n${chatEvents({ text: 'in time' }).join('')}`)
    // the whole process is blocked, including the client, which runs its timers before it reads
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  })
  const timeouts = { ...defaultTimeouts, headersMs: 100, streamIdleMs: 100, requestMs: 150 }
  const provider = chatProvider(url, { timeouts })
  expect(textOf(await collectModelEvents(provider.stream(request, new AbortController().signal)))).toBe('in time')
})

it('too large headers are reported', async () => {
  const url = await openSocketServer((socket) => void socket.end(`${streamHead}x-long: ${'x'.repeat(40_000)}\r\n\r\n`))
  const { error } = await failing(url)
  expect(error.message).toContain('sent headers that are larger than 16384 bytes')
  expect(error.hint).toContain('--max-http-header-size')
  expect(modelFailureOf(error)).toMatchObject({ class: 'garbled', retryable: false })
})
