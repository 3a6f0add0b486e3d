import type { Client } from '@modelcontextprotocol/client'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectTo, secret, type Served, serveFiles, textOf } from '../helpers/mcp-served.ts'

// What a server accepts at the same time: sessions, connections, and request bodies in transit.

const tree = { 'say.lua': 'return "said"', 'slow.lua': 'while true do end' }
const serve = (options: Parameters<typeof serveFiles>[2]) => serveFiles(['say.lua', 'slow.lua'], tree, options)
const say = async (client: Client) => textOf(await client.callTool({ name: 'say', arguments: {} }))

describe('when all sessions are taken', () => {
  /** A session with a call in flight. */
  async function busy(served: Served) {
    const client = await connectTo(served, 'older')
    const stop = new AbortController()
    let isUnderWay = false
    const options = { signal: stop.signal, onprogress: () => void (isUnderWay = true) }
    const call = client.callTool({ name: 'slow', arguments: {} }, options).catch(() => 'stopped')
    await expect.poll(() => isUnderWay, { timeout: 20_000 }).toBe(true)
    return { client, end: () => (stop.abort(), call) }
  }

  it('a new one takes the place of one that is idle, and not of an older one in the middle of a call', async () => {
    const served = await serve({ mostSessions: 2 })
    const first = await busy(served)
    const idle = await connectTo(served, 'older')
    expect(await say(idle)).toBe('said')
    const third = await connectTo(served, 'older')
    expect(await say(third)).toBe('said')
    expect(await say(first.client)).toBe('said')
    await expect(say(idle)).rejects.toThrow(/Session not found/)
    await first.end()
  })

  it('and all are in the middle of calls, another one is refused until a call has ended', async () => {
    const served = await serve({ mostSessions: 1 })
    const { end } = await busy(served)
    await expect(connectTo(served, 'older')).rejects.toThrow(/all 1 sessions of this server are busy/)
    // the newer protocol has none
    expect(await say(await connectTo(served, 'newer'))).toBe('said')
    await end()
    await expect.poll(() => connectTo(served, 'older').then(say, () => 'refused'), { timeout: 20_000 }).toBe('said')
  })
})

describe('a client that does not get on', () => {
  const open = (served: Served): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(served.listening.url).port), '127.0.0.1', () => resolve(socket))
      socket.on('error', () => {})
      onTestFinished(() => void socket.destroy())
    })
  const gone = (socket: Socket) =>
    new Promise<string>((resolve) => socket.resume().once('close', () => resolve('gone')))
  const headOf = (served: Served) =>
    `POST /mcp HTTP/1.1\r\nHost: ${new URL(served.listening.url).host}\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`

  it('is left after a while, in the head and in the body of a request, and others are served', async () => {
    const served = await serve({ limits: { headMs: 100, requestMs: 200, connections: 3 } })
    const silent = await open(served)
    const slow = await open(served)
    slow.write(`${headOf(served)}Content-Length: 100\r\n\r\n{`)
    expect(await Promise.all([gone(silent), gone(slow)])).toEqual(['gone', 'gone'])
    expect(await say(await connectTo(served, 'newer'))).toBe('said')
  })

  it('makes room where there are too many connections', async () => {
    const served = await serve({ limits: { connections: 2 } })
    const [first] = [await open(served), await open(served)]
    await open(served)
    expect(await gone(first)).toBe('gone')
    expect(await say(await connectTo(served, 'newer'))).toBe('said')
  })

  it('keeps others from sending more than there is memory for, but not from small requests', async () => {
    const served = await serve({ limits: { bodyBytes: 100_000 } })
    const slow = await open(served)
    slow.write(`${headOf(served)}Content-Length: 1000000\r\n\r\n${' '.repeat(160_000)}`)
    const status = (size: number) =>
      new Promise<number | undefined>((resolve, reject) => {
        const accept = 'application/json, text/event-stream'
        const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', accept }
        const sent = request(served.listening.url, { method: 'POST', headers }, (answer) => {
          answer.resume()
          resolve(answer.statusCode)
        })
        sent.on('error', reject).end('x'.repeat(size))
      })
    await expect.poll(() => status(90_000), { timeout: 20_000 }).toBe(503)
    expect(await status(50)).toBe(400)
    slow.destroy()
    await expect.poll(() => status(90_000), { timeout: 20_000 }).toBe(400)
  })

  it('keeps nobody out by heads and bodies that never come', async () => {
    const served = await serve({})
    const sockets = await Promise.all(Array.from({ length: 300 }, () => open(served)))
    for (const [index, socket] of sockets.entries())
      socket.write(index < 60 ? `${headOf(served)}Content-Length: 16000000\r\n\r\n{` : 'POST /mcp HTTP/1.1\r\nHost:')
    expect(await say(await connectTo(served, 'newer'))).toBe('said')
  })
})
