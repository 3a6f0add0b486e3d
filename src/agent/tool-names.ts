import type { DataPath } from '../base/data-text.ts'
import { BatonError } from '../base/error.ts'
import { leftOutCode, leftOutHint, type LeftOutServers, leftOutText } from '../config/left-out-servers.ts'
import { type Finding, meantHint, wrongValue } from '../config/issue.ts'
import { nearest } from '../base/suggest.ts'
import type { RunContext } from '../event/context.ts'
import type { ToolFilter } from '../event/permission.ts'
import { mayLetThrough, serverNamed, serverNamesOf, writtenServer } from '../mcp/names.ts'
import { isServerTool, passesFilters } from '../tool/tool-filter.ts'
import { factsOf, isTeamTool, toolNames } from '../tool/toolbox/names.ts'

/** What tools there are besides those that Baton brings. */
export interface OtherTools {
  /** Of plug-ins. */
  readonly brought?: readonly string[]
  /** Names of MCP servers; left out: they are not known here. */
  readonly servers?: readonly string[]
  /** Servers that are not used, because their file is not trusted. */
  readonly leftOut?: readonly LeftOutServers[]
}

/**
 * What is wrong with a list of tools at `path`: names that no tool has, and servers that no settings name. Which tools a server has (`server__tool`), and what patterns mean, is not known before they are used.
 */
export function unknownTools(names: readonly string[], path: DataPath, others: OtherTools = {}): readonly Finding[] {
  const { brought = [], servers } = others
  return names.flatMap((name, index): readonly Finding[] => {
    const at = [...path, index]
    const server = unknownServer(name, others)
    if (server !== undefined) return [{ ...wrongValue(at, server), ...server }]
    if (isKnown(name) || brought.includes(name)) return []
    const all = [...toolNames, ...brought]
    const known = servers?.includes(name)
      ? `Write "${name}__*" for all tools of the server.`
      : meantHint(name, all, `Known tools: ${all.join(', ')}.`)
    return [wrongValue(at, { message: `unknown tool "${name}"`, hint: known })]
  })
}

/** The same for tools that may not be used: one of a server that is not there may be named, unless its name resembles that of one that is. */
export function unknownDisallowed(
  names: readonly string[],
  path: DataPath,
  others: OtherTools = {},
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
  { servers, leftOut = [] }: OtherTools,
): Pick<Finding, 'code' | 'message' | 'hint'> | undefined {
  if (servers === undefined || serverNamed(name, servers) !== undefined) return undefined
  const file = leftOut.find(({ names }) => serverNamed(name, names) !== undefined)
  if (file !== undefined) {
    const message = `"${name}" cannot be used: ${leftOutText({ ...file, names: [serverNamed(name, file.names) ?? ''] })}`
    return { code: leftOutCode(file), message, hint: leftOutHint(file) }
  }
  const server = writtenServer(name)
  if (server === undefined) return undefined
  const known =
    servers.length === 0
      ? `No MCP server is configured: docs/mcp.md says how.`
      : `Servers are ${servers.join(', ')}; baton mcp list shows them.`
  return {
    code: 'CONFIG_INVALID',
    message: `"${name}" is of the MCP server "${server}", which is not configured`,
    hint: meantHint(server, servers, known),
  }
}

function isKnown(name: string): boolean {
  return name.includes('*') || isServerTool(name) || isTeamTool(name) || (toolNames as readonly string[]).includes(name)
}

/** @throws BatonError CONFIG_INVALID for the first that is unknown; `of` says whose options they are */
export function refuseUnknownTools(names: readonly string[], of: string, others: OtherTools = {}): void {
  const [finding] = unknownTools(names, [], others)
  if (finding === undefined) return
  throw new BatonError(finding.code, `options of ${of}: ${finding.message}`, { hint: finding.hint })
}

/** What tools there are besides in a run. Who plans one looks at servers where their names are written. */
export function otherToolsIn({ services: { broughtTools = [], mcp, isPlan } }: RunContext): OtherTools {
  return {
    brought: broughtTools.map(({ name }) => name),
    ...(isPlan === true ? {} : serverNamesOf(mcp)),
  }
}

interface ToolSettings extends ToolFilter, OtherTools {
  /** Whether tools that change files may be offered. What tools of plug-ins and servers change is their affair. */
  readonly writes: boolean
}

/** Whether a model may be given tools, as far as the settings alone say. */
export function mayGiveTools({
  tools = [],
  disallowed_tools,
  writes,
  brought = [],
  servers = [],
}: ToolSettings): boolean {
  const filter = { tools, disallowed_tools }
  const offered = toolNames.filter((name) => writes || factsOf(name).writes !== true)
  return (
    [...offered, ...brought].some((name) => passesFilters(name, [filter])) ||
    servers.some((server) => mayLetThrough(filter, server))
  )
}
