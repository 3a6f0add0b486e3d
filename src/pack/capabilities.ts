import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { parseGlob } from '../base/glob-pattern.ts'
import { nearest } from '../base/suggest.ts'

/**
 * What the agents of a pack may do, as `[capabilities]` of its `pack.toml` says it. They only ever narrow what agents
 * may do anyway; what is not named is not allowed.
 */
export interface Capabilities {
  /** Globs relative to the workspace. A pack's own folder and its support files can always be read. */
  readonly read: readonly string[]
  /** Globs relative to the workspace. A pack's support files can always be written. */
  readonly write: readonly string[]
  /** Host names, `*.` in front for those below, `:PORT` behind for one port. */
  readonly hosts: readonly string[]
  /** Programs as they are named to `aip.cmd.exec`. */
  readonly commands: readonly string[]
  /** Variables that programs get of the environment, besides the few without which none runs. */
  readonly env: readonly string[]
  /** Models as `name` or `provider::name`, with `*` for any characters. */
  readonly models: readonly string[]
}

export const capabilityNames = ['read', 'write', 'hosts', 'commands', 'env', 'models'] as const

/** Something wrong in `[capabilities]`, and where. */
export interface CapabilityProblem {
  readonly message: string
  readonly hint: string
  readonly path: DataPath
}

/** Reads the table as it is written in TOML, or in a lock file. Keys that are left out name nothing. */
export function readCapabilities(
  value: Json,
): { readonly capabilities: Capabilities } | { readonly problem: CapabilityProblem } {
  const path = ['capabilities']
  if (!isJsonObject(value)) {
    return { problem: { message: '"capabilities" must be a table', hint: 'Write [capabilities].', path } }
  }
  for (const [key, list] of Object.entries(value)) {
    const problem = problemOf(key, list)
    if (problem !== undefined) return { problem }
  }
  const named = Object.fromEntries(capabilityNames.map((name) => [name, value[name] ?? []]))
  return { capabilities: named as unknown as Capabilities }
}

function problemOf(key: string, list: Json): CapabilityProblem | undefined {
  const path = ['capabilities', key]
  if (!(capabilityNames as readonly string[]).includes(key)) {
    const similar = nearest(key, capabilityNames)
    const hint = similar === undefined ? `Known keys: ${capabilityNames.join(', ')}.` : `Did you mean "${similar}"?`
    return { message: `there is no capability "${key}"`, hint, path }
  }
  if (!Array.isArray(list) || !(list as readonly Json[]).every((item) => typeof item === 'string' && item !== '')) {
    return { message: `"capabilities.${key}" must be a list of texts`, hint: `Write ${key} = ["…"].`, path }
  }
  const texts = list as readonly string[]
  const wrong = texts.findIndex((text) => !isUsable(key, text))
  if (wrong === -1) return undefined
  return {
    message: `"capabilities.${key}" has "${texts[wrong] ?? ''}", which it cannot hold`,
    hint: hints[key] ?? 'Leave it out.',
    path: [...path, wrong],
  }
}

const hints: { readonly [key: string]: string } = {
  read: 'Write globs relative to the workspace, without a leading !, / or ~ and without "..".',
  write: 'Write globs relative to the workspace, without a leading !, / or ~ and without "..".',
  hosts: 'Write host names: "api.example", "*.example", "localhost:8080"; "*" for all.',
  commands: 'Write the names of programs: "git", "npm"; "*" for all.',
  env: 'Write the names of variables: "CI", "NODE_ENV".',
  models: 'Write names of models: "gpt-5-mini", "openai::*"; "*" for all.',
}

function isUsable(key: string, text: string): boolean {
  // what is shown to a person who is asked must be what it looks like
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)) return false
  switch (key) {
    case 'read':
    case 'write':
      return isGlob(text)
    case 'hosts':
      return /^(?:\*|(?:\*\.)?[\w-]+(?:\.[\w-]+)*|\[[\da-fA-F:]+\])(?::\d+)?$/.test(text)
    case 'env':
      return /^[A-Za-z_]\w*$/.test(text)
    default:
      return text.trim() === text
  }
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
 * Whether `next` allows something that `granted` does not name. Undefined stands for no table: all that agents may do.
 * Compared as text: `src/a.ts` is not seen to be part of `src/**`.
 */
export function isWider(next: Capabilities | undefined, granted: Capabilities | undefined): boolean {
  if (granted === undefined) return false
  if (next === undefined) return true
  return capabilityNames.some((name) => next[name].some((item) => !granted[name].includes(item)))
}

/** One line for each kind, for people; `new` marks what `granted` does not name. */
export function describeCapabilities(
  capabilities: Capabilities | undefined,
  granted?: { readonly capabilities: Capabilities | undefined },
): readonly string[] {
  if (capabilities === undefined) {
    return ['has no [capabilities]: its agents may do what any agent may, and run every program as you']
  }
  const before = granted?.capabilities
  return capabilityNames.map((name) => {
    const items = capabilities[name].map((item) =>
      before === undefined || before[name].includes(item) ? item : `${item} (new)`,
    )
    return `${name.padEnd(9)} ${items.length === 0 ? 'nothing' : items.join(', ')}`
  })
}
