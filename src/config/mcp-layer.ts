import { displayPath, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { isJsonObject, type JsonObject } from '../base/json.ts'
import { type ReadLog, readSource } from '../base/reads.ts'
import { isBatonError } from '../base/error.ts'
import { checkValue } from './check-settings.ts'
import { type Finding, type Issue, issuesOf, placeFindings } from './issue.ts'
import type { Layer } from './layers.ts'
import type { Surroundings } from './locate.ts'
import type { LeftOutServers } from './left-out-servers.ts'
import { type McpFile, placedInMcpFile, readMcpFile } from './mcp-file.ts'
import { checkPackPaths } from './mcp-pack-paths.ts'
import { checkServers } from './mcp-servers.ts'
import { trustState } from './trust.ts'

interface McpContext extends Surroundings {
  readonly reads?: ReadLog | undefined
}

interface McpLayer {
  readonly layer: Layer
  readonly issues: readonly Issue[]
  readonly notes: readonly Issue[]
  readonly leftOut?: LeftOutServers
}

/**
 * The servers of a file as a layer of settings. Those of a workspace count once the user has trusted the file in its
 * current state. An untrusted file is no error, even if it is not JSON, because other programs have such files too.
 * @throws BatonError CONFIG_INVALID for invalid JSON, FILE_UNREADABLE
 */
export async function readMcpLayer(
  { path, kind }: { readonly path: string; readonly kind: 'user' | 'workspace' },
  context: McpContext,
): Promise<McpLayer> {
  const name = displayPath(realPath(context.cwd), path)
  const written = readSource(path, context.reads)
  const origin = { kind, file: name }
  const state = kind === 'user' ? 'trusted' : trustState({ path, hash: mcpTrustHash(written) }, context)
  if (state === 'trusted') {
    const file = readMcpFile(name, written)
    const { values, locateValue: locate, text } = file
    return {
      layer: { origin, values, locate, text },
      issues: await issuesIn(file),
      notes: await placeFindings(file.notes, file),
    }
  }
  const nothing = { layer: { origin, values: {} }, issues: [] }
  try {
    const { values } = readMcpFile(name, written)
    const names = isJsonObject(values['mcp_servers']) ? Object.keys(values['mcp_servers']) : []
    if (names.length === 0) return { ...nothing, notes: [] }
    return { ...nothing, notes: [], leftOut: { file: name, names, isChanged: state === 'changed' } }
  } catch (error) {
    if (!isBatonError(error)) throw error
    return { ...nothing, notes: issuesOf(error) }
  }
}

/** Problems with the servers of a file of the run or of a pack, each with its place. */
export async function issuesIn(file: McpFile, of: 'run' | 'pack' = 'run'): Promise<readonly Issue[]> {
  const { values, findings, notes: _, ...source } = file
  const { mcp_servers: servers = {} } = values
  const wrong = checkValue('mcp_servers', servers)
  const inside = wrong.length === 0 && isJsonObject(servers) ? [...checkServers(servers), ...pathsIn(servers)] : wrong
  return placeFindings([...findings, ...inside.map(placedInMcpFile)], source)

  function pathsIn(tables: JsonObject): readonly Finding[] {
    return of === 'pack' ? checkPackPaths(tables) : []
  }
}

/** The hash of the whole file, for trust. */
export function mcpTrustHash(written: string): string {
  return sha256(written.replace(/^\uFEFF/, ''))
}
