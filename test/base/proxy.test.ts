import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sendHttp } from '../../src/base/http.ts'
import { proxyOf } from '../../src/base/proxy.ts'
import { createBoundedFetch } from '../../src/mcp/bounded-fetch.ts'
import { startProxy } from '../helpers/proxy-server.ts'

const never = new AbortController().signal

describe('the proxy for an address', () => {
  it.each([
    ['http://a.test/x', { HTTP_PROXY: 'http://p:1', HTTPS_PROXY: 'http://q:2' }, 'http://p:1/ HTTP_PROXY'],
    ['https://a.test/x', { HTTP_PROXY: 'http://p:1', HTTPS_PROXY: 'http://q:2' }, 'http://q:2/ HTTPS_PROXY'],
    ['https://a.test/x', { HTTPS_PROXY: 'http://q:2', https_proxy: 'http://r:3' }, 'http://r:3/ https_proxy'],
    ['https://a.test/x', { ALL_PROXY: 'proxy.corp:8080' }, 'http://proxy.corp:8080/ ALL_PROXY'],
    ['https://a.test/x', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['https://a.test/x', { HTTPS_PROXY: '' }, undefined],
  ])('of %s with %j is %s', (url, env, expected) => {
    const proxy = proxyOf(new URL(url), env)
    expect(proxy && `${proxy.url.href} ${proxy.variable}`).toBe(expected)
  })

  it.each([
    'http://localhost:8080/',
    'http://127.0.0.1/',
    'http://127.9.9.9/',
    'http://[::1]:1/',
    'http://x.localhost/',
  ])('is unset for this machine: %s', (url) => {
    expect(proxyOf(new URL(url), { ALL_PROXY: 'http://p:1' })).toBeUndefined()
  })

  it.each([
    ['a.test', 'http://a.test/', true],
    ['a.test', 'http://sub.a.test/', true],
    ['a.test', 'http://aa.test/', false],
    ['.a.test', 'http://sub.a.test/', true],
    ['*.a.test', 'http://sub.a.test/', true],
    ['A.TEST', 'http://a.test/', true],
    ['other.test, a.test', 'http://a.test/', true],
    ['other.test a.test', 'http://a.test/', true],
    ['a.test:8080', 'http://a.test:8080/', true],
    ['a.test:8080', 'http://a.test/', false],
    ['a.test:443', 'https://a.test/', true],
    ['*', 'http://a.test/', true],
    ['10.0.0.0/8', 'http://10.1.2.3/', true],
    ['10.0.0.0/8', 'http://11.1.2.3/', false],
    ['10.1.2.3', 'http://10.1.2.3/', true],
    ['fd00::/8', 'http://[fd12::1]/', true],
    ['[fd12::1]:80', 'http://[fd12::1]/', true],
    ['1.2.3', 'http://10.1.2.3/', false],
    ['10.0.0.0/99', 'http://10.1.2.3/', false],
    ['', 'http://a.test/', false],
  ])('with NO_PROXY=%s is unset for %s: %s', (list, url, isDirect) => {
    for (const name of ['NO_PROXY', 'no_proxy']) {
      const proxy = proxyOf(new URL(url), { ALL_PROXY: 'http://p:1', [name]: list })
      expect(proxy === undefined).toBe(isDirect)
    }
  })

  it.each(['socks5://user:hunter2@p:1', 'http://', '::'])('cannot be %s, which is not shown', (text) => {
    const work = (): unknown => proxyOf(new URL('http://a.test/'), { HTTP_PROXY: text })
    expect(work).toThrow(/^HTTP_PROXY is not the address of an HTTP proxy$/)
  })
})

async function startServer(): Promise<number> {
  const server = createServer((request, response) => {
    response.end(
      `${request.method} ${request.url} at ${request.headers.host} ${request.headers['proxy-authorization'] ?? ''}`,
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

const asking = { method: 'GET', headers: [], redirectLimit: 1, timeLimitMs: 20_000, maxBytes: 1000 } as const

describe('requests through a proxy', () => {
  it('of pages, scripts and packs are sent with absolute URLs, with the name and password of the proxy', async () => {
    const proxy = await startProxy({ 'page.test': await startServer() })
    const env = { HTTP_PROXY: proxy.url.replace('//', '//me:hunter2@') }
    const { text } = await sendHttp({ ...asking, url: new URL('http://page.test/a?b=1'), env }, never)
    expect(text).toBe(`GET /a?b=1 at page.test Basic ${Buffer.from('me:hunter2').toString('base64')}`)
    expect(proxy.asked).toEqual(['GET http://page.test/a?b=1'])
  })

  it('go to this machine directly', async () => {
    const proxy = await startProxy({})
    const url = new URL(`http://127.0.0.1:${await startServer()}/`)
    expect((await sendHttp({ ...asking, url, env: { HTTP_PROXY: proxy.url } }, never)).status).toBe(200)
    expect(proxy.asked).toEqual([])
  })

  it('of MCP servers use a tunnel', async () => {
    const proxy = await startProxy({ 'mcp.test': await startServer() })
    const bounded = createBoundedFetch(1000, { HTTP_PROXY: proxy.url })
    onTestFinished(() => bounded.close())
    const response = await bounded.fetch('http://mcp.test/tools')
    expect(await response.text()).toContain('GET /tools at mcp.test')
    expect(proxy.asked).toEqual(['CONNECT mcp.test:80'])
  })

  it('fail if the proxy refuses: its answer is not that of the server', async () => {
    const proxy = await startProxy({})
    const env = { HTTPS_PROXY: proxy.url.replace('//', '//me:hunter2@') }
    const reason = `the proxy ${new URL(proxy.url).host} (HTTPS_PROXY) refused the connection (status 403)`
    await expect(sendHttp({ ...asking, url: new URL('https://page.test/'), env }, never)).rejects.toThrow(reason)
    const bounded = createBoundedFetch(1000, env)
    onTestFinished(() => bounded.close())
    await expect(bounded.fetch('https://page.test/')).rejects.toMatchObject({ cause: { message: reason } })
  })

  it('fail if the proxy cannot be reached, and name it', async () => {
    const env = { ALL_PROXY: 'http://127.0.0.1:9' }
    const reason = 'the proxy 127.0.0.1:9 (ALL_PROXY) cannot be reached (ECONNREFUSED)'
    await expect(sendHttp({ ...asking, url: new URL('http://page.test/'), env }, never)).rejects.toThrow(reason)
    await expect(sendHttp({ ...asking, url: new URL('https://page.test/'), env }, never)).rejects.toThrow(reason)
  })
})
