import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { startProxy } from '../../../src/tool/sandbox/proxy.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A server for raw connections, and a proxy that can reach only this server. */
async function world(serve: (socket: Socket) => void) {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => serve(socket.on('error', () => {})))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const host = `localhost:${(server.address() as AddressInfo).port}`
  const proxy = await startProxy([host], { port: 0 })
  closing.push(proxy.close, () => void server.close())
  const ask = (): Socket => {
    const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
    closing.push(() => socket.destroy())
    return socket
  }
  return { host, ask }
}

async function all(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

/** Sends through a tunnel once that is established. */
async function tunnelled({ host, ask }: Awaited<ReturnType<typeof world>>): Promise<Socket> {
  const socket = ask()
  socket.write(`CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  const [head] = (await once(socket, 'data')) as [Buffer]
  expect(String(head)).toBe('HTTP/1.1 200 Connection established\r\n\r\n')
  socket.pause()
  return socket
}

it('passes everything that a server sent before it closed to a slow reader', async () => {
  const size = 8 * 1024 * 1024
  const send = (server: Socket): void => void server.once('data', () => server.end(Buffer.alloc(size, 'x')))
  const socket = await tunnelled(await world(send))
  socket.write('now')
  await sleep(300)
  let count = 0
  for await (const chunk of socket) {
    count += (chunk as Buffer).length
    await sleep(1)
  }
  expect(count).toBe(size)
})

it('passes the answer to a client that has closed its sending side', async () => {
  const socket = await tunnelled(
    await world((server) => {
      let text = ''
      server.on('data', (chunk) => (text += String(chunk))).on('end', () => server.end(`had ${text}`))
    }),
  )
  socket.end('asked')
  expect(await all(socket)).toBe('had asked')
})

it('ends a tunnel when one of its sides is closed', async () => {
  let isOver = false
  const given = await world((socket) => socket.resume().on('end', () => (isOver = true)))
  const client = await tunnelled(given)
  client.destroy()
  await expect.poll(() => isOver).toBe(true)
})

it.each(['HTTP/1.1 000 None', 'HTTP/1.1 099 None', 'HTTP/1.1 101 Other', 'no HTTP', ''])(
  'survives a server that answers "%s"',
  async (line) => {
    const { ask, host } = await world((server) => server.once('data', () => server.end(`${line}\r\n\r\n`)))
    const socket = ask()
    socket.write(`GET http://${host}/ HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
    expect(await all(socket)).toMatch(/^HTTP\/1\.1 502 /)
  },
)

it('passes on a body of unknown length, whatever the method', async () => {
  let asked = ''
  const { ask, host } = await world((server) =>
    server.on('data', (chunk) => {
      asked += String(chunk)
      if (asked.includes('evil')) setTimeout(() => server.end('HTTP/1.1 204 Done\r\n\r\n'), 100)
    }),
  )
  const socket = ask()
  const body = 'GET /evil HTTP/1.1\r\n\r\n'
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  socket.write(`GET http://${host}/ HTTP/1.1\r\nhost: ${host}\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`)
  socket.once('data', () => socket.end())
  expect(await all(socket)).toMatch(/^HTTP\/1\.1 204 /)
  expect(asked).toContain('transfer-encoding: chunked')
  expect(asked.endsWith(chunks)).toBe(true)
})

it('reports headers that are too large', async () => {
  const { ask, host } = await world(() => {})
  const socket = ask()
  socket.write(`GET http://${host}/ HTTP/1.1\r\nhost: ${host}\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)
  expect(await all(socket)).toMatch(/^HTTP\/1\.1 431 /)
})
