import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ToolResult } from '../../../src/event/agent.ts'
import { allRights } from '../../../src/event/permission.ts'
import { bindTool } from '../../../src/tool/toolbox/bind.ts'
import { createToolbox } from '../../../src/tool/toolbox/toolbox.ts'
import { createWebfetch } from '../../../src/tool/toolbox/webfetch.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import { rulesOf } from '../../../src/config/permission-rules.ts'
import { toolRules } from '../../../src/tool/rule-list.ts'
import { testContext } from '../../helpers/context.ts'

const kilobyte = 'x'.repeat(1023) + '\n'
const page = '<!doctype html><title>Home</title><script>let a</script><h1>News</h1><p>Read <a href="/more">more</a>.'
const html = { 'content-type': 'text/html; charset=utf-8' }

/** The answers for paths. */
const paths: Readonly<Record<string, (response: ServerResponse, url: URL) => void>> = {
  '/': (response) => void response.writeHead(200, html).end(page),
  '/to': (response, url) => void response.writeHead(302, { location: url.searchParams.get('url') ?? '/to' }).end(),
  '/away': (response) => void response.writeHead(301, { location: `http://localhost:${portOf(server)}/` }).end(),
  '/missing': (response) => void response.writeHead(404, html).end('<p>No such page.'),
  '/image': (response) =>
    void response.writeHead(200, { 'content-type': 'image/png', 'content-length': 4096 }).end(Buffer.alloc(4096)),
  '/lies': (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('a\0\0b'),
  '/json': (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"a": "<b>"}'),
  '/empty': (response) => void response.writeHead(204).end(),
  '/latin': (response) =>
    void response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(Buffer.from('<meta charset="iso-8859-1"><p>caf\u00e9', 'latin1')),
  '/unknown-charset': (response) =>
    void response.writeHead(200, { 'content-type': 'text/plain; charset=nonsense' }).end('café'),
  '/deep': (response) => void response.writeHead(200, html).end('<div>'.repeat(5000)),
  '/endless': (response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const more = (): void => void (response.destroyed || response.write(kilobyte, () => setImmediate(more)))
    more()
  },
  '/drip': (response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const drip = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(drip))
  },
  '/bomb': (response) =>
    void response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(bomb),
  '/broken': (response) =>
    void response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end('no gzip'),
}

const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 'a'))
const asked: string[] = []
let server: Server
let base = ''

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://host')
  asked.push(`${request.headers.host?.split(':')[0]}${url.pathname}`)
  paths[url.pathname]?.(response, url)
}

function portOf(from: Server): number {
  return (from.address() as AddressInfo).port
}

beforeAll(async () => {
  server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${portOf(server)}`
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const named = { '127.0.0.1': 'allow' } as const

interface Fetching {
  readonly format?: 'text' | 'html' | 'markdown'
  /** The table `[permission]`. */
  readonly rules?: JsonObject
  readonly limits?: Partial<Parameters<typeof createWebfetch>[0]>
}

async function get(url: string, { format, rules = { webfetch: named }, limits }: Fetching = {}): Promise<ToolResult> {
  const tool = bindTool(
    createWebfetch({ bytes: 5 * 2 ** 20, ms: 30_000, ...limits }),
    createToolbox({ baseDir: '/nowhere' }),
  )
  const context = testContext({
    scope: { rights: { ...allRights, rules: [toolRules(rulesOf(rules, { origin: 'mine' }))] } },
  })
  return tool.run(JSON.stringify(format === undefined ? { url } : { url, format }), context)
}

/** The error of a call. */
async function failure(url: string, fetching?: Fetching): Promise<string> {
  const { text, isError } = await get(url, fetching)
  expect(isError, text).toBe(true)
  return text
}

it('returns a page as Markdown, as its text, or unchanged', async () => {
  expect(await get(base)).toEqual({ text: '# Home\n\n## News\n\nRead [more](/more).' })
  expect(await get(base, { format: 'text' })).toEqual({ text: 'Home\n\nNews\n\nRead more.' })
  expect(await get(base, { format: 'html' })).toEqual({ text: page })
  expect(await get(`${base}/json`)).toEqual({ text: '{"a": "<b>"}' })
  expect(await get(`${base}/empty`)).toEqual({ text: `[${base}/empty has no text]\n` })
})

it('decodes a page by its own charset, and any other as UTF-8', async () => {
  expect(await get(`${base}/latin`)).toEqual({ text: 'café' })
  expect(await get(`${base}/unknown-charset`)).toEqual({ text: 'café' })
})

it('reports problems of an answer', async () => {
  expect(await failure(`${base}/missing`)).toBe(`${base}/missing answered with status 404:\nNo such page.`)
  expect(await failure(`${base}/image`)).toBe(`${base}/image is not text: image/png, 4kb. Only text can be fetched.`)
  expect(await failure(`${base}/lies`)).toContain('is not text: binary data, 0.1kb')
  expect(await failure(`${base}/deep`)).toMatch(
    /cannot be turned into markdown: the HTML nests elements deeper than 512 levels\. Ask for it with format "html"\./,
  )
  expect((await get(`${base}/deep`, { format: 'html' })).isError).toBeUndefined()
  expect(await failure(`${base}/broken`)).toMatch(/cannot be fetched: .*header/)
})

it('refuses an invalid web address before a request is made', async () => {
  const rules = { webfetch: 'ask' } as const
  expect(await failure('example.com', { rules })).toContain('example.com is not a full URL')
  expect(await failure('file:///etc/passwd', { rules })).toContain('file: addresses are not fetched')
  expect(await failure('https://me:secret@example.com/', { rules })).toContain('contains a user name or a password')
})

it('truncates a long answer, compressed or not, and says so', async () => {
  const limits = { bytes: 64 * 1024 }
  for (const path of ['/endless', '/bomb']) {
    const { text, isError } = await get(base + path, { limits })
    expect(isError).toBeUndefined()
    expect(text.slice(0, 60)).toContain('[cut: these are the first 64kb of the page]\n')
    expect(text.length).toBeLessThan(65 * 1024)
  }
  expect((await get(`${base}/bomb`)).text.slice(0, 60)).toContain(
    '[cut: these are the first 1,000,000 characters of the page]',
  )
})

it('ends an answer that takes too long', async () => {
  expect(await failure(`${base}/drip`, { limits: { ms: 300 } })).toContain('it took longer than 0.3 s')
})

it('follows redirects on the same host, but no loop', async () => {
  expect((await get(`${base}/to?url=/`)).text).toBe(
    `[redirected to ${base}/]\n# Home\n\n## News\n\nRead [more](/more).`,
  )
  expect(await failure(`${base}/to`)).toContain('it redirects more than 10 times')
  expect(await failure(`${base}/to?url=ftp://127.0.0.1/`)).toContain('ftp: is not http: or https:')
})

it('treats another port as another host', async () => {
  const port = portOf(server)
  const rules = { webfetch: { [`127.0.0.1:${port}`]: 'allow' } } as const
  expect((await get(base, { rules })).text).toContain('# Home')
  expect(await failure(`${base}/to?url=http://127.0.0.1:1/`, { rules })).toContain('which is not encrypted')
  expect(await failure(`${base}/to?url=https://127.0.0.1:1/`, { rules })).toContain('another host')
  const other = { webfetch: { '127.0.0.1:1': 'allow', '127.0.0.1:*': 'allow' } } as const
  expect(await failure(base, { rules: other })).toContain('is a private address')
})

it('is not redirected to another host without approval', async () => {
  asked.length = 0
  expect(await failure(`${base}/away`)).toContain(
    `redirects to http://localhost:${portOf(server)}/, which is not encrypted`,
  )
  expect(await failure(`${base}/to?url=https://localhost:1/`)).toMatch(
    /redirects to https:\/\/localhost:1\/, another host\. Call webfetch/,
  )
  const denied = { webfetch: { ...named, localhost: 'deny' } } as const
  expect(await failure(`${base}/to?url=https://localhost:1/`, { rules: denied })).toContain(
    '[permission] webfetch.localhost = "deny" (mine)',
  )
  const all = { webfetch: { '*': 'allow', ...named } } as const
  expect(await failure(`${base}/to?url=https://169.254.169.254/latest`, { rules: all })).toMatch(
    /another host|private address/,
  )
  expect(asked.filter((one) => !one.startsWith('127.0.0.1'))).toEqual([])
})

it('accesses a private address only if a rule names it, whatever a person says', async () => {
  asked.length = 0
  const open = { webfetch: 'allow' } as const
  const addresses = [
    base,
    base.replace('127.0.0.1', 'localhost'),
    base.replace('127.0.0.1', '2130706433'),
    base.replace('127.0.0.1', '[::ffff:127.0.0.1]'),
  ]
  for (const url of addresses) {
    expect(await failure(url, { rules: open })).toMatch(
      /is a private address\. It is fetched only where a rule names it: \[permission\] webfetch\./,
    )
    expect(await failure(url, { rules: { webfetch: 'ask' } })).toContain('is a private address')
  }
  expect(await failure(base, { rules: { webfetch: { '127.0.0.1': 'deny' } } })).toContain(
    '[permission] webfetch."127.0.0.1" = "deny" (mine)',
  )
  expect(asked).toEqual([])
  expect(
    (await get(`${base.replace('127.0.0.1', 'localhost')}/`, { rules: { webfetch: { localhost: 'allow' } } })).text,
  ).toContain('# Home')
})
