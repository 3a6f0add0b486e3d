import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { webModule } from '../../../src/script/host/web.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const host = hostSection('/')
let base = ''
let other = ''
const servers = [0, 1].map(() => createServer((request, response) => void answer(request, response)))

beforeAll(async () => {
  const [first = '', second = ''] = await Promise.all(
    servers.map(
      (server) =>
        new Promise<string>((resolve) => {
          server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
        }),
    ),
  )
  base = first
  other = second
})

afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://host')
  const body: Buffer[] = []
  for await (const chunk of request) body.push(chunk as Buffer)
  const redirect = (status: number, location: string): void => void response.writeHead(status, { location }).end('gone')
  switch (url.pathname) {
    case '/echo': {
      const { method, headers } = request
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify({ method, headers, body: Buffer.concat(body).toString() }))
    }
    case '/json':
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'set-cookie': ['a=1', 'b=2'] })
      return void response.end(url.searchParams.get('body') ?? '{"a":[1,null]}')
    case '/latin':
      response.writeHead(200, { 'content-type': 'text/plain; charset=iso-8859-1' })
      return void response.end(Buffer.from('gr\u00fcn', 'latin1'))
    case '/gzip':
      response.writeHead(200, { 'content-encoding': 'gzip' })
      return void response.end(gzipSync('ü'.repeat(1000)))
    case '/bomb':
      response.writeHead(200, { 'content-encoding': 'gzip' })
      return void response.end(gzipSync(Buffer.alloc(40_000_000)))
    case '/missing':
      return void response.writeHead(404, 'Not Found').end('nothing here')
    case '/loop':
      return redirect(302, '/loop')
    case '/steps': {
      const left = Number(url.searchParams.get('n'))
      return redirect(302, left > 1 ? `/steps?n=${left - 1}` : '/echo')
    }
    case '/slow-loop':
      return void setTimeout(() => redirect(302, '/slow-loop'), 30)
    case '/silent':
      return
    case '/to':
      return redirect(Number(url.searchParams.get('status')), url.searchParams.get('url') ?? '/echo')
    case '/slow':
      response.writeHead(200)
      return void response.write('begun')
    case '/cut':
      response.writeHead(200, { 'content-length': '100' })
      response.write('half')
      return void setTimeout(() => response.destroy(), 20)
    default:
      return void response.end()
  }
}

function web(name: string, ...args: readonly LuaValue[]): Promise<LuaValue> {
  return host.wait(webModule, name, ...args)
}

interface Echo {
  readonly content: {
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
}

async function echo(path: string, options: { readonly [key: string]: LuaValue } = {}): Promise<Echo['content']> {
  return ((await web('get', base + path, { parse: true, ...options })) as unknown as Echo).content
}

describe('aip.web.get', () => {
  it('returns status, address, content and headers', async () => {
    expect(await web('get', `${base}/json?x=1`)).toMatchObject({
      success: true,
      status: 200,
      url: `${base}/json?x=1`,
      content: '{"a":[1,null]}',
      content_type: 'application/json; charset=utf-8',
      headers: { 'content-type': 'application/json; charset=utf-8', 'set-cookie': 'a=1' },
      error: undefined,
    })
    expect(await web('get', `${base}/`)).toMatchObject({ content: '', content_type: undefined })
  })

  it('returns any status, and fails only without an answer', async () => {
    expect(await web('get', `${base}/missing`)).toMatchObject({
      success: false,
      status: 404,
      content: 'nothing here',
      error: 'Not a 2xx status code (404)',
    })
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    await expect(web('get', `http://user:secret@127.0.0.1:${port}/x`)).rejects.toThrow(
      `aip.web.get: http://127.0.0.1:${port}/x failed: connect ECONNREFUSED`,
    )
    await expect(web('get', `${base}/cut`)).rejects.toThrow(`${base}/cut failed: `)
  })

  it('parses JSON on request', async () => {
    expect(await web('get', `${base}/json`, { parse: true })).toMatchObject({ content: { a: [1, null] } })
    expect(await web('get', `${base}/json?body=null`, { parse: true })).toMatchObject({ content: undefined })
    expect(await web('get', `${base}/latin`, { parse: true })).toMatchObject({ content: 'grün' })
    await expect(web('get', `${base}/json?body={a}`, { parse: true })).rejects.toThrow(
      'aip.web.get: Failed to parse response body as JSON',
    )
  })

  it('decodes charsets and compression', async () => {
    expect(await web('get', `${base}/gzip`)).toMatchObject({ content: 'ü'.repeat(1000) })
  })

  it('uses the user agent of the option, a header, or AIPack', async () => {
    const agentOf = async (options: { readonly [key: string]: LuaValue }): Promise<string | undefined> =>
      (await echo('/echo', options)).headers['user-agent']
    expect(await agentOf({})).toBe('aipack')
    expect(await agentOf({ user_agent: true })).toBe('aipack')
    expect(await agentOf({ user_agent: false })).toBeUndefined()
    expect(await agentOf({ user_agent: 'me', headers: { 'User-Agent': 'other' } })).toBe('me')
    expect(await agentOf({ headers: { 'User-Agent': 'other' } })).toBe('other')
    expect(await agentOf({ user_agent: await runLua(host, 'return aip.web.UA_BROWSER') })).toContain('Chrome/')
    expect(await runLua(host, 'return aip.web.UA_AIPACK')).toBe('aipack')
  })

  it('sends headers with one value or several, and the password in the address', async () => {
    const { headers } = await echo('/echo', { headers: { 'X-One': 'a', 'x-two': ['b', 'c'] } })
    expect([headers['x-one'], headers['x-two']]).toEqual(['a', 'b, c'])
    const url = base.replace('http://', 'http://us%C3%A9r:p%40ss@')
    const answered = (await web('get', `${url}/echo`, { parse: true })) as unknown as Echo & { readonly url: string }
    expect(answered.content.headers['authorization']).toBe(`Basic ${Buffer.from('usér:p@ss').toString('base64')}`)
    expect(answered.url).toBe(`${base}/echo`)
    expect(await web('get', `${base}/echo?a=b#part`)).toMatchObject({ url: `${base}/echo?a=b` })
  })

  it('follows redirects up to the limit', async () => {
    expect(await web('get', `${base}/steps?n=5`)).toMatchObject({ status: 200, url: `${base}/echo` })
    await expect(web('get', `${base}/steps?n=6`)).rejects.toThrow('it redirects more than 5 times')
    expect(await web('get', `${base}/steps?n=8`, { redirect_limit: 8 })).toMatchObject({ status: 200 })
    await expect(web('get', `${base}/steps?n=1`, { redirect_limit: 0 })).rejects.toThrow('more than 0 times')
    await expect(web('get', `${base}/loop`)).rejects.toThrow('more than 5 times')
    await expect(web('get', `${base}/to?status=302&url=file:///etc/passwd`)).rejects.toThrow(
      'file: is not http: or https:',
    )
  })

  it('passes only standard headers to another host', async () => {
    const headers = { authorization: 'Bearer k', cookie: 'c=1', 'x-api-key': 'k', accept: 'text/plain' }
    const there = await echo(`/to?status=302&url=${other}/echo`, { headers })
    expect(['authorization', 'cookie', 'x-api-key', 'accept'].map((name) => there.headers[name])).toEqual([
      undefined,
      undefined,
      undefined,
      'text/plain',
    ])
    expect((await echo('/to?status=302', { headers })).headers['authorization']).toBe('Bearer k')
  })

  it('ends at the time limit and when the run ends', async () => {
    await expect(web('get', `${base}/slow`, { timeout_ms: 100 })).rejects.toThrow(
      `${base}/slow failed: it took longer than 0.1 s`,
    )
    await expect(web('get', `${base}/silent`, { timeout_ms: 100 })).rejects.toThrow('it took longer than 0.1 s')
    // all redirects together
    await expect(web('get', `${base}/slow-loop`, { redirect_limit: 100, timeout_ms: 200 })).rejects.toThrow(
      'it took longer than 0.2 s',
    )
    for (const path of ['/slow', '/silent', '/slow-loop']) {
      const stop = new AbortController()
      const section = hostSection('/', { signal: stop.signal })
      const running = section.wait(webModule, 'get', `${base}${path}`, { redirect_limit: 100 })
      stop.abort(new Error('the run is over'))
      await expect(running).rejects.toThrow('the run is over')
    }
  })

  it('refuses an answer that is too large, also after decompression', async () => {
    await expect(web('get', `${base}/bomb`)).rejects.toThrow('the response is larger than 33554432 bytes')
  })

  it('refuses wrong arguments without showing a header', async () => {
    await expect(web('get', undefined)).rejects.toThrow('aip.web.get: the url must be a string, but was nil')
    await expect(web('get', 'not a url')).rejects.toThrow("Cannot parse url 'not a url'")
    await expect(web('get', 'ftp://host/x')).rejects.toThrow('ftp: is not http: or https:')
    await expect(web('get', base, { redirect_limit: -1 })).rejects.toThrow('must not be negative')
    await expect(web('get', base, { user_agent: 5 })).rejects.toThrow('the option user_agent must be')
    await expect(web('get', base, { headers: { a: { b: 'c' } } })).rejects.toThrow(
      'the header a must be a string or a list',
    )
    await expect(web('get', base, { headers: { key: 'se\ncret' } })).rejects.toThrow(/^(?!.*cret).*the header "key"/s)
    await expect(web('get', base, 'x')).rejects.toThrow('the options must be a table')
  })
})

describe('aip.web.post', () => {
  async function post(path: string, data: LuaValue, options: { readonly [key: string]: LuaValue } = {}) {
    return ((await web('post', base + path, data, { parse: true, ...options })) as unknown as Echo).content
  }

  it('sends text, and tables as JSON', async () => {
    expect(await post('/echo', 'ü text')).toMatchObject({
      method: 'POST',
      body: 'ü text',
      headers: { 'content-type': 'plain/text' },
    })
    expect(await post('/echo', Uint8Array.of(97, 255))).toMatchObject({ body: 'a\uFFFD' })
    expect(await post('/echo', { b: [1, null], a: 'x' })).toMatchObject({
      body: '{"a":"x","b":[1,null]}',
      headers: { 'content-type': 'application/json' },
    })
    const typed = await post('/echo', 'a=1', { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } })
    expect(typed.headers['content-type']).toBe('application/x-www-form-urlencoded')
  })

  it('becomes GET at a redirect that requires it', async () => {
    expect(await post('/to?status=303', 'x')).toMatchObject({ method: 'GET', body: '' })
    expect(await post('/to?status=302', 'x')).toMatchObject({ method: 'GET', body: '' })
    expect(await post('/to?status=307', 'x')).toMatchObject({ method: 'POST', body: 'x' })
    await expect(post(`/to?status=307&url=${other}/echo`, 'x')).rejects.toThrow('which is not sent to another host')
  })

  it('refuses other data', async () => {
    await expect(web('post', base, undefined)).rejects.toThrow('the data must be a string or a table, but was nil')
    await expect(web('post', base, 5)).rejects.toThrow('but was number')
    await expect(web('post', base, { a: Number.NaN })).rejects.toThrow('the value.a is NaN')
  })
})

describe('web effects', () => {
  it('are recorded without headers; only GET may be repeated', async () => {
    const recording = hostSection('/')
    const headers = { authorization: 'Bearer hidden' }
    await recording.wait(webModule, 'get', base.replace('http://', 'http://u:hidden@'), { headers })
    await recording.wait(webModule, 'post', `${base}/echo`, 'body', { headers })
    const started = recording.records.filter(({ k }) => k === 'started')
    expect(started).toMatchObject([
      { kind: 'http', repeat: 'safe', request: { method: 'GET', url: `${base}/` } },
      { kind: 'http', repeat: 'unsafe', request: { method: 'POST', url: `${base}/echo`, body: 'body' } },
    ])
    expect(JSON.stringify(started)).not.toContain('hidden')
  })
})

describe('aip.web and addresses', () => {
  const parse = (url: LuaValue): LuaValue => host.call(webModule, 'parse_url', url)[0]
  const resolve = (href: LuaValue, page: LuaValue): LuaValue => host.call(webModule, 'resolve_href', href, page)[0]

  it('parses an address', () => {
    const url = 'https://user:pass@example.com:8080/path/to?key1=val1&key2=a%20b&key2=c#frag'
    expect(parse(url)).toEqual({
      scheme: 'https',
      host: 'example.com',
      port: 8080,
      path: '/path/to',
      query: { key1: 'val1', key2: 'c' },
      fragment: 'frag',
      username: 'user',
      password: 'pass',
      url,
      page_url: 'https://example.com:8080/path/to',
    })
    expect(parse('http://EXAMPLE.com:80')).toEqual({
      scheme: 'http',
      host: 'example.com',
      port: undefined,
      path: '/',
      query: undefined,
      fragment: undefined,
      username: '',
      password: undefined,
      url: 'http://example.com/',
      page_url: 'http://example.com/',
    })
    expect(parse(undefined)).toBeUndefined()
    expect(() => parse('not a valid url')).toThrow("Cannot parse url 'not a valid url'")
    expect(() => parse('')).toThrow("Cannot parse url ''")
    expect(() => parse({})).toThrow('but was table')
  })

  it('resolves a link (vector 88)', () => {
    const page = 'https://base.com/docs/page?x=1#old'
    const links = ['', '#section1', '?key=val', '//cdn/x', '/other', 'sub/page', '../up', 'https://a.b/c d', 'ü']
    expect(links.map((link) => resolve(link, page))).toEqual([
      'https://base.com/docs/page?x=1',
      'https://base.com/docs/page?x=1#section1',
      'https://base.com/docs/page?key=val',
      'https://cdn/x',
      'https://base.com/other',
      'https://base.com/docs/sub/page',
      'https://base.com/up',
      'https://a.b/c d',
      'https://base.com/docs/%C3%BC',
    ])
    expect(resolve(undefined, page)).toBeUndefined()
    expect(() => resolve('x', 'nowhere')).toThrow("aip.web.resolve_href: Cannot parse url 'nowhere'")
    expect(() => resolve('x', undefined)).toThrow('the base must be a string, but was nil')
  })
})
