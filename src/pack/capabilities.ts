import { parseGlob } from '../base/glob-pattern.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { type Finding, suggestionHint, notATable, wrongKey, wrongValue } from '../settings/issue.ts'

/**
 * What the agents of a pack may do: `[capabilities]` of its `pack.toml`. It only restricts what any agent may do; what
 * it does not name is not allowed.
 */
export interface Capabilities {
  /** Globs relative to the workspace. A pack's own folder and its support files can always be read. */
  readonly read: readonly string[]
  /** Globs relative to the workspace. A pack's support files can always be written. */
  readonly write: readonly string[]
  /** Host names; `*.NAME` matches subdomains, `NAME:PORT` one port. */
  readonly hosts: readonly string[]
  /** Programs as named in calls of `aip.cmd.exec`. */
  readonly commands: readonly string[]
  /** Environment variables that programs get in addition to the few that every program needs. */
  readonly env: readonly string[]
  /** Models as `name` or `provider::name`, with `*` for any characters. */
  readonly models: readonly string[]
  /** Names of MCP servers. */
  readonly mcp: readonly string[]
}

interface Kind {
  readonly hint: string
  readonly fits: (item: string) => boolean
}

const globs: Kind = {
  hint: 'Write globs relative to the workspace, without a leading !, / or ~ and without "..".',
  fits: isGlob,
}
const isTrimmed = (item: string): boolean => item.trim() === item

const kinds: { readonly [kind in keyof Capabilities]: Kind } = {
  read: globs,
  write: globs,
  hosts: {
    hint: 'Write host names: "api.example", "*.example", "localhost:8080"; "*" for all.',
    fits: (item) => /^(?:\*|(?:\*\.)?[\w-]+(?:\.[\w-]+)*|\[[\da-fA-F:]+\])(?::\d+)?$/.test(item),
  },
  commands: { hint: 'Write the names of programs: "git", "npm"; "*" for all.', fits: isTrimmed },
  env: { hint: 'Write the names of variables: "CI", "NODE_ENV".', fits: (item) => /^[A-Za-z_]\w*$/.test(item) },
  models: { hint: 'Write names of models: "gpt-5-mini", "openai::*"; "*" for all.', fits: isTrimmed },
  mcp: {
    hint: 'Write names of MCP servers: "github"; "*" for all.',
    fits: (item) => item === '*' || /^[\w-]+$/.test(item),
  },
}

const kindNames = Object.keys(kinds) as readonly (keyof Capabilities)[]

/** Parses the table from TOML or from a lock file. Omitted keys allow nothing. */
export function readCapabilities(value: Json): { readonly capabilities: Capabilities } | { readonly problem: Finding } {
  if (!isJsonObject(value)) return { problem: notATable('capabilities') }
  for (const [key, list] of Object.entries(value)) {
    const problem = problemOf(key, list)
    if (problem !== undefined) return { problem }
  }
  const named = Object.fromEntries(kindNames.map((name) => [name, value[name] ?? []]))
  return { capabilities: named as unknown as Capabilities }
}

function problemOf(key: string, list: Json): Finding | undefined {
  const path = ['capabilities', key]
  const kind = kindNames.find((name) => name === key)
  if (kind === undefined) {
    const hint = suggestionHint(key, kindNames, `Known keys: ${kindNames.join(', ')}.`)
    return wrongKey(path, { message: `unknown capability "${key}"`, hint })
  }
  if (!Array.isArray(list) || !(list as readonly Json[]).every((item) => typeof item === 'string' && item !== '')) {
    const message = `"capabilities.${key}" must be a list of non-empty strings`
    return wrongValue(path, { message, hint: `Write ${key} = ["…"].` })
  }
  const { hint, fits } = kinds[kind]
  const items = list as readonly string[]
  // a person is asked about these texts, so they must be what they look like
  const wrong = items.findIndex((item) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(item) || !fits(item))
  if (wrong === -1) return undefined
  const message = `"capabilities.${key}" has an invalid entry "${items[wrong] ?? ''}"`
  return wrongValue([...path, wrong], { message, hint })
}

function isGlob(text: string): boolean {
  if (/^[!/~]/.test(text) || text.split(/[/,{}]/).includes('..')) return false
  try {
    parseGlob(text)
    return true
  } catch {
    return false
  }
}

/**
 * Whether `next` allows something that `granted` does not name. Undefined means no table: everything that agents may
 * do. Compared as text: `src/a.ts` is not recognized as part of `src/**`.
 */
export function isWider(next: Capabilities | undefined, granted: Capabilities | undefined): boolean {
  if (granted === undefined) return false
  if (next === undefined) return true
  return kindNames.some((name) => next[name].some((item) => !granted[name].includes(item)))
}

/** The most dangerous come last, so that a long list does not push them off the screen before the question. */
const shownOrder = ['models', 'env', 'read', 'hosts', 'write', 'mcp', 'commands'] as const satisfies typeof kindNames

/** One complete line for each kind, for people; `new` marks what `granted` does not name, which comes first. */
export function describeCapabilities(
  capabilities: Capabilities | undefined,
  granted?: { readonly capabilities: Capabilities | undefined },
): readonly string[] {
  if (capabilities === undefined) {
    return ['anything that an agent may, and every program as you: it has no [capabilities]']
  }
  const before = granted?.capabilities
  return shownOrder.map((name) => {
    const isNew = (item: string): boolean => before !== undefined && !before[name].includes(item)
    const added = capabilities[name].filter(isNew).map((item) => `${item} (new)`)
    const items = [...added, ...capabilities[name].filter((item) => !isNew(item))]
    return `${name.padEnd(9)} ${items.length === 0 ? 'nothing' : items.join(', ')}`
  })
}
