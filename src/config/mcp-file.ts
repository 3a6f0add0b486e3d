import type { DataText } from '../base/data-text.ts'
import { parseJsonData } from '../base/json-data.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Finding, type Located, mismatch, wrongKey } from '../settings/issue.ts'
import type { Layer } from './layers.ts'

/** A file of MCP servers, as written. */
export interface McpFile extends Located {
  readonly data: JsonObject
  /** The servers in the form of `[mcp_servers]`, without unknown keys. */
  readonly values: JsonObject
  /** By paths in `values`. */
  readonly locateValue: NonNullable<Layer['locate']>
  readonly findings: readonly Finding[]
  /** Unknown keys. */
  readonly notes: readonly Finding[]
  /** Servers in a form that only other programs read, and where they are. */
  readonly unread?: { readonly names: readonly string[]; readonly problem: string }
}

const listKey = 'mcpServers'

/** The keys of `[mcp_servers]`, which are also those of the file. */
const known: ReadonlySet<string> = new Set([
  'type',
  'command',
  'args',
  'env',
  'cwd',
  'url',
  'headers',
  'bearer_token_env',
  'startup_timeout_sec',
  'tool_timeout_sec',
  'tools',
  'disallowed_tools',
  'trusted',
  'sampling',
  'enabled',
])

/** Other programs' names for `http`. */
const httpNames: readonly Json[] = ['streamable-http', 'streamableHttp', 'streamable_http']

/**
 * Reads `{ "mcpServers": { NAME: { … } } }`. Unknown keys become notes, because other programs read the file too.
 * @throws BatonError CONFIG_INVALID for invalid JSON, with its position
 */
export function readMcpFile(file: string, written: string): McpFile {
  const text = written.replace(/^\uFEFF/, '')
  const read = parseJsonData({ file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' })
  const { data, locate } = read
  const unread = Object.keys(data)
    .filter((key) => key !== listKey)
    .map((key) => nothingReads([key], 'Only "mcpServers" is read.'))
  const servers = data[listKey] ?? {}
  const other = listKey in data ? undefined : serversElsewhere(data)
  const common = {
    file,
    text,
    data,
    locate,
    locateValue: locator(locate),
    ...(other === undefined ? {} : { unread: other }),
  }
  if (!isJsonObject(servers)) {
    return {
      ...common,
      values: {},
      findings: [mismatch([listKey], 'an object of servers by name', servers)],
      notes: unread,
    }
  }
  const notes = Object.entries(servers).flatMap(([name, server]) =>
    isJsonObject(server)
      ? Object.keys(server)
          .filter((key) => !known.has(key) && key !== 'disabled')
          .map((key) => nothingReads([listKey, name, key], 'It may be for another program.'))
      : [],
  )
  const normalized = Object.entries(servers).map(([name, server]): [string, Json] => [name, normalize(server)])
  return {
    ...common,
    values: normalized.length === 0 ? {} : { mcp_servers: Object.fromEntries(normalized) },
    findings: [],
    notes: [...unread, ...notes],
  }
}

/** Servers at the top of a file, or below another key or two: forms of other programs, and mistakes. */
function serversElsewhere(data: JsonObject): McpFile['unread'] {
  const inner = Object.entries(data).flatMap(([key, value]) => (isJsonObject(value) ? [{ path: [key], value }] : []))
  const deeper = inner.flatMap(({ path, value }) =>
    Object.entries(value).flatMap(([key, one]) => (isJsonObject(one) ? [{ path: [...path, key], value: one }] : [])),
  )
  for (const { path, value } of [{ path: [], value: data }, ...inner, ...deeper]) {
    const names = Object.keys(value).filter((name) => looksLikeServer(value[name] ?? null))
    if (names.length === 0) continue
    const where = path.length === 0 ? 'at its top' : `below ${path.map((key) => JSON.stringify(key)).join(' and ')}`
    return { names, problem: `it has its servers ${where}, and only those below "${listKey}" are read` }
  }
  return undefined
}

function looksLikeServer(value: Json): boolean {
  return isJsonObject(value) && (typeof value['command'] === 'string' || typeof value['url'] === 'string')
}

function nothingReads(path: Finding['path'], hint: string): Finding {
  return { ...wrongKey(path, { message: `nothing reads "${String(path.at(-1))}" in this file`, hint }), isSecret: true }
}

function normalize(server: Json): Json {
  if (!isJsonObject(server)) return server
  const entries = Object.entries(server).filter(([key]) => known.has(key))
  const { type = null, disabled, enabled } = server
  return {
    ...Object.fromEntries(entries),
    ...(httpNames.includes(type) ? { type: 'http' } : {}),
    ...(disabled === true && enabled === undefined ? { enabled: false } : {}),
  }
}

/** Moves findings about values, whose paths start with `mcp_servers`, to their place in the file. */
export function placedInMcpFile({ path, ...finding }: Finding): Finding {
  return { ...finding, path: [listKey, ...path.slice(1)] }
}

function locator(locate: DataText['locate']): McpFile['locateValue'] {
  return (path, part) => locate([listKey, ...path.slice(1)], part)
}
