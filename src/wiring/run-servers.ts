import type { Settings } from '../config/settings.ts'
import type { McpServers } from '../event/mcp.ts'
import type { OwningPack } from '../pack/granted.ts'
import { isAnyTrusted, mayHaveServers } from '../pack/server-file.ts'
import { leftOutOf, type Target } from '../run/target.ts'
import type { Replay } from './run-effects.ts'
import type { ServersParts } from './servers.ts'

/** The MCP servers of a run, for each of its agents. */
export interface RunServers {
  /** Those of the settings; undefined: there are none. */
  readonly ofRun: McpServers | undefined
  /** What the agents of a pack have, and what those of none have. None of them is started yet. */
  readonly of: (pack: OwningPack | undefined) => Promise<McpServers | undefined>
  /** Ends all of them. */
  readonly close: () => Promise<void>
}

/** Runs without servers load nothing for them. */
export async function openRunServers(target: Target, parts: ServersParts): Promise<RunServers> {
  const isNeeded = target.settings.mcp_servers !== undefined || leftOutOf(target).length > 0
  const ofRun = isNeeded ? (await import('./servers.ts')).openServers(target, parts) : undefined
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

/** Those of a recorded run, none of which can be asked. */
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
 * The servers that packs may bring to a run, as they are written: their secrets are to be known before anything is recorded. What is
 * wrong with one is said when it is needed.
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

/** Each pack is looked at once. */
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
