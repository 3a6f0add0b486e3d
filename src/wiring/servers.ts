import { manyListeners } from '../base/concurrency.ts'
import { leaderOf } from '../base/process-group.ts'
import type { Bus } from '../event/bus.ts'
import type { McpServers } from '../event/mcp.ts'
import type { RunJournal } from '../journal/journal.ts'
import { knownLogins } from '../mcp/auth/known-login.ts'
import { serversOf } from '../mcp/server-of.ts'
import { createMcpServers } from '../mcp/servers.ts'
import { recordServers } from '../run/recorded-servers.ts'
import { leftOutOf, originsOf, type Target } from '../run/target.ts'
import { version } from '../version.ts'

interface ServersParts {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly journal: Pick<RunJournal, 'failure' | 'note' | 'push'>
  readonly bus: Pick<Bus, 'send'>
  readonly signal: AbortSignal | undefined
}

/** The MCP servers of a run; none of them is started yet. */
export function openServers(target: Target, { env, home, journal, bus, signal }: ServersParts): McpServers {
  const { workspace, settings } = target
  const service = createMcpServers({
    version,
    env,
    servers: serversOf({ settings, origins: originsOf(target), workspace, env }),
    roots: [workspace],
    authProvider: knownLogins({ env, home }),
    signal: signal === undefined ? manyListeners(journal.failure) : AbortSignal.any([journal.failure, signal]),
    noteProcess(pid, name) {
      // it belongs to no effect: the first that needs the server has started it for all
      journal.note({ k: 'process', p: `mcp/${name}`, s: 0, ...leaderOf(pid), stays: true })
      journal.push()
    },
    onNotice({ server, level, text }) {
      if (level === 'warning') bus.send([], { type: 'warning', message: `MCP server ${server}: ${text}` })
    },
  })
  recordServers(service.servers, journal)
  const leftOut = new Map(leftOutOf(target).flatMap(({ file, names }) => names.map((name) => [name, file] as const)))
  return leftOut.size === 0 ? service : { ...service, leftOut }
}
