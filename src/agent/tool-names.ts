import type { DataPath } from '../base/data-text.ts'
import { BatonError } from '../base/error.ts'
import { unusedServerCode, unusedServerHint, type UnusedServers, unusedServersText } from '../config/unused-servers.ts'
import { type Finding, suggestionHint, wrongValue } from '../settings/issue.ts'
import { nearest } from '../base/suggest.ts'
import { type Approver, type ContextWith, emit, type Events, type Servers } from '../event/context.ts'
import type { ToolFilter } from '../event/permission.ts'
import { mayPass, serverNamed, serverNamesOf, writtenServer } from '../mcp/names.ts'
import { isServerTool, passesFilters } from '../tool/tool-filter.ts'
import { isSearchTool, isTeamTool, isWriter, toolNames } from '../tool/toolbox/rows.ts'

/** The tools that exist besides the built-in ones. */
export interface ExternalTools {
  /** Tools of plug-ins. */
  readonly brought?: readonly string[]
  /** Names of MCP servers. If omitted, they are unknown and not checked. */
  readonly servers?: readonly string[]
  /** Servers that are ignored because their file is not trusted. */
  readonly leftOut?: readonly UnusedServers[]
  /** In a resumed or replayed run: names of tools that the version that recorded it had. */
  readonly isRecordedTool?: ((name: string) => boolean) | undefined
}

/**
 * The problems of a list of tools at `path`: unknown tools, and servers that no settings configure. The tools of a
 * server (`server__tool`) and matches of patterns are only known at run time.
 */
export function unknownTools(names: readonly string[], path: DataPath, others: ExternalTools = {}): readonly Finding[] {
  const { brought = [], servers, isRecordedTool } = others
  return names.flatMap((name, index): readonly Finding[] => {
    const at = [...path, index]
    const server = unknownServer(name, others)
    if (server !== undefined) return [{ ...wrongValue(at, server), ...server }]
    if (isKnown(name) || brought.includes(name) || isRecordedTool?.(name) === true) return []
    const all = [...toolNames, ...brought]
    const known = servers?.includes(name)
      ? `Write "${name}__*" for all tools of the server.`
      : suggestionHint(name, all, `Known tools: ${all.join(', ')}.`)
    return [wrongValue(at, { message: `unknown tool "${name}"`, hint: known })]
  })
}

/**
 * The same for disallowed tools: a server that is not configured is fine, unless its name resembles that of a
 * configured one.
 */
export function unknownDisallowed(
  names: readonly string[],
  path: DataPath,
  others: ExternalTools = {},
): readonly Finding[] {
  const { servers = [] } = others
  return unknownTools(names, path, others).filter(({ path: [...at] }) => {
    const name = names[Number(at.at(-1))] ?? ''
    const server = writtenServer(name)
    return server === undefined || nearest(server, servers) !== undefined
  })
}

function unknownServer(
  name: string,
  { servers, leftOut = [] }: ExternalTools,
): Pick<Finding, 'code' | 'message' | 'hint'> | undefined {
  if (servers === undefined || serverNamed(name, servers) !== undefined) return undefined
  const file = leftOut.find(({ names }) => serverNamed(name, names) !== undefined)
  if (file !== undefined) {
    const message = `"${name}" cannot be used: ${unusedServersText({ ...file, names: [serverNamed(name, file.names) ?? ''] })}`
    return { code: unusedServerCode(file), message, hint: unusedServerHint(file) }
  }
  const server = writtenServer(name)
  if (server === undefined) return undefined
  const unread = leftOut.find(({ names }) => names.length === 0)
  if (unread !== undefined) {
    const message = `"${name}" belongs to the MCP server "${server}", which is not configured, and ${unusedServersText(unread)}`
    return { code: 'CONFIG_INVALID', message, hint: unusedServerHint(unread) }
  }
  const known =
    servers.length === 0
      ? `No MCP server is configured: see docs/mcp.md.`
      : `Configured servers: ${servers.join(', ')}; see baton mcp list.`
  return {
    code: 'CONFIG_INVALID',
    message: `"${name}" belongs to the MCP server "${server}", which is not configured`,
    hint: suggestionHint(server, servers, known),
  }
}

function isKnown(name: string): boolean {
  return (
    name.includes('*') ||
    isServerTool(name) ||
    isTeamTool(name) ||
    isSearchTool(name) ||
    (toolNames as readonly string[]).includes(name)
  )
}

/** @throws BatonError CONFIG_INVALID for the first unknown tool; `of` names the owner of the options */
export function refuseUnknownTools(names: readonly string[], of: string, others: ExternalTools = {}): void {
  const [finding] = unknownTools(names, [], others)
  if (finding === undefined) return
  throw new BatonError(finding.code, `options of ${of}: ${finding.message}`, { hint: finding.hint })
}

/** The other tools in a run. A plan checks servers where their names are written. */
export function externalToolsIn({
  broughtTools = [],
  mcp,
  isPlan,
  isRecordedTool,
}: Servers & Pick<Approver, 'isPlan'>): ExternalTools {
  return {
    isRecordedTool,
    brought: broughtTools.map(({ name }) => name),
    ...(isPlan === true ? {} : serverNamesOf(mcp)),
  }
}

interface ToolSettings extends ToolFilter, ExternalTools {
  /** Whether tools that change files may be offered; does not apply to tools of plug-ins and servers. */
  readonly writes: boolean
}

/** Whether a model may get tools, judging by the settings alone. */
export function mayGiveTools({
  tools = [],
  disallowed_tools,
  writes,
  brought = [],
  servers = [],
}: ToolSettings): boolean {
  const filter = { tools, disallowed_tools }
  const offered = toolNames.filter((name) => writes || !isWriter(name))
  return (
    [...offered, ...brought].some((name) => passesFilters(name, [filter])) ||
    servers.some((server) => mayPass(filter, server))
  )
}

/** Warns about explicitly named tools that an agent does not get because the file that runs it does not have them. */
export function warnOfWithheldTools(
  { tools = [] }: ToolFilter,
  name: string,
  context: ContextWith<'at' | 'rights', Events>,
): void {
  const kept = tools.filter((tool) => !tool.includes('*') && !passesFilters(tool, context.scope.rights.tools))
  if (kept.length === 0) return
  const message = `${name} is not given ${kept.length === 1 ? 'the tool' : 'the tools'} ${kept.join(', ')}: the file that runs it does not have ${kept.length === 1 ? 'it' : 'them'}`
  emit(context, { type: 'warning', message, hint: 'Add it to tools of that file, or remove it from disallowed_tools.' })
}
