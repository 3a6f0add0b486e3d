import type { Settings } from '../config/settings.ts'
import type { McpServers } from '../event/mcp.ts'
import type { OwningPack } from '../pack/granted.ts'
import { isAnyTrusted, mayHaveServers } from '../pack/server-file.ts'
import { unusedServersOf, type Target } from '../load/target.ts'
import type { Replay } from './run-effects.ts'
import type { ServersParts } from './servers.ts'

export interface RunServers {
  /** The servers of the settings; undefined: none. */
  readonly ofRun: McpServers | undefined
  /** The servers for the agents of a pack, or for agents outside packs. None of them is started yet. */
  readonly of: (pack: OwningPack | undefined) => Promise<McpServers | undefined>
  readonly close: () => Promise<void>
}

/** Runs without servers load no server code. */
export async function openRunServers(target: Target, parts: ServersParts): Promise<RunServers> {
  const isNeeded = target.settings.mcp_servers !== undefined || unusedServersOf(target).length > 0
  const ofRun = isNeeded ? (await import('./servers.ts')).openServers(target, parts) : undefined
  if (!isNeeded) parts.session?.openServers()?.keepOnly([])
  const opened: McpServers[] = ofRun === undefined ? [] : [ofRun]
  let isClosed = false

  async function openFor(pack: OwningPack): Promise<McpServers | undefined> {
    if (!mayHaveServers(pack, parts.reads)) return ofRun
    const { openPackServers } = await import('./servers.ts')
    const found = await openPackServers(pack, { target, ofRun }, parts)
    if (found === undefined) return ofRun
    if (isClosed) await found.opened.close()
    opened.push(found.opened)
    return found.joined
  }

  return {
    ofRun,
    of: byPack(ofRun, openFor),
    async close() {
      isClosed = true
      await Promise.all(opened.map((service) => service.close()))
    },
  }
}

/** The servers of a recorded run, which cannot be called. */
export function replayedServers({ mcp: ofRun, mcpOfPack }: Pick<Replay, 'mcp' | 'mcpOfPack'>): RunServers {
  return {
    ofRun,
    of: byPack(ofRun, async ({ identity }) => {
      const ofPack = mcpOfPack?.(identity)
      return ofPack === undefined ? ofRun : (await import('../mcp/joined-servers.ts')).joinServers(ofRun, ofPack)
    }),
    close: async () => ofRun?.close(),
  }
}

/**
 * The servers that packs may bring to a run, unresolved: their secrets must be known before anything is recorded.
 * Errors in one are reported when it is needed.
 */
export async function serversOfPacks(
  { packRoots }: Pick<Target, 'packRoots'>,
  around: Pick<ServersParts, 'env' | 'home' | 'cwd' | 'reads'>,
): Promise<NonNullable<Settings['mcp_servers']>> {
  if (!isAnyTrusted(around)) return {}
  const { readAllPackServers } = await import('../pack/pack-servers.ts')
  const found = await readAllPackServers(packRoots, around, () => undefined)
  return Object.fromEntries(
    found.flatMap(({ identity: pack, tables }) =>
      Object.entries(tables).map(([name, table]) => [`${pack}:${name}`, table] as const),
    ),
  )
}

/** Opens the servers of each pack once. */
function byPack(
  ofRun: McpServers | undefined,
  open: (pack: OwningPack) => Promise<McpServers | undefined>,
): RunServers['of'] {
  const known = new Map<string, Promise<McpServers | undefined>>()
  return async (pack) => {
    if (pack === undefined) return ofRun
    const found = known.get(pack.dir) ?? open(pack)
    known.set(pack.dir, found)
    return found
  }
}
