// A client for the conformance suite of MCP (mcp-conformance.mjs): uses everything that the server at the address in
// its last argument offers, as a run would, and logs in if necessary, as `baton mcp login` would.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const dist = join(import.meta.dirname, '../dist')
const load = (file) => import(pathToFileURL(join(dist, file)).href)
const [{ createMcpServers }, { createAuthProvider }, { login }, { openLoginStore }, { authorize }] = await Promise.all(
  ['mcp/servers.js', 'mcp/auth/provider.js', 'mcp/auth/login.js', 'mcp/auth/login-store.js', 'mcp/wire/login.js'].map(
    load,
  ),
)

const url = process.argv.at(-1)
const name = 'suite'
const given = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}')
const { signal } = new AbortController()
const home = mkdtempSync(join(tmpdir(), 'baton-conformance-'))
const store = openLoginStore(url, { env: { BATON_HOME: home }, home })
const registered =
  given.client_id === undefined ? undefined : { clientId: given.client_id, clientSecret: given.client_secret }

const asking = { signal, onProgress: () => {}, onQuestion: async () => ({ action: 'accept', content: {} }) }

/** A run cannot log in: the user does, and starts it again. Two logins must be enough. */
const mostLogins = 2

try {
  for (let logins = 0; ; logins += 1) {
    try {
      await useAll()
      break
    } catch (error) {
      if (logins === mostLogins || !wantsLogin(error)) throw error
      await login({ name, url, headers: {}, store, registered, show: visit, authorize, signal })
    }
  }
} catch (error) {
  console.error(`${error?.message ?? error} ${error?.hint ?? ''}`)
  process.exitCode = 1
} finally {
  rmSync(home, { recursive: true, force: true })
}

function wantsLogin(error) {
  return error?.hint?.includes('baton mcp login') === true
}

/** Acts as the browser: the authorization server of the suite approves and redirects back. */
async function visit(address) {
  await fetch(address)
}

async function useAll() {
  const servers = createMcpServers({
    servers: [
      {
        name,
        transport: () => ({ kind: 'http', url, headers: {}, isNamed: true }),
        startMs: 10_000,
        toolMs: 10_000,
        isTrusted: false,
        sampling: true,
        origin: 'the suite',
      },
    ],
    version: '1',
    env: {},
    roots: [],
    signal,
    authProvider: () => createAuthProvider({ name, store, registered }),
  })
  try {
    const tools = await servers.tools(name, signal)
    const calls = given.toolCalls ?? tools.map((tool) => ({ name: tool.name, arguments: sampleOf(tool, tools) }))
    for (const call of calls) await ignoreRefusal(servers.call(name, call.name, call.arguments, asking))
    for (const { uri } of await servers.resources(name, signal)) await ignoreRefusal(servers.read(name, uri, asking))
    for (const prompt of await servers.prompts(name, signal)) {
      const values = Object.fromEntries(prompt.arguments.map((argument) => [argument.name, 'x']))
      await ignoreRefusal(servers.prompt(name, prompt.name, values, asking))
    }
  } finally {
    await servers.close()
  }
}

/** A failing tool is not an error of the client. */
async function ignoreRefusal(result) {
  try {
    await result
  } catch (error) {
    if (error?.code !== 'MCP_FAILED' || wantsLogin(error)) throw error
    console.error(error.message)
  }
}

/** Valid arguments; a tool that takes a schema gets the schema of another tool. */
function sampleOf({ name: own, input }, tools) {
  const wanted = Object.entries(input.properties ?? {})
  return Object.fromEntries(wanted.map(([key, schema]) => [key, key === 'schema' ? neighbour() : sample(schema)]))

  function neighbour() {
    return tools.find((tool) => tool.name !== own)?.input
  }
}

function sample({ type, enum: allowed, default: initial }) {
  if (initial !== undefined) return initial
  if (allowed !== undefined) return allowed[0]
  return { number: 1.5, integer: 5, boolean: true, array: [], object: {} }[type] ?? 'x'
}
