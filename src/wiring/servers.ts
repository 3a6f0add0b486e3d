import { manyListeners } from '../base/concurrency.ts'
import { defined } from '../base/json.ts'
import { leaderOf } from '../base/process-group.ts'
import type { ReadLog } from '../base/reads.ts'
import type { UnusedServers } from '../config/unused-servers.ts'
import type { Bus } from '../event/bus.ts'
import type { McpServer, McpServers } from '../event/mcp.ts'
import { item, part, placeText } from '../event/place.ts'
import type { RunJournal } from '../journal/journal.ts'
import { knownLogins } from '../mcp/auth/known-login.ts'
import { joinServers } from '../mcp/joined-servers.ts'
import { serversOf } from '../mcp/server-of.ts'
import { createChatServers } from '../mcp/chat-servers.ts'
import { createMcpServers } from '../mcp/servers.ts'
import type { OwningPack } from '../pack/granted.ts'
import { readPackServers, withoutNamed } from '../pack/pack-servers.ts'
import { recordServers } from '../run/recorded-servers.ts'
import { unusedServersOf, originsOf, type Target } from '../load/target.ts'
import { version } from '../version.ts'
import type { SessionResources } from './session-resources.ts'

export interface ServersParts {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly cwd: string
  readonly reads: ReadLog
  readonly journal: Pick<RunJournal, 'failure' | 'note' | 'push'>
  readonly bus: Pick<Bus, 'send'>
  readonly signal: AbortSignal | undefined
  /** Whose servers outlive the run; undefined: nobody's. */
  readonly session: SessionResources | undefined
}

/** The MCP servers of a run; none of them is started yet. */
export function openServers(target: Target, parts: ServersParts): McpServers {
  const { workspace, settings } = target
  const servers = serversOf({ settings, origins: originsOf(target), workspace, env: parts.env })
  recordServers(servers, parts.journal)
  return withUnused(openService(servers, target, parts), unusedServersOf(target))
}

/**
 * The servers of a run plus those that a pack brings for its agents: none of them is started yet. A server of the run's
 * settings replaces one of the pack with the same name. `opened` has to be closed; undefined if the pack brings none.
 * @throws BatonError CONFIG_INVALID, FILE_UNREADABLE for errors in the pack
 */
export async function openPackServers(
  pack: OwningPack,
  { target, ofRun }: { readonly target: Target; readonly ofRun: McpServers | undefined },
  parts: ServersParts,
): Promise<{ readonly joined: McpServers; readonly opened: McpServers } | undefined> {
  const found = await readPackServers(pack, parts)
  if (found === undefined) return undefined
  const { tables, origins, leftOut } = withoutNamed(found, target.settings)
  const { workspace } = target
  const servers = serversOf({ settings: { mcp_servers: tables }, origins, workspace, env: parts.env, pack })
  recordServers(servers, parts.journal, pack.identity)
  const opened = withUnused(openService(servers, target, parts, pack.identity), leftOut)
  return { joined: joinServers(ofRun, opened), opened }
}

function openService(
  servers: readonly McpServer[],
  { workspace }: Pick<Target, 'workspace'>,
  { env, home, journal, bus, signal, session }: ServersParts,
  pack?: string,
): McpServers {
  const kept = session?.servers(createChatServers)
  kept?.keepOnly(servers, pack)
  return createMcpServers({
    version,
    env,
    servers,
    roots: [workspace],
    authProvider: knownLogins({ env, home }),
    ...defined({ kept }),
    signal: signal === undefined ? manyListeners(journal.failure) : AbortSignal.any([journal.failure, signal]),
    noteProcess(pid, name) {
      // it belongs to no effect: the first one that needs the server starts it for all
      journal.note({ k: 'process', p: placeText([part('mcp'), item(name)]), s: 0, ...leaderOf(pid), stays: true })
      journal.push()
      session?.noteServer(name, pid)
    },
    onNotice({ server, level, text }) {
      if (level === 'warning') bus.send([], { type: 'warning', message: `MCP server ${server}: ${text}` })
    },
  })
}

function withUnused(service: McpServers, files: readonly UnusedServers[]): McpServers {
  const leftOut = new Map(files.flatMap(({ names, ...why }) => names.map((name) => [name, why] as const)))
  return leftOut.size === 0 ? service : { ...service, leftOut }
}
