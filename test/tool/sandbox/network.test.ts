import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AddressInfo } from 'node:net'
import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { hasBox, inBox } from '../../helpers/box.ts'

let server: Server
let port = 0

beforeAll(async () => {
  server = createServer((asked, answer) => answer.end(`${asked.method} ${asked.url} ${asked.headers.host}`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ;({ port } = server.address() as AddressInfo)
})
afterAll(() => void server.close())

const boxes = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('baton-box-'))
/** Sends a request through the proxy, which programs know from the environment. */
const get = (url: string): string => `curl -sS --noproxy '' -m 10 -w ' %{http_code}\\n' ${url}`
const tunnel = (url: string): string => `curl -sS --noproxy '' -p -m 10 ${url} 2>&1`

describe.skipIf(!hasBox)('the network of a box (needs bwrap and user namespaces)', () => {
  it('is only the box itself by default', async () => {
    const serve = `${process.execPath} -e "require('http').createServer((q, a) => a.end('inside')).listen(8123)" & sleep 1`
    const end = await inBox(`curl -sS -m 5 http://127.0.0.1:${port}/ 2>&1; ${serve}; curl -sS http://127.0.0.1:8123/`)
    expect(end.out).toContain('Failed to connect')
    expect(end.out).toMatch(/inside$/)
  })

  it('consists of the named hosts, for both kinds of requests', async () => {
    const host = `localhost:${port}`
    const end = await inBox(`${get(`http://${host}/a?b=c`)}; ${tunnel(`http://${host}/t`)}; echo`, {
      rights: { network: [host] },
    })
    expect(end.out).toBe(`GET /a?b=c ${host} 200\nGET /t ${host}\n`)
    expect(boxes()).toEqual([])
  })

  it('answers a client that has closed its sending side', async () => {
    const host = `localhost:${port}`
    const asked = `CONNECT ${host} HTTP/1.1\\r\\n\\r\\nGET /half HTTP/1.0\\r\\nhost: h\\r\\n\\r\\n`
    const client = `require('net').connect({ port: 3128, host: '127.0.0.1', allowHalfOpen: true }).end('${asked}').pipe(process.stdout)`
    const end = await inBox(`${process.execPath} -e "${client}"`, { rights: { network: [host] } })
    expect(end.out).toMatch(/GET \/half h$/)
  })

  it('refuses others with a sentence', async () => {
    const lines = [
      get(`http://127.0.0.1:${port}/`),
      get('http://example.invalid/'),
      tunnel(`http://127.0.0.1:${port}/`),
    ]
    const end = await inBox(lines.join('; '), { rights: { network: ['example.com', `localhost:${port}`] } })
    expect(end.out).toContain(`127.0.0.1:${port} is refused: the network of this sandbox does not include it`)
    expect(end.out).toContain('example.invalid:80 is refused')
    expect(end.out).toContain(' 403\n')
    expect(end.out).toMatch(/CONNECT tunnel failed, response 403|403/)
  })

  it('does not include private addresses by a pattern', async () => {
    const end = await inBox(get(`http://127.0.0.1:${port}/`), { rights: { network: [`*.0.0.1:${port}`] } })
    expect(end.out).toContain('it is in a private network, so it must be listed by its exact name, without *')
  })

  it('leaves neither socket nor folder behind', () => {
    expect(boxes()).toEqual([])
    expect(existsSync('/run/baton')).toBe(false)
  })
})
