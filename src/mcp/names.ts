import { sha256 } from '../base/hash.ts'
import type { UnusedServers } from '../config/unused-servers.ts'
import type { McpServer, McpServers, McpTool } from '../event/mcp.ts'
import type { ToolFilter } from '../event/permission.ts'

/** A tool of a server with the name that models see. */
export interface NamedTool {
  readonly name: string
  readonly tool: McpTool
}

/** A server's name in messages and on the command line: `files`, `namespace@pack:files`. */
export function fullName({ name, pack }: Pick<McpServer, 'name' | 'pack'>): string {
  return pack === undefined ? name : `${pack}:${name}`
}

/** The names of the servers that an agent has, and of those that are left out. */
export function serverNamesOf(mcp: McpServers | undefined): {
  readonly servers: readonly string[]
  readonly leftOut: readonly UnusedServers[]
} {
  return {
    servers: mcp?.servers.map(({ name }) => name) ?? [],
    leftOut: [...(mcp?.leftOut ?? [])].map(([name, why]) => ({ ...why, names: [name] })),
  }
}

/** Maximum characters of a name that all model providers accept. */
const mostCharacters = 64
const hashLength = 8

/**
 * Unique names that all model providers accept: `server__tool`, with `_` for every character other than letters,
 * digits, `-` and `_`. A name that is too long, or that collides with another tool of the list, ends in a hash. The
 * same list gives the same names. Of tools with the same name only the first is kept.
 */
export function nameTools(server: string, tools: readonly McpTool[]): readonly NamedTool[] {
  const first = tools.filter(({ name }, index) => tools.findIndex((other) => other.name === name) === index)
  const plain = first.map(({ name }) => `${server}__${cleaned(name)}`)
  // a tool whose name needs no change keeps it, wherever it is in the list
  const kept = new Set(first.flatMap(({ name }, index) => (cleaned(name) === name ? [plain[index]] : [])))
  return first.map((tool, index) => {
    const name = plain[index] ?? ''
    const isOwn = cleaned(tool.name) === tool.name
    const isShared = !isOwn && (kept.has(name) || plain.indexOf(name) !== plain.lastIndexOf(name))
    const isUsable = !isShared && name.length <= mostCharacters && tool.name !== ''
    return { tool, name: isUsable ? name : hashed(name, [server, tool.name]) }
  })
}

function cleaned(name: string): string {
  return name.replaceAll(/[^\w-]/g, '_')
}

function hashed(name: string, of: readonly string[]): string {
  return `${name.slice(0, mostCharacters - hashLength - 1)}_${sha256(JSON.stringify(of)).slice(0, hashLength)}`
}

/**
 * The server whose tools a name or pattern selects; undefined if it selects tools of no known server, or of several.
 */
export function serverNamed(pattern: string, servers: readonly string[]): string | undefined {
  const meant = servers.filter((server) => spellings(pattern).some((text) => text.startsWith(`${server}__`)))
  // one server's name may be a prefix of another's
  return meant.toSorted((left, right) => right.length - left.length)[0]
}

/**
 * The server that a name or pattern refers to, whether it exists or not; undefined if it refers to none, or to several.
 */
export function writtenServer(pattern: string): string | undefined {
  const rest = pattern.startsWith('mcp__') ? pattern.slice('mcp__'.length) : pattern
  const text = /__|\*/.test(rest) ? rest : pattern
  const [server = '', tool] = text.split('__')
  return tool === undefined || server === '' || server.includes('*') ? undefined : server
}

/** Whether a name or pattern may match a tool of a server, as far as can be known without its list. */
export function mayMatch(pattern: string, server: string): boolean {
  const prefix = `${server}__`
  return spellings(pattern).some((text) => {
    const [head = ''] = text.split('*')
    if (head === text) return text.startsWith(prefix)
    return head.startsWith(prefix) || prefix.startsWith(head)
  })
}

/** Whether a pattern matches every tool of a server. */
export function matchesAll(pattern: string, server: string): boolean {
  const prefix = `${server}__`
  return spellings(pattern).some((text) => {
    const head = text.slice(0, -1)
    return text.endsWith('*') && !head.includes('*') && prefix.startsWith(head)
  })
}

/** Whether a filter may pass a tool of a server, as far as can be known without its list. */
export function mayPass({ tools, disallowed_tools: disallowed = [] }: ToolFilter, server: string): boolean {
  return (
    (tools === undefined || tools.some((pattern) => mayMatch(pattern, server))) &&
    !disallowed.some((pattern) => matchesAll(pattern, server))
  )
}

/** `mcp__server__tool` is `server__tool`, unless the server is named `mcp`. */
function spellings(pattern: string): readonly string[] {
  return pattern.startsWith('mcp__') ? [pattern, pattern.slice('mcp__'.length)] : [pattern]
}
