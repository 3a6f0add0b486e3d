import { type AddressInfo, createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { chatEvents } from '../helpers/model-server.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld } from './harness.ts'

// Servers that are slow, endless or wrong. Each call ends with an error that gives the reason, within its memory limit.

const stream = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
const json = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const megabyte = Buffer.alloc(1024 * 1024, 'x')
const delta = (fields: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta: fields }] })}\n\n`
const call = delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: 'x' } }] })
const [content = ''] = chatEvents({ text: 'word' })

interface Hostile {
  /** What the server does once it has read the request. */
  readonly play: (socket: Socket) => Promise<void> | void
  /** What the message must contain. */
  readonly says: RegExp
  /** The limit of the whole call; default: one that is not reached. */
  readonly request?: string
}

/** Writes the same bytes repeatedly, as fast as they are accepted or with pauses, until the other side hangs up. */
async function endlessly(socket: Socket, bytes: string | Buffer, pauseMs = 0): Promise<void> {
  while (!socket.destroyed) {
    await new Promise<void>((resolve) => {
      socket.once('close', resolve)
      socket.write(bytes, () => setTimeout(resolve, pauseMs))
    })
  }
}

const begin = (socket: Socket, head: string, body: string | Buffer = ''): void => {
  socket.write(`${head}\r\n`)
  socket.write(body)
}

const idle = /sent only keep-alive messages and empty or incomplete events for 1 s.*stream_idle/s
const flood = /sent more than 64 MB without any answer content/
const tooLong = /sent an event of more than 64 MB/
const whole = /did not finish the answer within 4 s.*raise request in \[timeouts\]/s

const slow = (head: string, begun: string, piece: string, says: RegExp): Hostile => ({
  says,
  play: (socket) => {
    begin(socket, head, begun)
    return endlessly(socket, piece, 100)
  },
})
const fast = (head: string, begun: string, piece: string | Buffer, says: RegExp): Hostile => ({
  says,
  play: (socket) => {
    begin(socket, head, begun)
    return endlessly(socket, piece)
  },
})

/** A gzip body that is a thousand times as long when unpacked: 128 MB. */
function bomb(text: string): Buffer {
  return gzipSync(Buffer.concat([Buffer.from(text), Buffer.alloc(128 * 1024 * 1024, 'x')]))
}
const bombs = { line: bomb('data: '), json: bomb('{"x":"'), error: bomb('no') }

const servers: Readonly<Record<string, Hostile>> = {
  'comments without end': slow(stream, content, ': alive\n\n', idle),
  'comments from the beginning': slow(stream, '', ': alive\n\n', idle),
  'empty objects': slow(stream, content, 'data: {}\n\n', idle),
  'empty pieces of text': slow(stream, content, delta({ content: '' }), idle),
  'pieces with a role only': slow(stream, content, delta({ role: 'assistant' }), idle),
  pings: slow(stream, content, 'event: ping\ndata: {"type": "ping"}\n\n', idle),
  'a byte now and then': slow(stream, `${content}data: `, 'x', idle),
  'a field name that never ends': slow(stream, content, 'd', idle),
  'empty lines': slow(stream, content, '\n', idle),
  'names of events without data': slow(stream, content, 'event: x\n\n', idle),
  'the first event again and again': {
    ...slow(stream, `id: 1\n${content}`, `id: 1\n${content}`, whole),
    request: '4s',
  },
  'a body of JSON, byte by byte': slow(json, '{"choices": "', 'x', idle),
  'blanks before a body of JSON': slow(json, '', ' ', idle),
  'an answer without end': { ...slow(stream, '', content, whole), request: '4s' },
  'calls of tools without end': { ...slow(stream, '', call, whole), request: '4s' },
  'headers without end': {
    says: /did not start to answer within 8 s.*headers/s,
    play: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      return endlessly(socket, 'x-a: b\r\n', 100)
    },
  },
  'headers that are too large': {
    says: /headers that are larger than/,
    play: (socket) => endlessly(socket, `HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(20_000)}\r\n`),
  },
  'an error without end': {
    says: /status 500/,
    play: (socket) => {
      begin(socket, 'HTTP/1.1 500 No\r\ncontent-type: application/json\r\n', '{"error": "')
      return endlessly(socket, megabyte)
    },
  },
  'an error that drips': {
    says: /status 500/,
    play: (socket) => {
      begin(socket, 'HTTP/1.1 500 No\r\ncontent-type: text/plain\r\n', 'no')
      return endlessly(socket, 'o', 500)
    },
  },
  'a page instead of a stream': fast(
    'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n',
    '<html>',
    megabyte,
    /text\/html/,
  ),
  'a redirect to itself': fast('HTTP/1.1 307 Go\r\nlocation: /v1\r\n', '', 'x', /redirects/),
}

/** As much as can be sent. */
const floods: Readonly<Record<string, Hostile>> = {
  'one line of 64 MB': fast(stream, `${content}data: `, megabyte, tooLong),
  'one comment without end': fast(stream, `${content}: `, megabyte, flood),
  // both limits are 64 MB: which is reached first depends on how the bytes arrive
  'many lines without the end of their event': fast(
    stream,
    '',
    `data: ${'x'.repeat(60_000)}\n`,
    /sent an event of more than 64 MB|sent more than 64 MB without any answer content/,
  ),
  'comments as fast as they go': fast(stream, content, `: ${'x'.repeat(60_000)}\n\n`, flood),
  'events without content as fast as they go': fast(stream, content, `data: {"x":"${'x'.repeat(60_000)}"}\n\n`, flood),
  'a body of JSON without end': fast(json, '{"choices": "', megabyte, /sent a body of more than 64 MB/),
  'a packed line': {
    says: tooLong,
    play: (socket) =>
      void socket.end(Buffer.concat([Buffer.from(`${stream}content-encoding: gzip\r\n\r\n`), bombs.line])),
  },
  'a packed body of JSON': {
    says: /sent a body of more than 64 MB/,
    play: (socket) =>
      void socket.end(Buffer.concat([Buffer.from(`${json}content-encoding: gzip\r\n\r\n`), bombs.json])),
  },
  'a packed error': {
    says: /status 500/,
    play: (socket) =>
      void socket.end(Buffer.concat([Buffer.from('HTTP/1.1 500 No\r\ncontent-encoding: gzip\r\n\r\n'), bombs.error])),
  },
}

const limits = 'timeouts = { headers = "8s", stream_idle = "IDLE", request = "REQUEST" }\nretry = { max_attempts = 1 }'

async function tryServer({ play, says, request = '60s' }: Hostile, idleLimit: string): Promise<void> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => void play(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const world = createWorld({
      work: { 'ask.md': `+++\n${limits.replace('REQUEST', request).replace('IDLE', idleLimit)}\n+++\nTell.\n` },
      env: { BATON_GATEWAY_URL: `http://127.0.0.1:${port}/v1`, NODE_OPTIONS: '--max-old-space-size=512' },
    })
    const end = await world.run(['ask.md', '-m', 'any'], { patienceMs: 120_000 })
    expectHeld(world, end, [1, 4])
    expect(end.stderr).toMatch(says)
  } finally {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
}

attack('a server cannot hold a run for longer than its limits', { core: servers, every: 4 }, (hostile) =>
  tryServer(hostile, '1s'),
)

attack('a server cannot fill the memory', { core: floods, every: 5 }, (hostile) => tryServer(hostile, '1m'))
