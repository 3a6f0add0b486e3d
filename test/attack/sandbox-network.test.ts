import { createSocket } from 'node:dgram'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { hasBox } from '../helpers/box.ts'
import { attack } from './attempts.ts'
import { type Attempt, attempted } from './sandbox-world.ts'

let reached = 0
const servers: { close: () => unknown }[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

/** A server that must not be reachable from a box. */
async function listening(server: Server, where: string | { host: string; port: number }): Promise<number> {
  server.on('connection', (socket) => {
    reached += 1
    socket.end('ESCAPED\n')
  })
  await new Promise<void>((resolve) => server.listen(where as never, resolve))
  servers.push(server)
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

const tcp = await listening(createServer(), { host: '127.0.0.1', port: 0 })
const tcp6 = await listening(createServer(), { host: '::1', port: 0 }).catch(() => tcp)
const abstract = `baton-attack-${process.pid}`
await listening(createServer(), `\0${abstract}`)
const udp = createSocket('udp4').on('message', () => (reached += 1))
await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve))
servers.push(udp)
const web = createHttpServer((_, answer) => void answer.end('ESCAPED'))
web.listen(0, '127.0.0.1')
await new Promise((resolve) => web.once('listening', resolve))
servers.push(web)
const webPort = (web.address() as AddressInfo).port

const node = (code: string): string => `"$NODE" -e "${code}" 2>&1`
const connect = (to: string): string =>
  node(
    `require('net').connect(${to}).on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code))`,
  )
const refused = /ECONNREFUSED|ENOENT|ENETUNREACH|EACCES|EADDRNOTAVAIL|ENXIO|ENOTSOCK/
const named = { rights: { network: ['example.com', '*.0.0.1:1'] } }
const asked = (lines: string): string =>
  node(
    `const s = require('net').connect(3128, '127.0.0.1', () => s.write('${lines}'.replaceAll('|', '\\r\\n'))).on('data', (d) => console.log(String(d)))`,
  )

describe.skipIf(!hasBox)('the network of programs of models (needs bwrap and user namespaces)', () => {
  attack<Attempt>(
    'is closed',
    {
      every: 3,
      core: {
        'a port of this machine': { line: connect(`${tcp}, '127.0.0.1'`), stopped: refused },
        'a port of this machine by IPv6': { line: connect(`${tcp6}, '::1'`), stopped: refused },
        'a port of this machine as 0.0.0.0': { line: connect(`${tcp}, '0.0.0.0'`), stopped: refused },
        'another machine': { line: connect(`80, '93.184.215.14'`), stopped: refused },
        'the metadata of a cloud': { line: connect(`80, '169.254.169.254'`), stopped: refused },
        'a datagram': {
          line: node(
            `const s = require('dgram').createSocket('udp4'); s.send('x', ${udp.address().port}, '127.0.0.1', (e) => { console.log('sent'); s.close() })`,
          ),
          stopped: /sent/,
        },
        'a datagram elsewhere': {
          line: node(
            `const s = require('dgram').createSocket('udp4'); s.send('x', 53, '8.8.8.8', (e) => { console.log(e.code); s.close() })`,
          ),
          stopped: refused,
        },
        'a name': {
          line: node(`require('dns').lookup('example.com', (e) => console.log(e.code))`),
          stopped: /EAI_AGAIN|ENOTFOUND/,
        },
        'a name, asked of a server': {
          line: node(`require('dns').resolve4('example.com', (e) => console.log(e.code))`),
          stopped: /ECONNREFUSED|ESERVFAIL|ETIMEOUT|ENOTFOUND/,
        },
        'a socket without a file': { line: connect(`'\\\\0${abstract}'`), stopped: refused },
        'a socket of Docker': { line: connect(`'/var/run/docker.sock'`), stopped: refused },
        'a socket beside the workspace': {
          line: connect(`process.env.PWD + '/../outside/s.sock'`),
          stopped: refused,
          options: {
            prepare: async ({ folder }) => void (await listening(createServer(), join(folder, 'outside/s.sock'))),
          },
        },
        'a socket in the workspace': {
          line: connect(`'s.sock'`),
          stopped: refused,
          options: { prepare: async ({ work }) => void (await listening(createServer(), join(work, 's.sock'))) },
        },
        'a socket in the workspace by a link': {
          line: `ln -s s.sock l; ${connect(`'l'`)}`,
          stopped: refused,
          options: { prepare: async ({ work }) => void (await listening(createServer(), join(work, 's.sock'))) },
        },
        'a socket of the session': { line: connect(`'/run/user/0/bus'`), stopped: refused },
      },
    },
    async (attempt) => {
      const before = reached
      await attempted(attempt)
      expect(reached).toBe(before)
    },
  )

  attack<Attempt>(
    'is only what is named',
    {
      every: 3,
      core: {
        'a host that is not named': {
          line: asked(`CONNECT localhost:${webPort} HTTP/1.1||`),
          stopped: /403 Forbidden/,
          options: named,
        },
        'an address that is not named': {
          line: asked(`CONNECT 127.0.0.1:${webPort} HTTP/1.1||`),
          stopped: /403 Forbidden/,
          options: named,
        },
        'another port of a host that is named': {
          line: asked('CONNECT example.com:22 HTTP/1.1||'),
          stopped: /403 Forbidden/,
          options: named,
        },
        'a name that only ends like it': {
          line: asked('CONNECT badexample.com:443 HTTP/1.1||'),
          stopped: /403 Forbidden/,
          options: named,
        },
        'a name that only begins like it': {
          line: asked('CONNECT example.com.evil.test:443 HTTP/1.1||'),
          stopped: /403 Forbidden/,
          options: named,
        },
        'a private address by a pattern': {
          line: asked('CONNECT 127.0.0.1:1 HTTP/1.1||'),
          stopped: /private network/,
          options: named,
        },
        'an address as a number': {
          line: asked(`CONNECT 2130706433:${webPort} HTTP/1.1||`),
          stopped: /403 Forbidden/,
          options: named,
        },
        'a user name before the host': {
          line: asked(`CONNECT example.com@127.0.0.1:${webPort} HTTP/1.1||`),
          stopped: /403|400/,
          options: named,
        },
        'a whole address for another host': {
          line: asked(`GET http://127.0.0.1:${webPort}/ HTTP/1.1|Host: example.com||`),
          stopped: /403 Forbidden/,
          options: named,
        },
        'a header for another host': {
          line: asked(`GET / HTTP/1.1|Host: 127.0.0.1:${webPort}||`),
          stopped: /400 Bad Request/,
          options: named,
        },
        'a file by the proxy': {
          line: asked('GET file:///etc/passwd HTTP/1.1|Host: x||'),
          stopped: /400 Bad Request/,
          options: named,
        },
        'what is no HTTP': {
          line: asked('SSH-2.0-x||'),
          stopped: /400 Bad Request.*this is not an HTTP request/s,
          options: named,
        },
      },
    },
    async (attempt) => void (await attempted(attempt)),
  )
})
