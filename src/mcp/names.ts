import { sha256 } from '../base/hash.ts'
import type { LeftOutServers } from '../config/left-out-servers.ts'
import type { McpServer, McpServers, McpTool } from '../event/mcp.ts'
import type { ToolFilter } from '../event/permission.ts'

/** A tool of a server with the name that models know it by. */
export interface NamedTool {
  readonly name: string
  readonly tool: McpTool
}

/** How people are told of a server, and name it on the command line: `files`, `namespace@pack:files`. */
export function fullName({ name, pack }: Pick<McpServer, 'name' | 'pack'>): string {
  return pack === undefined ? name : `${pack}:${name}`
}

/** The servers that an agent has, and those that it would have, by name. */
export function serverNamesOf(mcp: McpServers | undefined): {
  readonly servers: readonly string[]
  readonly leftOut: readonly LeftOutServers[]
} {
  return {
    servers: mcp?.servers.map(({ name }) => name) ?? [],
    leftOut: [...(mcp?.leftOut ?? [])].map(([name, why]) => ({ ...why, names: [name] })),
  }
}

/** Characters of a name: what all hosts of models take. */
const mostCharacters = 64
const hashLength = 8

/**
 * Names that are unique, and that all hosts take: `server__tool` (R308), with `_` for what is neither a letter nor a digit, `-` or
 * `_`. One that is too long, or that another tool of the list has then, ends in a hash. The same list gives the same names. Of
 * tools with the same name the first counts.
 */
export function nameTools(server: string, tools: readonly McpTool[]): readonly NamedTool[] {
  const first = tools.filter(({ name }, index) => tools.findIndex((other) => other.name === name) === index)
  const plain = first.map(({ name }) => `${server}__${cleaned(name)}`)
  // a tool whose name needs no change keeps it, wherever in the list it stands
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

/** Of a name or pattern that stands for tools of one server: that server; undefined: it means others, or several. */
export function serverNamed(pattern: string, servers: readonly string[]): string | undefined {
  const meant = servers.filter((server) => spellings(pattern).some((text) => text.startsWith(`${server}__`)))
  // the name of a server may begin with that of another
  return meant.toSorted((left, right) => right.length - left.length)[0]
}

/** The server that a name or pattern speaks of, whether there is one or not; undefined: it means others, or several. */
export function writtenServer(pattern: string): string | undefined {
  const rest = pattern.startsWith('mcp__') ? pattern.slice('mcp__'.length) : pattern
  const text = /__|\*/.test(rest) ? rest : pattern
  const [server = '', tool] = text.split('__')
  return tool === undefined || server === '' || server.includes('*') ? undefined : server
}

/** Whether a name or pattern may mean a tool of a server, as far as that is known without its list. */
export function mayMean(pattern: string, server: string): boolean {
  const prefix = `${server}__`
  return spellings(pattern).some((text) => {
    const [head = ''] = text.split('*')
    if (head === text) return text.startsWith(prefix)
    return head.startsWith(prefix) || prefix.startsWith(head)
  })
}

/** Whether a pattern means every tool of a server. */
export function meansAll(pattern: string, server: string): boolean {
  const prefix = `${server}__`
  return spellings(pattern).some((text) => {
    const head = text.slice(0, -1)
    return text.endsWith('*') && !head.includes('*') && prefix.startsWith(head)
  })
}

/** Whether a filter may let a tool of a server through, as far as that is known without its list. */
export function mayLetThrough({ tools, disallowed_tools: disallowed = [] }: ToolFilter, server: string): boolean {
  return (
    (tools === undefined || tools.some((pattern) => mayMean(pattern, server))) &&
    !disallowed.some((pattern) => meansAll(pattern, server))
  )
}

/** `mcp__server__tool` is `server__tool`, unless the server is named `mcp`. */
function spellings(pattern: string): readonly string[] {
  return pattern.startsWith('mcp__') ? [pattern, pattern.slice('mcp__'.length)] : [pattern]
}
