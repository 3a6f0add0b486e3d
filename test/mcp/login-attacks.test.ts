import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { login } from '../../src/mcp/auth/login.ts'
import { openCallback } from '../../src/mcp/auth/callback.ts'
import { openLoginStore } from '../../src/mcp/auth/login-store.ts'
import { ConnectionFailure } from '../../src/mcp/connection.ts'
import { mcpError } from '../../src/mcp/problems.ts'
import { authorize } from '../../src/mcp/wire/login.ts'
import { startOAuthWorld } from '../helpers/oauth-world.ts'
import { tempTree } from '../helpers/temp.ts'

// Servers that send users to somewhere other than a login, and pages that call the address where the login is awaited.

const never = new AbortController().signal

function attempt(
  url: string,
  {
    headers = {},
    visits = true,
    authHosts,
  }: { headers?: Record<string, string>; visits?: boolean; authHosts?: string[] } = {},
) {
  const home = tempTree()
  const store = openLoginStore(url, { env: { BATON_HOME: home }, home })
  const shown: string[] = []
  const show = (address: URL): void => {
    shown.push(address.href)
    if (visits) void fetch(address).catch(() => {})
  }
  return {
    store,
    shown,
    end: login({ name: 'odd', url, headers, authHosts, store, show, authorize, env: {}, signal: never }),
  }
}

describe('a login at a dishonest server', () => {
  it.each([
    'javascript:alert(1)//',
    'file:///etc/passwd',
    'vscode://x/y',
    'ssh://-oProxyCommand=id/',
    'http://login.example/authorize',
    'http://127.0.0.1.evil.example/authorize',
  ])('opens and shows only https, or addresses on this machine: %s', async (endpoint) => {
    const world = await startOAuthWorld()
    world.authorizationEndpoint = endpoint
    const { store, shown, end } = attempt(world.url)
    await expect(end).rejects.toThrow()
    expect([shown, store.read().tokens]).toEqual([[], undefined])
  })

  it.each(['metadata', 'registrationEndpoint', 'tokenEndpoint'] as const)(
    'is refused when it names a third host for its %s, which gets no request',
    async (field) => {
      const asked: string[] = []
      const third = createServer((request, response) => {
        asked.push(request.url ?? '')
        response.end('{}')
      })
      await new Promise<void>((resolve) => third.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void third.close())
      const world = await startOAuthWorld()
      world[field] = `http://127.0.0.1:${(third.address() as AddressInfo).port}/${field}`
      const { store, shown, end } = attempt(world.url)
      await expect(end).rejects.toMatchObject({ problem: { kind: 'foreign', address: world[field] } })
      expect([asked, store.read().tokens, shown]).toEqual([[], undefined, []])
    },
  )

  it('uses another host for an endpoint if the user allows exactly that one', async () => {
    const other = await startOAuthWorld()
    const { host, port, origin } = new URL(other.url)
    const world = await startOAuthWorld()
    world.authorizationEndpoint = `${origin}/authorize`
    world.registrationEndpoint = `${origin}/register`
    world.tokenEndpoint = `${origin}/token`
    for (const authHosts of [[`localhost:${port}`], ['127.0.0.1'], ['login.example']]) {
      await expect(attempt(world.url, { authHosts }).end).rejects.toMatchObject({ problem: { kind: 'foreign' } })
    }
    expect(other.asked).toEqual([])
    const { store, end } = attempt(world.url, { authHosts: ['login.example', host] })
    expect(await end).toBe('done')
    expect([other.asked, world.asked]).toEqual([['register', 'authorize', 'code'], []])
    expect(store.read().tokens).toBeDefined()
  })

  it('is refused when it names an allowed host without https', async () => {
    const world = await startOAuthWorld()
    world.tokenEndpoint = 'http://login.example/token'
    const { shown, end } = attempt(world.url, { authHosts: ['login.example'] })
    await expect(end).rejects.toMatchObject({ problem: { kind: 'foreign', address: world.tokenEndpoint } })
    expect(shown).toEqual([])
  })

  it.each([
    ['https://login.example/token', 'auth_hosts = ["login.example"] in [mcp_servers.odd]'],
    ['https://login.example:8443/token', 'auth_hosts = ["login.example:8443"] in [mcp_servers.odd]'],
    ['http://login.example/token', 'contact whoever runs'],
  ])('is refused with the setting that allows the host: %s', (address, hint) => {
    const transport = { kind: 'http', url: 'https://mcp.example/mcp', headers: {}, isNamed: true } as const
    const error = mcpError(new ConnectionFailure({ kind: 'foreign', address }), {
      server: {
        name: 'odd',
        transport: () => transport,
        startMs: 1,
        toolMs: 1,
        isTrusted: false,
        sampling: false,
        origin: 'x',
      },
      transport,
      doing: 'to log in',
      maxBytes: 1,
      hide: (text) => text,
    })
    expect(error).toMatchObject({ code: 'MCP_FAILED', hint: expect.stringContaining(hint) })
  })

  it.each(['http://login.example', 'ftp://login.example', 'file:///etc'])(
    'is refused when its authorization server is %s',
    async (address) => {
      const world = await startOAuthWorld()
      world.authorizationServer = address
      const { shown, end } = attempt(world.url)
      await expect(end).rejects.toMatchObject({
        problem: { kind: 'foreign', address: expect.stringContaining(address) },
      })
      expect(shown).toEqual([])
    },
  )

  it('is refused when the answer comes from another authorization server', async () => {
    const world = await startOAuthWorld()
    world.issuer = 'https://other.example'
    const { store, end } = attempt(world.url)
    await expect(end).rejects.toMatchObject({ problem: { kind: 'invalid' } })
    expect([world.asked.includes('code'), store.read().tokens]).toEqual([false, undefined])
  })

  it('sends headers of settings to the server, but not to an authorization server on another host', async () => {
    const asked: { readonly server: string; readonly path: string; readonly headers: IncomingHttpHeaders }[] = []
    const start = async (
      server: string,
      answer: (path: string, base: string) => object | undefined,
    ): Promise<string> => {
      const listening = createServer((request, response) => {
        const path = request.url ?? ''
        asked.push({ server, path, headers: request.headers })
        const value = answer(path, `http://${request.headers.host}`)
        if (path === '/mcp') response.writeHead(401).end()
        else if (value === undefined) response.writeHead(404).end()
        else
          response
            .writeHead(path === '/register' ? 201 : 200, { 'content-type': 'application/json' })
            .end(JSON.stringify(value))
      })
      await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => {
        listening.close()
        listening.closeAllConnections()
      })
      return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
    }
    const other = await start('other', (path, base) => {
      if (path === '/register') return { client_id: 'c', redirect_uris: ['http://127.0.0.1/callback'] }
      if (!path.startsWith('/.well-known/oauth-authorization-server')) return undefined
      return {
        issuer: base,
        authorization_endpoint: 'file:///x',
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      }
    })
    const own = await start('own', (path, base) =>
      path.startsWith('/.well-known/oauth-protected-resource')
        ? { resource: `${base}/mcp`, authorization_servers: [other] }
        : undefined,
    )
    await expect(attempt(`${own}/mcp`, { headers: { 'X-Api-Key': 'mine' } }).end).rejects.toThrow()
    const withKey = (server: string) =>
      asked.filter((one) => one.server === server && one.headers['x-api-key'] === 'mine')
    expect(asked.some(({ server, path }) => server === 'other' && path === '/register')).toBe(true)
    expect(withKey('own').length).toBeGreaterThan(0)
    expect(withKey('other')).toEqual([])
  })

  it('continues to wait, whatever is sent to its address', async () => {
    const callback = await openCallback()
    onTestFinished(callback.close)
    const answer = callback.answer('right', never)
    const base = callback.url.replace('/callback', '')
    for (const path of ['//', '//[', '/callback', '/callback?state=wrong&code=x', '/callback?state=wrong&error=x']) {
      expect([path, (await fetch(`${base}${path}`)).status]).toEqual([path, expect.toBeOneOf([400, 404])])
    }
    expect((await fetch(`${callback.url}?state=right&code=c`)).status).toBe(200)
    expect((await answer).get('code')).toBe('c')
  })
})
