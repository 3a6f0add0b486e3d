import { BatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import { isServerName } from '../config/mcp-servers.ts'
import type { McpServer, McpServers } from '../event/mcp.ts'
import { item, part, placeText } from '../event/place.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { RunIndex } from '../journal/run-index.ts'

/** What of a server decides how a run goes on; how it is reached stays out of the record. */
type RecordedServer = Pick<McpServer, 'name' | 'isTrusted' | 'pack'>

/** `pack`: of the servers that a pack brings, its identity. */
function placeFor(pack?: string): string {
  return placeText([part('mcp'), item('servers'), ...(pack === undefined ? [] : [item(pack)])])
}

/**
 * Notes which MCP servers a run has, or a pack brings for its agents, so that a replay needs none of them to be configured.
 */
export function recordServers(servers: readonly McpServer[], journal: Pick<RunJournal, 'note'>, pack?: string): void {
  const value = servers.map(({ name, isTrusted }): RecordedServer => ({ name, isTrusted }))
  journal.note({ k: 'obs', p: placeFor(pack), name: 'mcp.servers', args: [], status: 'ok', value })
}

/**
 * The servers of a recorded run, or those that a pack brought for its agents; undefined where it had none. None of them can be asked:
 * all that they gave is in the record.
 */
export function recordedServers({ tree, source }: RunIndex, pack?: string): McpServers | undefined {
  const location = tree.find(placeFor(pack))?.answer
  const record = location === undefined ? undefined : source.at(location)
  if (record?.k !== 'obs' || record.status !== 'ok') return undefined
  const servers = (source.value(record.value) as readonly RecordedServer[])
    // records of others may say anything
    .filter(({ name }) => isServerName(name))
    .map(({ name, isTrusted }) => ({ name, isTrusted: isTrusted === true, ...defined({ pack }) }))
  return silentServers(servers, () => {
    throw new BatonError('MCP_FAILED', 'a replayed run asks no MCP server')
  })
}

/** Servers that have names and nothing else: whatever they are asked for is refused. */
export function silentServers(servers: readonly RecordedServer[], refuse: () => never): McpServers {
  // what is no promise would break callers that wait for many
  const later = async (): Promise<never> => refuse()
  const nothing = { transport: refuse, startMs: 0, toolMs: 0, sampling: false, origin: 'the record' } as const
  return {
    servers: servers.map((server) => ({ ...nothing, ...server })),
    tools: later,
    resources: later,
    prompts: later,
    call: later,
    read: later,
    prompt: later,
    about: () => undefined,
    close: async () => undefined,
  }
}
