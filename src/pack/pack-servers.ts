import { join } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import { escapeReason } from '../base/link-escape.ts'
import { type ReadLog, readSource } from '../base/reads.ts'
import { type Issue, issuesOf } from '../settings/issue.ts'
import { type Layer, originsOf, type SourcedValue } from '../config/layers.ts'
import type { UnusedServers, ServersOfPack } from '../config/unused-servers.ts'
import type { Surroundings } from '../config/locate.ts'
import { type McpFile, readMcpFile } from '../config/mcp-file.ts'
import { mcpTrustText, usableServers } from '../config/mcp-layer.ts'
import type { Settings } from '../config/settings.ts'
import { trustState } from '../config/trust.ts'
import { listPacks } from './find-pack.ts'
import { type OwningPack, packGrant } from './granted.ts'
import { manifestName } from './pack-manifest.ts'
import { mayHaveServers, serverFileOf } from './server-file.ts'

/** The MCP servers that a pack brings for its own agents. */
export interface PackServers extends ServersOfPack {
  readonly identity: string
  /** The folder of the pack: absolute. */
  readonly dir: string
  /** The servers that are used, as written. */
  readonly tables: NonNullable<Settings['mcp_servers']>
  /** Where those are written. */
  readonly origins: readonly SourcedValue[]
  /** Errors in the file: servers that cannot be used. */
  readonly notes: readonly Issue[]
}

interface Reading extends Surroundings {
  readonly reads?: ReadLog | undefined
}

/**
 * The servers of `.mcp.json` in the folder of a pack. A server is used if the capabilities of the pack name it, so that
 * whoever installs the pack is informed, and if the user has trusted the current content of the file. Other programs
 * have such files too: not being usable is no error. Undefined if the pack has no such file.
 * @throws BatonError CONFIG_INVALID for a trusted file that is not JSON, FILE_UNREADABLE
 */
export async function readPackServers(pack: OwningPack, context: Reading): Promise<PackServers | undefined> {
  const { identity, dir } = pack
  if (!mayHaveServers(pack, context.reads)) return undefined
  const path = serverFileOf(pack)
  const leaving = escapeReason(path, { within: dir, ...context })
  const nothing = { identity, dir, tables: {}, origins: [], names: [], notes: [] }
  if (leaving !== undefined) {
    const file = displayPath(realPath(context.cwd), path)
    return { ...nothing, leftOut: [{ file, names: [], isChanged: false, pack: identity, problem: leaving }] }
  }
  const written = readSource(path, context.reads)
  const { granted } = await packGrant(pack, context.reads)
  const shown = (file: string): string => displayPath(realPath(context.cwd), file)
  const name = shown(path)
  const isDeclared = (server: string): boolean => granted?.mcp.some((one) => one === '*' || one === server) === true
  const leftOut = (servers: readonly string[], state: 'changed' | 'untrusted' | 'trusted' | 'none') => {
    const declared = servers.filter(isDeclared)
    const others = servers.filter((server) => !isDeclared(server))
    const manifest = shown(join(dir, manifestName))
    return [
      ...named({
        file: name,
        names: state === 'trusted' ? [] : declared,
        isChanged: state === 'changed',
        pack: identity,
      }),
      ...named({ file: manifest, names: others, isChanged: false, pack: identity, isUndeclared: true }),
    ]
  }
  const state = trustState({ path, content: mcpTrustText(written) }, context)
  let file: McpFile
  try {
    file = readMcpFile(name, written)
  } catch (error) {
    if (state === 'trusted' || !isBatonError(error)) throw error
    return { ...nothing, leftOut: [], notes: issuesOf(error) }
  }
  const { tables: all, issues, unusable } = await usableServers(file, 'pack')
  const wrong = unusable.map((one) => ({ ...one, pack: identity }))
  if (state !== 'trusted') {
    return { ...nothing, leftOut: [...leftOut(Object.keys(all), state), ...wrong], notes: issues }
  }
  const used = Object.fromEntries(Object.entries(all).filter(([server]) => isDeclared(server)))
  const layer: Layer = {
    origin: { kind: 'workspace', file: name },
    values: { mcp_servers: used },
    locate: file.locateValue,
    text: file.text,
  }
  // they were checked above
  const tables = used as PackServers['tables']
  return {
    ...nothing,
    tables,
    origins: originsOf([layer]),
    names: Object.entries(tables).flatMap(([server, { enabled }]) => (enabled === false ? [] : [server])),
    leftOut: [...leftOut(Object.keys(all), state), ...wrong],
    notes: issues,
  }
}

function named(servers: UnusedServers): readonly UnusedServers[] {
  return servers.names.length === 0 ? [] : [servers]
}

/** Omits servers whose names are in the settings of a run: those of the user take precedence over those of packs. */
export function withoutNamed(found: PackServers, settings: Pick<Settings, 'mcp_servers'>): PackServers {
  const isFree = (name: string): boolean => settings.mcp_servers?.[name] === undefined
  return {
    ...found,
    tables: Object.fromEntries(Object.entries(found.tables).filter(([name]) => isFree(name))),
    names: found.names.filter(isFree),
    leftOut: found.leftOut.flatMap((one) =>
      one.names.length === 0 ? [one] : named({ ...one, names: one.names.filter(isFree) }),
    ),
  }
}

/**
 * The servers of the packs that are available by name, for displaying all of them. Errors are passed to `onProblem`;
 * without it, the first one is thrown.
 */
export async function readAllPackServers(
  packRoots: readonly string[],
  context: Reading,
  onProblem?: (error: unknown) => void,
): Promise<readonly PackServers[]> {
  const packs = listPacks({ packRoots }).filter((pack) => mayHaveServers(pack, context.reads))
  const found = await Promise.all(
    packs.map(async (pack) => {
      const root = packRoots.find((one) => pack.dir === join(one, pack.namespace, pack.name)) ?? pack.dir
      try {
        return await readPackServers({ ...pack, root }, context)
      } catch (error) {
        if (onProblem === undefined) throw error
        onProblem(error)
        return undefined
      }
    }),
  )
  return found.filter((one) => one !== undefined)
}
