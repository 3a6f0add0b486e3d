import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { defined } from '../../src/base/json.ts'
import { listen, type Listening, type ListenOptions } from '../../src/serve/mcp/listen.ts'
import { readOffers } from '../../src/serve/mcp/read-offers.ts'
import { serveWeb } from '../../src/serve/mcp/protocol.ts'
import { tempTree } from './temp.ts'

/** The secret of every server here. */
export const secret = 'a secret of this test'

/** A listening server of ours, its workspace, and `BATON_HOME`. */
export interface Served {
  readonly listening: Listening
  readonly home: string
  readonly folder: string
  /** What the server has printed. */
  readonly logged: readonly string[]
}

export interface ServeOptions {
  readonly env?: Readonly<Record<string, string>>
  /** In the form of `-c`. */
  readonly overrides?: readonly string[]
  /** Additional lines of the config file. */
  readonly config?: string
  /** How long the user may take to answer a question of a server. */
  readonly answerMs?: number
  readonly mostSessions?: number
  readonly limits?: ListenOptions['limits']
}

/** Offers files of a workspace in this process; `todo` needs approval. */
export async function serveFiles(
  names: readonly string[],
  tree: Readonly<Record<string, string>>,
  { env = {}, overrides, config = '', answerMs, mostSessions, limits }: ServeOptions = {},
): Promise<Served> {
  const folder = tempTree({ '.git/HEAD': 'x\n', ...tree })
  const home = tempTree({ 'config/config.toml': `[permission]\ntodo = "ask"\n${config}` })
  const place = { cwd: folder, home, env: { BATON_HOME: home, BATON_LOCAL_SERVERS: 'off', ...env } }
  const shared = overrides === undefined ? {} : { overrides }
  const logged: string[] = []
  const log = (text: string): void => void logged.push(text)
  const offered = await readOffers(names, { ...place, shared, log, ...defined({ answerMs }) })
  const listening = await listen(serveWeb(offered, defined({ mostSessions })), {
    port: 0,
    secret,
    ...defined({ limits }),
  })
  onTestFinished(() => listening.close())
  return { listening, home, folder, logged }
}

export type Era = 'newer' | 'older'

/** A client that knows the secret. */
export async function connectTo({ listening }: Served, era: Era, options: ClientOptions = {}): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { ...options, versionNegotiation: { mode: era === 'newer' ? 'auto' : 'legacy' } },
  )
  const requestInit = { headers: { authorization: `Bearer ${secret}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(listening.url), { requestInit }))
  onTestFinished(() => client.close())
  return client
}

/** The texts of a result. */
export const textOf = ({ content }: { readonly content: readonly object[] }): string =>
  content.map((part) => ('text' in part ? String(part.text) : '')).join('')
