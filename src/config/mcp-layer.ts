import { escapeReason } from '../base/link-escape.ts'
import { displayPath, realPath } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type ReadLog, readSource } from '../base/reads.ts'
import { type BatonError, isBatonError } from '../base/error.ts'
import { checkValue } from './check-settings.ts'
import { type Finding, type Issue, issuesOf, placeFindings } from '../settings/issue.ts'
import type { Layer } from './layers.ts'
import type { Surroundings } from './locate.ts'
import type { UnusedServers } from './unused-servers.ts'
import { type McpFile, placedInMcpFile, readMcpFile } from './mcp-file.ts'
import { checkPackPaths } from './mcp-pack-paths.ts'
import { checkServers } from '../settings/mcp-servers.ts'
import { trustState } from './trust.ts'

interface McpContext extends Surroundings {
  readonly workspace: string
  readonly reads?: ReadLog | undefined
}

interface McpLayer {
  readonly layer: Layer
  readonly issues: readonly Issue[]
  readonly notes: readonly Issue[]
  readonly leftOut: readonly UnusedServers[]
}

/**
 * The servers of a file as a layer of settings. Those of a workspace count once the user has trusted the file in its
 * current state. An untrusted file is no error, even if it is not JSON, because other programs have such files too. A
 * server that cannot be used is left out with the reason; the others are used.
 * @throws BatonError CONFIG_INVALID for invalid JSON in a trusted file, FILE_UNREADABLE
 */
export async function readMcpLayer(
  { path, kind }: { readonly path: string; readonly kind: 'user' | 'workspace' },
  context: McpContext,
): Promise<McpLayer> {
  const name = displayPath(realPath(context.cwd), path)
  const leaving = kind === 'workspace' ? escapeReason(path, { within: context.workspace, ...context }) : undefined
  if (leaving !== undefined) {
    const leftOut = [{ file: name, names: [], isChanged: false, problem: leaving }]
    return { layer: { origin: { kind, file: name }, values: {} }, issues: [], notes: [], leftOut }
  }
  const written = readSource(path, context.reads)
  const origin = { kind, file: name }
  const state = kind === 'user' ? 'trusted' : trustState({ path, content: mcpTrustText(written) }, context)
  const nothing = { layer: { origin, values: {} }, issues: [] }
  let file: McpFile
  try {
    file = readMcpFile(name, written)
  } catch (error) {
    if (state === 'trusted' || !isBatonError(error)) throw error
    const leftOut = [{ file: name, names: [], isChanged: false, problem: brokenText(error) }]
    return { ...nothing, notes: issuesOf(error), leftOut }
  }
  const { tables, issues, unusable } = await usableServers(file)
  const names = Object.keys(tables)
  if (state !== 'trusted') {
    const untrusted = { file: name, names, isChanged: state === 'changed' }
    return { ...nothing, notes: [], leftOut: [...(names.length === 0 ? [] : [untrusted]), ...unusable] }
  }
  const { locateValue: locate, text } = file
  const values = names.length === 0 ? {} : { mcp_servers: tables }
  const notes = [...issues, ...(await placeFindings(file.notes, file))]
  return { layer: { origin, values, locate, text }, issues: [], notes, leftOut: unusable }
}

function brokenText({ message, place }: BatonError): string {
  return place?.line === undefined ? message : `${message} (line ${place.line})`
}

/** The servers of a file that can be used, and why the others cannot. */
interface UsableServers {
  readonly tables: JsonObject
  readonly issues: readonly Issue[]
  readonly unusable: readonly UnusedServers[]
}

/** Checks each server of a file of the run or of a pack by itself. */
export async function usableServers(file: McpFile, of: 'run' | 'pack' = 'run'): Promise<UsableServers> {
  const { values, findings, unread, notes: _, ...source } = file
  const { mcp_servers: all = {} } = values
  const leftOut = { file: file.file, isChanged: false }
  const unusable: UnusedServers[] = findings.map(({ message }) => ({ ...leftOut, names: [], problem: message }))
  if (unread !== undefined) unusable.push({ ...leftOut, ...unread })
  const tables: { [name: string]: Json } = {}
  const wrong: Finding[] = [...findings]
  for (const [name, table] of Object.entries(isJsonObject(all) ? all : {})) {
    const found = checkOne(name, table, of)
    const [first] = found
    if (first === undefined) tables[name] = table
    else unusable.push({ ...leftOut, names: [name], problem: first.message })
    wrong.push(...found.map(placedInMcpFile))
  }
  return { tables, issues: await placeFindings(wrong, source), unusable }
}

function checkOne(name: string, table: Json, of: 'run' | 'pack'): readonly Finding[] {
  const server = { [name]: table }
  const wrong = checkValue('mcp_servers', server)
  return wrong.length > 0 ? wrong : [...checkServers(server), ...(of === 'pack' ? checkPackPaths(server) : [])]
}

/** The content of the file that counts for trust. */
export function mcpTrustText(written: string): string {
  return written.replace(/^\uFEFF/, '')
}
