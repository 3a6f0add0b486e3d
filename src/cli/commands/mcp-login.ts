import { BatonError } from '../../base/error.ts'
import { openBrowser } from '../../base/open-browser.ts'
import type { McpServer, McpTransport } from '../../event/mcp.ts'
import { registeredClient } from '../../mcp/auth/known-login.ts'
import { createMask } from '../../journal/secrets.ts'
import { openLoginStore, secretsOfLogin } from '../../mcp/auth/login-store.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import type { McpContext } from './mcp.ts'

/** `baton mcp login SERVER`: logs in to a server in the browser; runs use the login from then on. */
export async function logIn(name: string, { noBrowser: isBare }: Flags<'mcp'>, context: McpContext): Promise<number> {
  const { io, env, home, cwd, print, note } = context
  const server = serverNamed(name, context)
  const transport = addressOf(server)
  const { url, headers, authHosts } = transport
  const [{ login }, { authorize, mostLoginBytes }, { mcpError }] = await Promise.all([
    import('../../mcp/auth/login.ts'),
    import('../../mcp/wire/login.ts'),
    import('../../mcp/problems.ts'),
  ])
  const store = openLoginStore(url, { env, home })
  const hide = (text: string): string => {
    const values = Object.fromEntries(
      secretsOfLogin(store.read()).map((value, index) => [`${name}#${index + 1}`, value]),
    )
    return createMask({}, { values }).hide(context.hide(text))
  }
  const end = await login({
    name,
    url,
    headers,
    authHosts,
    store,
    registered: registeredClient(server),
    scope: server.login?.scope,
    port: server.login?.port,
    show(address) {
      const isOpened = !isBare && openBrowser(address, { env, workspace: cwd })
      io.err(`${isOpened ? 'opening in your browser:' : 'open'} ${address.href}\n`)
      note('waiting for the login to complete; Ctrl-C cancels\n')
    },
    authorize,
    env,
    signal: io.signal,
  }).catch((error: unknown) => {
    throw mcpError(error, { server, transport, doing: 'to log in', maxBytes: mostLoginBytes, hide })
  })
  print({ server: name, login: end }, () => (end === 'done' ? `logged in to ${name}\n` : `${name} needs no login\n`))
  return 0
}

/** `baton mcp logout SERVER`: deletes the login of a server. */
export async function logOut(name: string, context: McpContext): Promise<number> {
  const { env, home, print } = context
  const { url } = addressOf(serverNamed(name, context))
  const isForgotten = openLoginStore(url, { env, home }).remove()
  print({ server: name, logout: isForgotten }, () =>
    isForgotten ? `logged out of ${name}\n` : `there was no login for ${name}\n`,
  )
  return 0
}

/** @throws BatonError USAGE */
function serverNamed(name: string, { service }: McpContext): McpServer {
  const found = service.servers.find((server) => server.name === name)
  if (found !== undefined) return found
  const names = service.servers.map((server) => server.name)
  throw usageError(
    `there is no MCP server ${name}`,
    names.length === 0 ? 'The settings name none.' : `Servers: ${names.join(', ')}.`,
  )
}

/** @throws BatonError USAGE if the server is a program, KEY_MISSING */
function addressOf({ name, transport }: McpServer): Exclude<McpTransport, { readonly kind: 'stdio' }> {
  const given = transport()
  if (given.kind !== 'stdio') return given
  throw new BatonError('USAGE', `the MCP server ${name} is a program: it gets its keys from its env`, {
    hint: 'Only servers with a url have logins.',
  })
}
