import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'

export interface OAuthWorld {
  /** URL of the MCP server. */
  readonly url: string
  /** Requests to the authorization server, in order: `register`, `authorize`, `code`, `refresh`. */
  readonly asked: string[]
  /** The scopes that users were asked for. */
  readonly scopes: string[]
  /** From now on a login also needs this scope, which only the refusal of a call reveals. */
  wanted?: string
  /** Replaces the authorization server: the issuer of the new one has a path. */
  readonly move: () => void
  /** Invalidates the issued access tokens. */
  readonly expire: () => void
  /** Invalidates the refresh token as well. */
  readonly revoke: () => void
  /** The next user's decision at the authorization server. */
  answer: 'allow' | 'deny'
  /** Where users are sent; default: to the authorization server. */
  authorizationEndpoint?: string
  /** Where tokens are fetched and clients registered; default: at the authorization server. */
  tokenEndpoint?: string
  registrationEndpoint?: string
  /** Where a refused request says that the metadata of the server is; default: at the server. */
  metadata?: string
  /** The authorization server that the metadata names; default: the one on this port. */
  authorizationServer?: string
  /** The issuer that the redirect back claims to come from. */
  issuer?: string
}

interface Pending {
  readonly challenge: string
  readonly redirect: string
  readonly client: string
}

/** An MCP server that requires a login, with an authorization server: PKCE, registration, rotating refresh tokens. */
export async function startOAuthWorld(): Promise<OAuthWorld> {
  const codes = new Map<string, Pending>()
  const clients = new Map<string, readonly string[]>()
  const valid = new Set<string>()
  let refreshToken: string | undefined
  const asked: string[] = []
  const scopes: string[] = []
  let path = ''
  const granted = new Map<string, string>()
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'guarded', version: '1' })
    server.registerTool('whoami', { description: 'Who is logged in.' }, () => ({
      content: [{ type: 'text', text: 'Ada' }],
    }))
    return server
  })
  const guarded = getRequestListener((request) => handler.fetch(request), { overrideGlobalObjects: false })

  const server = createServer((request, response) => {
    const base = `http://${request.headers.host}`
    const { pathname, searchParams } = new URL(request.url ?? '/', base)
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const answers: Readonly<Record<string, () => unknown>> = {
      '/mcp': () => {
        const token = request.headers.authorization?.replace(/^Bearer /, '')
        const where = `${base}/.well-known/oauth-protected-resource/mcp`
        if (token !== undefined && valid.has(token)) {
          const { wanted } = world
          const isEnough = wanted === undefined || granted.get(token)?.split(' ').includes(wanted) === true
          if (isEnough || request.headers['mcp-method'] !== 'tools/call') return void guarded(request, response)
          const why = `Bearer error="insufficient_scope", scope="${wanted}", resource_metadata="${where}"`
          return response.writeHead(403, { 'www-authenticate': why }).end()
        }
        const named = `Bearer resource_metadata="${world.metadata ?? where}"`
        return response.writeHead(401, { 'www-authenticate': named }).end()
      },
      '/.well-known/oauth-protected-resource/mcp': () =>
        json({
          resource: `${base}/mcp`,
          authorization_servers: [world.authorizationServer ?? `${base}${path}`],
          scopes_supported: ['tools'],
        }),
      [`/.well-known/oauth-authorization-server${path}`]: () =>
        json({
          issuer: `${base}${path}`,
          authorization_endpoint: world.authorizationEndpoint ?? `${base}/authorize`,
          token_endpoint: world.tokenEndpoint ?? `${base}/token`,
          registration_endpoint: world.registrationEndpoint ?? `${base}/register`,
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        }),
      '/register': async () => {
        asked.push('register')
        const { redirect_uris: uris } = JSON.parse(await bodyOf(request)) as { redirect_uris: readonly string[] }
        const client = `client-${clients.size + 1}`
        clients.set(client, uris)
        return json({ client_id: client, redirect_uris: uris, token_endpoint_auth_method: 'none' }, 201)
      },
      '/authorize': () => {
        asked.push('authorize')
        scopes.push(searchParams.get('scope') ?? '')
        const client = searchParams.get('client_id') ?? ''
        const redirect = searchParams.get('redirect_uri') ?? ''
        if (clients.get(client)?.includes(redirect) !== true) return json({ error: 'invalid_client' }, 400)
        const target = new URL(redirect)
        target.searchParams.set('state', searchParams.get('state') ?? '')
        if (world.issuer !== undefined) target.searchParams.set('iss', world.issuer)
        if (world.answer === 'deny') target.searchParams.set('error', 'access_denied')
        else {
          const code = randomBytes(8).toString('hex')
          codes.set(code, { client, redirect, challenge: searchParams.get('code_challenge') ?? '' })
          target.searchParams.set('code', code)
        }
        return response.writeHead(302, { location: target.href }).end()
      },
      '/token': async () => {
        const given = new URLSearchParams(await bodyOf(request))
        if (given.get('grant_type') === 'refresh_token') {
          asked.push('refresh')
          if (refreshToken === undefined || given.get('refresh_token') !== refreshToken) {
            return json({ error: 'invalid_grant' }, 400)
          }
          return json(newTokens())
        }
        asked.push('code')
        const pending = codes.get(given.get('code') ?? '')
        const proof = createHash('sha256')
          .update(given.get('code_verifier') ?? '')
          .digest('base64url')
        const fits = pending?.challenge === proof && pending.redirect === given.get('redirect_uri')
        return fits ? json(newTokens()) : json({ error: 'invalid_grant' }, 400)
      },
    }
    void (answers[pathname] ?? (() => json({ error: 'not found' }, 404)))()
  })

  function newTokens(): object {
    const access = `access-${randomBytes(8).toString('hex')}`
    valid.add(access)
    granted.set(access, scopes.at(-1) ?? '')
    refreshToken = `refresh-${randomBytes(8).toString('hex')}`
    return { access_token: access, token_type: 'Bearer', expires_in: 3600, refresh_token: refreshToken, scope: 'tools' }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const world: OAuthWorld = {
    url: `http://127.0.0.1:${port}/mcp`,
    asked,
    scopes,
    move: () => void (path = '/moved'),
    expire: () => valid.clear(),
    revoke() {
      valid.clear()
      refreshToken = undefined
    },
    answer: 'allow',
  }
  return world
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
