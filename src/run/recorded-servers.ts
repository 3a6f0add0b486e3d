import { BatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import { isServerName } from '../settings/mcp-servers.ts'
import type { McpServer, McpServers } from '../event/mcp.ts'
import { item, part, placeText } from '../event/place.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { RunIndex } from '../journal/run-index.ts'

/** The properties of a server that affect a run; how it is reached is not recorded. */
type RecordedServer = Pick<McpServer, 'name' | 'isTrusted' | 'pack'>

/** `pack`: the identity of the pack that provides the servers. */
function placeFor(pack?: string): string {
  return placeText([part('mcp'), item('servers'), ...(pack === undefined ? [] : [item(pack)])])
}

/**
 * Records which MCP servers a run has, or a pack provides for its agents, so that a replay works without configuring
 * them.
 */
export function recordServers(servers: readonly McpServer[], journal: Pick<RunJournal, 'note'>, pack?: string): void {
  const value = servers.map(({ name, isTrusted }): RecordedServer => ({ name, isTrusted }))
  journal.note({ k: 'obs', p: placeFor(pack), name: 'mcp.servers', args: [], status: 'ok', value })
}

/**
 * The servers of a recorded run, or those that a pack provided for its agents; undefined if it had none. They cannot be
 * called: all their results are in the record.
 */
export function recordedServers({ tree, source }: RunIndex, pack?: string): McpServers | undefined {
  const location = tree.find(placeFor(pack))?.answer
  const record = location === undefined ? undefined : source.at(location)
  if (record?.k !== 'obs' || record.status !== 'ok') return undefined
  const servers = (source.value(record.value) as readonly RecordedServer[])
    // records from elsewhere may contain anything
    .filter(({ name }) => isServerName(name))
    .map(({ name, isTrusted }) => ({ name, isTrusted: isTrusted === true, ...defined({ pack }) }))
  return refusingServers(servers, () => {
    throw new BatonError('MCP_FAILED', 'a replayed run calls no MCP server')
  })
}

/** Servers that only have names: every call is refused. */
export function refusingServers(servers: readonly RecordedServer[], refuse: () => never): McpServers {
  // as a promise, because callers wait for many at once
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
