import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { exchange, type HttpAnswer } from '../../src/model/exchange.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

/** A server with this handler, and the number of its connections. */
async function serve(handler: Handler): Promise<{ readonly url: string; readonly connections: () => number }> {
  const server = createServer((request, response) => void handler(request, response))
  let connections = 0
  server.on('connection', () => (connections += 1))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(() => resolve()))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, connections: () => connections }
}

interface Asking {
  readonly body?: readonly Uint8Array[]
  readonly onConnected?: () => void
}

function ask(url: string, { body = [Buffer.from('{}')], onConnected = () => undefined }: Asking = {}) {
  const closes: (() => void)[] = []
  const answer = exchange({ url, headers: {}, body, onConnected, onOpened: (close) => void closes.push(close) })
  const close = (): void => closes.forEach((one) => one())
  onTestFinished(close)
  return { answer, close }
}

async function textOf({ body }: HttpAnswer): Promise<string> {
  const pieces: Uint8Array[] = []
  for (let piece = await body.read(); piece !== undefined; piece = await body.read()) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

describe('a request', () => {
  it('sends all parts of its body with their length, and reports when it is connected', async () => {
    const { url } = await serve(async (request, response) => {
      let text = ''
      for await (const piece of request) text += String(piece)
      response.end(`${request.method} ${request.headers['content-length']} ${text}`)
    })
    let connected = 0
    const body = ['漢', 'b', 'c'].map((part) => Buffer.from(part))
    const { answer } = ask(url, { body, onConnected: () => (connected += 1) })
    expect(await textOf(await answer)).toBe('POST 5 漢bc')
    expect(connected).toBe(1)
  })

  it('is sent again when its reused connection was closed at that moment', async () => {
    let asked = 0
    const server = await serve((request, response) => {
      asked += 1
      if (asked === 2) request.socket.destroy()
      else response.end(`answer ${asked}`)
    })
    expect(await textOf(await ask(server.url).answer)).toBe('answer 1')
    expect(await textOf(await ask(server.url).answer)).toBe('answer 3')
    expect(server.connections()).toBe(2)
  })

  it('reuses the connections of hundreds of earlier ones', async () => {
    const { url, connections } = await serve((_, response) => setTimeout(() => response.end('x'), 100))
    for (let round = 0; round < 2; round += 1) {
      await Promise.all(Array.from({ length: 300 }, async () => textOf(await ask(url).answer)))
    }
    expect(connections()).toBe(300)
  })

  it('is not sent again when a new connection is closed, nor when a second one is', async () => {
    let asked = 0
    const { url } = await serve((request, response) => {
      asked += 1
      if (asked === 2) response.end()
      else request.socket.destroy()
    })
    await expect(ask(url).answer).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(asked).toBe(1)
    await textOf(await ask(url).answer)
    await expect(ask(url).answer).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(asked).toBe(4)
  })

  it('is not sent again when it is closed here while it waits on a reused connection', async () => {
    let asked = 0
    const server = await serve((_, response) => {
      asked += 1
      if (asked === 1) response.end('a')
    })
    await textOf(await ask(server.url).answer)
    const waiting = ask(server.url)
    await expect.poll(() => asked).toBe(2)
    waiting.close()
    await expect(waiting.answer).rejects.toThrow('the exchange was closed')
    await wait(50)
    expect([asked, server.connections()]).toEqual([2, 1])
  })

  it('is answered although the server does not read all of it', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(413).end('too much')
    })
    const { status } = await ask(url, { body: [Buffer.alloc(8 * 1024 * 1024)] }).answer
    expect(status).toBe(413)
  })
})

describe('an answer', () => {
  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['gzip, br', (text: string) => brotliCompressSync(gzipSync(text))],
  ] as const)('in %s is decompressed', async (encoding, compress) => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(compress('all of it'))
    })
    expect(await textOf(await ask(url).answer)).toBe('all of it')
  })

  it('with a wrong compression header is an error', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('plain')
    })
    const answer = await ask(url).answer
    await expect(textOf(answer)).rejects.toMatchObject({ code: 'Z_DATA_ERROR' })
  })

  it.each(['identity', 'gzip'])('that is cut off is an error after the received part (%s)', async (encoding) => {
    let cut = (): void => {}
    const { url } = await serve((_, response) => {
      const piece = encoding === 'gzip' ? gzipSync('begun').subarray(0, -1) : 'begun'
      response.writeHead(200, { 'content-encoding': encoding }).write(piece)
      cut = () => response.socket?.destroy()
    })
    const { body } = await ask(url).answer
    expect(String(await body.read())).toBe('begun')
    cut()
    await expect(body.read()).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['gzip, br', (text: string) => brotliCompressSync(gzipSync(text))],
  ] as const)('in %s that is cut is read to where it was cut, and is an error then', async (encoding, compress) => {
    const text = 'begun '.repeat(1_000_000)
    const { url } = await serve((_, response) => {
      const piece = compress(text)
      response.writeHead(200, { 'content-encoding': encoding, 'content-length': piece.length + 1 })
      response.write(piece, () => response.socket?.destroySoon())
    })
    const { body } = await ask(url).answer
    let length = 0
    const reading = (async () => {
      for (let piece = await body.read(); piece !== undefined; piece = await body.read()) length += piece.length
    })()
    await expect(reading).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(length).toBe(text.length)
  })

  it('waits at the server while nobody reads', async () => {
    const total = 32 * 1024 * 1024
    let sent = 0
    const { url } = await serve(async (_, response) => {
      while (sent < total) {
        sent += 64 * 1024
        if (!response.write(Buffer.alloc(64 * 1024))) await new Promise((resolve) => response.once('drain', resolve))
      }
      response.end()
    })
    const answer = await ask(url).answer
    await wait(200)
    expect(sent).toBeLessThan(total)
    expect(Buffer.byteLength(await textOf(answer))).toBe(total)
  })

  it('ends for its reader when the exchange is closed, and closes its connection', async () => {
    const closed = new AbortController()
    const { url } = await serve((_, response) => {
      response.once('close', () => closed.abort())
      response.write('a')
    })
    const asked = ask(url)
    const { body } = await asked.answer
    await body.read()
    const waiting = body.read()
    asked.close()
    await expect(waiting).rejects.toMatchObject({ code: 'ECONNRESET' })
    await expect.poll(() => closed.signal.aborted).toBe(true)
  })

  it('leaves its connection to the next one', async () => {
    const server = await serve((_, response) => response.end('a'))
    for (let round = 0; round < 5; round += 1) {
      const asked = ask(server.url)
      await textOf(await asked.answer)
      asked.close()
    }
    expect(server.connections()).toBe(1)
  })
})
