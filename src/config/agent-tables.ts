import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Finding, wrongKey } from './issue.ts'
import { reserved } from './keys.ts'

/** Keys of a definition that describe it to its starter; they are not settings of its run. */
export const definitionKeys = ['description', 'instructions', 'fork_context', 'reminder', 'isolation', 'mcp'] as const

/**
 * Keys of prompt files that a role of `[collab]` may set: how its model works, but not which files a run starts with.
 */
export const roleSettingKeys = [
  'model',
  'temperature',
  'top_p',
  'max_tokens',
  'reasoning_effort',
  'reasoning_summary',
  'seed',
  'fallback_models',
  'tools',
  'disallowed_tools',
  'permission',
  'sandbox',
  'max_turns',
  'max_rounds',
  'timeout',
  'budget',
  'mode',
  'code',
  'write_mode',
] as const

/** The keys that a table of `[agents]` may set. */
export const settingKeys = [
  ...roleSettingKeys,
  'file_content_mode',
  'partial',
  'output',
  'base_dir',
  'context_globs',
  'knowledge_globs',
  'structure_globs',
] as const

/** Keys that make a definition a command line and define it. */
export const commandKeys = ['command', 'preset', 'args', 'env', 'stdin_over'] as const

/** Default limit above which a prompt goes to standard input: other users can read command lines. */
export const usualStdinOver = 1024

/** The keys that a command line accepts, including its own. */
const keptByCommands: ReadonlySet<string> = new Set([
  ...commandKeys,
  'description',
  'model',
  'timeout',
  'sandbox',
  'isolation',
])

/** Whether a definition with these values is a command line. */
export function isCommand(values: JsonObject): boolean {
  return values['command'] !== undefined || values['preset'] !== undefined
}

/** A name that is unambiguous in `sub_agents`, the `task` tool and rules of `[permission]`. */
export function isDefinitionName(name: string): boolean {
  return /^[A-Za-z][\w-]{0,63}$/.test(name)
}

export const nameHint = 'Use at most 64 letters, digits, - and _, starting with a letter.'

/** Inconsistencies in checked tables of `[agents]`: bad names, and keys of a prompt next to those of a command line. */
export function checkAgents(agents: JsonObject): readonly Finding[] {
  return Object.entries(agents).flatMap(([name, given]) => [
    ...(isDefinitionName(name) ? [] : [badName(name)]),
    ...(isJsonObject(given) ? checkAgent(name, given) : []),
  ])
}

function badName(name: string): Finding {
  const message = `"${name}" cannot be the name of an agent`
  return wrongKey(['agents', name], { message, hint: nameHint })
}

function checkAgent(name: string, values: JsonObject): readonly Finding[] {
  if (isCommand(values)) return misplacedKeys(values).map((key) => besideCommand(['agents', name, key]))
  const alone = commandKeys.find((key) => values[key] !== undefined)
  if (alone === undefined) return []
  const message = `"agents.${name}.${alone}" is for a command line, but none is named`
  const hint = 'Set command to the program, or preset to a known one.'
  return [wrongKey(['agents', name, alone], { message, hint })]
}

/** Keys that have no effect on a command line. */
export function misplacedKeys(values: JsonObject): readonly string[] {
  return Object.entries(values).flatMap(([key, value]: [string, Json]) =>
    keptByCommands.has(key) || value === null ? [] : [key],
  )
}

function besideCommand(path: readonly string[]): Finding {
  const key = path.at(-1) ?? ''
  const message = `"${path.join('.')}" does not apply to a command line, which has its own settings`
  return wrongKey(path, { message, hint: `Remove ${key}, or give the program a flag for it in args.` })
}

/** Keys of a prompt file that make it run other agents, scripts and command lines. */
export const startingKeys: readonly string[] = [...reserved]
  .flatMap(([key, { starts }]) => (starts === true ? [key] : []))
  .toSorted()
