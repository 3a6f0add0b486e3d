import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { McpServers } from '../../src/event/mcp.ts'
import { login } from '../../src/mcp/auth/login.ts'
import { type LoginStore, openLoginStore, secretsOfLogin } from '../../src/mcp/auth/login-store.ts'
import { createAuthProvider } from '../../src/mcp/auth/provider.ts'
import { authorize } from '../../src/mcp/wire/login.ts'
import { createMcpServers } from '../../src/mcp/servers.ts'
import { type OAuthWorld, startOAuthWorld } from '../helpers/oauth-world.ts'
import { tempTree } from '../helpers/temp.ts'

const name = 'guarded'
const never = new AbortController().signal

function storeFor(world: OAuthWorld): { readonly store: LoginStore; readonly home: string } {
  const home = tempTree()
  return { home, store: openLoginStore(world.url, { env: { BATON_HOME: home }, home }) }
}

/** A user who opens the addresses that are shown. */
async function visit(url: URL): Promise<void> {
  await fetch(url)
}

function logIn(
  world: OAuthWorld,
  store: LoginStore,
  show: (url: URL) => void | Promise<void> = (url) => void visit(url),
  port?: number,
) {
  return login({ name, url: world.url, headers: {}, store, show, authorize, env: {}, signal: never, port })
}

function serversOf(world: OAuthWorld, store: LoginStore): McpServers {
  const transport = () => ({ kind: 'http', url: world.url, headers: {}, isNamed: true }) as const
  const server = { name, transport, startMs: 10_000, toolMs: 10_000, isTrusted: false, sampling: false, origin: 'x' }
  const servers = createMcpServers({
    servers: [server],
    version: '1',
    env: {},
    roots: [],
    signal: never,
    authProvider: () => createAuthProvider({ name, store }),
  })
  onTestFinished(() => servers.close())
  return servers
}

/** Below the range of ephemeral ports: no other process gets it while this one is not listening on it. */
function keptPort(): number {
  return 20_000 + (process.pid % 10_000)
}

const whoami = async (servers: McpServers) => (await servers.call(name, 'whoami', {}, { signal: never })).content

describe('a login', () => {
  it('is made in the browser, stored privately, and used by runs', async () => {
    const world = await startOAuthWorld()
    const { store, home } = storeFor(world)
    expect(await logIn(world, store)).toBe('done')
    expect(await whoami(serversOf(world, store))).toEqual([{ type: 'text', text: 'Ada' }])
    const folder = join(home, 'state/mcp')
    const [file = ''] = readdirSync(folder)
    expect([statSync(folder).mode & 0o777, statSync(join(folder, file)).mode & 0o777]).toEqual([0o700, 0o600])
    expect(secretsOfLogin(store.read())).toEqual([
      expect.stringMatching(/^access-/),
      expect.stringMatching(/^refresh-/),
    ])
  })

  it('is refreshed when its tokens have expired, also by two processes', async () => {
    const world = await startOAuthWorld()
    const { store } = storeFor(world)
    await logIn(world, store)
    const [first, second] = [serversOf(world, store), serversOf(world, store)]
    await whoami(first)
    await whoami(second)
    world.expire()
    expect(await whoami(first)).toEqual([{ type: 'text', text: 'Ada' }])
    expect(await whoami(second)).toEqual([{ type: 'text', text: 'Ada' }])
    expect(world.asked.filter((what) => what === 'authorize')).toHaveLength(1)
  })

  it('that has expired is an error with a hint, and registers nothing', async () => {
    const world = await startOAuthWorld()
    const { store } = storeFor(world)
    await expect(whoami(serversOf(world, store))).rejects.toMatchObject({
      hint: expect.stringContaining('baton mcp login guarded'),
    })
    expect(world.asked).toEqual([])
    await logIn(world, store, undefined, keptPort())
    world.revoke()
    await expect(whoami(serversOf(world, store))).rejects.toMatchObject({
      hint: expect.stringContaining('baton mcp login guarded'),
    })
    expect(world.asked).toEqual(['register', 'authorize', 'code', 'refresh'])
    world.asked.length = 0
    expect(await logIn(world, store)).toBe('done')
    // registered earlier, with the same address
    expect(world.asked).toEqual(['authorize', 'code'])
  })

  it('fails if it is refused, returns with a wrong state, or nobody waits for it', async () => {
    const world = await startOAuthWorld()
    const { store } = storeFor(world)
    world.answer = 'deny'
    await expect(logIn(world, store)).rejects.toMatchObject({
      code: 'KEY_REFUSED',
      message: 'the login was refused: access_denied',
    })
    const stop = new AbortController()
    const foreign: number[] = []
    const attempt = login({
      name,
      url: world.url,
      headers: {},
      store,
      authorize,
      env: {},
      signal: stop.signal,
      async show(url) {
        const back = new URL(url.searchParams.get('redirect_uri') ?? '')
        back.search = 'state=guessed&code=stolen'
        foreign.push((await fetch(back)).status)
        stop.abort(new Error('stopped'))
      },
    })
    await expect(attempt).rejects.toThrow('stopped')
    expect(foreign).toEqual([400])
    expect(store.read().tokens).toBeUndefined()
  })

  it('requests the scopes that a run was refused for lack of', async () => {
    const world = await startOAuthWorld()
    const { store } = storeFor(world)
    await logIn(world, store)
    world.wanted = 'write'
    await expect(whoami(serversOf(world, store))).rejects.toMatchObject({
      hint: expect.stringContaining('baton mcp login guarded'),
    })
    await logIn(world, store)
    expect(await whoami(serversOf(world, store))).toEqual([{ type: 'text', text: 'Ada' }])
    expect(world.scopes.map((scope) => scope.split(' ').toSorted())).toEqual([['tools'], ['tools', 'write']])
  })

  it('uses the authorization server that the server names now', async () => {
    const world = await startOAuthWorld()
    const { store } = storeFor(world)
    await logIn(world, store)
    world.move()
    world.revoke()
    await logIn(world, store)
    expect(world.asked).toEqual(['register', 'authorize', 'code', 'register', 'authorize', 'code'])
    expect(Object.keys(store.read().clients)).toEqual([
      new URL('/', world.url).origin,
      new URL('/moved', world.url).href,
    ])
  })

  it('can be removed', async () => {
    const world = await startOAuthWorld()
    const { store } = storeFor(world)
    await logIn(world, store)
    expect([store.remove(), store.remove(), store.read()]).toEqual([true, false, { clients: {} }])
  })

  it('shows no code and no token to the browser', async () => {
    const world = await startOAuthWorld()
    const { store, home } = storeFor(world)
    let page = ''
    await logIn(world, store, async (url) => {
      page = await (await fetch(url)).text()
    })
    expect(page).toContain('You can close this window.')
    expect(page).not.toMatch(/access-|refresh-|code=/)
    expect(readFileSync(join(home, 'state/mcp', readdirSync(join(home, 'state/mcp'))[0] ?? ''), 'utf8')).toContain(
      'access-',
    )
  })
})
