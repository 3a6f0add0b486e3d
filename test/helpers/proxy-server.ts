import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ProxyServer {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  /** What it was asked for: `POST http://host/path`, `CONNECT host:443`. */
  readonly asked: readonly string[]
}

/**
 * An HTTP proxy on loopback that resolves every name to 127.0.0.1, at the port that `ports` has for it; other hosts are
 * refused with status 403.
 */
export async function startProxy(ports: { readonly [host: string]: number }): Promise<ProxyServer> {
  const asked: string[] = []
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    const { hostname, pathname, search } = new URL(incoming.url ?? '')
    const port = ports[hostname]
    if (port === undefined) return void outgoing.writeHead(403).end('not here')
    const { method, headers } = incoming
    const target = { host: '127.0.0.1', port, path: pathname + search, method, headers }
    const forwarded = request(target, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  server.on('connect', ({ url = '' }, client) => {
    asked.push(`CONNECT ${url}`)
    client.on('error', () => client.destroy())
    const port = ports[url.replace(/:\d+$/, '')]
    if (port === undefined) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    const tunnel = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      tunnel.pipe(client)
      client.pipe(tunnel)
    })
    tunnel.on('error', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}
