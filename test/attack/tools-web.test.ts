import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect } from 'vitest'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'
import { writeTree } from '../helpers/temp.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld } from './harness.ts'

// A model that is misled by what it reads requests addresses that are off limits, and pages that are built to block
// their reader. Each call is one error for the model, and the run continues.

const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024))
const asked: string[] = []
const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
  const page = pages[pathname]
  if (page !== undefined) return page(response)
  const location = searchParams.get('to')
  if (location === null) return void response.end('reached')
  response.writeHead(302, { location }).end()
})
let port = 0

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const html = { 'content-type': 'text/html' }

const pages: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/endless': (response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const more = (): void => void (response.destroyed || response.write('x'.repeat(65_536), () => setImmediate(more)))
    more()
  },
  '/bomb': (response) => void response.writeHead(200, { ...html, 'content-encoding': 'gzip' }).end(bomb),
  '/deep': (response) => void response.writeHead(200, html).end('<b><i>'.repeat(40_000)),
  '/crossed': (response) => void response.writeHead(200, html).end('<a><b><div></a>'.repeat(20_000)),
  '/cells': (response) => void response.writeHead(200, html).end(`<table>${'<tr><td>x'.repeat(300_000)}`),
  '/escapes': (response) => void response.writeHead(200, html).end('<p>\u001b]0;owned\u0007\u001b[2J<title>\u001b[31m'),
  '/loop': (response) => void response.writeHead(302, { location: '/loop' }).end(),
  '/hangs-up': (response) => void response.destroy(),
  '/short': (response) => void response.writeHead(200, { ...html, 'content-length': 1000 }).end('<p>half'),
}

interface Asking {
  /** The user's table `[permission] webfetch`. */
  readonly rules: string
  readonly urls: (at: number) => readonly string[]
  /** What the model is told about each. */
  readonly says: RegExp
  /** Whether the server may be contacted at all. */
  readonly isAsked?: true
}

const attempts: Readonly<Record<string, Asking>> = {
  'spellings of this machine': {
    rules: 'webfetch = "allow"',
    says: /is a private address|cannot be fetched|not a full URL|contains a user name/,
    urls: (at) => [
      `http://127.0.0.1:${at}/`,
      `http://localhost:${at}/`,
      `http://a.localhost:${at}/`,
      `http://2130706433:${at}/`,
      `http://0177.0.0.1:${at}/`,
      `http://0x7f000001:${at}/`,
      `http://127.1:${at}/`,
      `http://[::ffff:127.0.0.1]:${at}/`,
      `http://[::1]:${at}/`,
      `http://0.0.0.0:${at}/`,
      `http://127.0.0.1.:${at}/`,
      `http://example.com@127.0.0.1:${at}/`,
      `http://１２７.0.0.1:${at}/`,
      `HTTP://LOCALHOST:${at}/`,
      `http:\\\\127.0.0.1:${at}\\`,
    ],
  },
  'addresses of other networks': {
    rules: 'webfetch = "allow"',
    says: /is a private address/,
    urls: () => [
      'http://169.254.169.254/latest/meta-data/',
      'http://[fd00:ec2::254]/',
      'http://10.0.0.1/',
      'http://192.168.1.1/',
      'http://[64:ff9b::a00:1]/',
    ],
  },
  'what is no page': {
    rules: 'webfetch = "allow"',
    says: /are not fetched|not a full URL|do not fit its schema/,
    urls: () => [
      'file:///etc/passwd',
      'data:text/plain,x',
      'javascript:1',
      '/etc/passwd',
      '',
      'ftp://x/',
      'gopher://x/',
    ],
  },
  'a redirect to where nobody was asked about': {
    rules: 'webfetch = { "127.0.0.1" = "allow", "localhost" = "deny" }',
    says: /which is not encrypted|is denied|another host|is not http: or https:/,
    isAsked: true,
    urls: (at) =>
      [`http://localhost:${at}/`, `https://localhost:${at}/`, 'https://169.254.169.254/', 'file:///etc/passwd'].map(
        (to) => `http://127.0.0.1:${at}/?to=${encodeURIComponent(to)}`,
      ),
  },
  'pages that are made to stop who reads them': {
    rules: 'webfetch = { "127.0.0.1" = "allow" }',
    says: /\[cut: |deeper than 512 levels|longer than|more than \d+ MB|redirects more than|cannot be fetched|not text: binary|^# /,
    isAsked: true,
    urls: (at) =>
      Object.keys(pages)
        .filter((path) => path !== '/cells')
        .map((path) => `http://127.0.0.1:${at}${path}`),
  },
}

const slowAttempts = (): typeof attempts => ({
  'a page that needs much memory': {
    rules: 'webfetch = { "127.0.0.1" = "allow" }',
    says: /longer than|more than \d+ MB|\[cut: /,
    isAsked: true,
    urls: (at) => [`http://127.0.0.1:${at}/cells`],
  },
})

attack(
  'a model that fetches is told what it may not have, and goes on',
  { core: attempts, more: slowAttempts },
  async ({ rules, urls, says, isAsked }) => {
    const wanted = urls(port)
    const model = await startToolModel([
      callsTools(...wanted.map((url) => ['webfetch', { url }] as const)),
      { text: 'Enough.' },
    ])
    const world = createWorld({
      work: { '.git/HEAD': '', 'ask.md': '+++\nmodel = "m"\ntools = ["webfetch"]\n+++\nLook it up.\n' },
      env: { BATON_GATEWAY_URL: model.url },
    })
    writeTree(world.state, { 'config/config.toml': `[permission]\n${rules}\n` })
    const before = asked.length
    const end = await world.run(['ask.md'])
    expectHeld(world, end, [0])
    expect(end.stdout).toBe('Enough.\n')
    // oxlint-disable-next-line no-control-regex
    expect(end.stderr).not.toMatch(/\u001b/)
    const results = model.results()
    expect(results.length).toBe(wanted.length)
    for (const [index, result] of results.entries()) expect(result, wanted[index]).toMatch(says)
    if (isAsked !== true) expect(asked.length).toBe(before)
    expect(asked.slice(before).filter((path) => path === '/')).toEqual([])
  },
)
