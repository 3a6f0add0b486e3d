import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Finding, wrongKey } from './issue.ts'
import { frameTable, type KeyRows, type SettingRow } from './setting.ts'

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
export const agentSettingKeys = [
  ...roleSettingKeys,
  'file_content_mode',
  'partial',
  'output',
  'base_dir',
  'context_globs',
  'knowledge_globs',
  'structure_globs',
] as const

/** What a command line of an agent or a member gets. */
export const commandKeyRows = {
  args: {
    schema: ({ texts }) => texts,
    text: 'Its arguments: {prompt} and {model} are replaced. Without {prompt}, the prompt goes to standard input.',
  },
  env: {
    schema: ({ tableOf, text }) => tableOf(text),
    text: 'Environment variables of the program; ${NAME} refers to one of your environment.',
  },
  stdin_over: {
    schema: ({ integer }) => integer(0),
    text: 'A prompt of more bytes goes to standard input instead of {prompt}. Default: 1024.',
  },
} as const satisfies KeyRows

export const agents = {
  ...frameTable,
  decides: true,
  order: { rule: 'agents', prompt: 'free' },
  text: 'Your own agents, by name: a model with instructions, or a command line.',
  check: checkAgents,
  each: 'name',
  settings: agentSettingKeys,
  keys: {
    description: {
      schema: ({ text }) => text,
      text: 'What it is for; shown to a model that may start it. Without a description it is not offered to models.',
    },
    instructions: { schema: ({ text }) => text, text: 'The start of its system message.' },
    fork_context: {
      schema: ({ flag }) => flag,
      text: 'If a model starts it, it starts with the messages of its caller.',
    },
    reminder: { schema: ({ name }) => name, text: 'If a model starts it, this is repeated after its prompt.' },
    isolation: {
      schema: ({ isolation }) => isolation,
      text: 'worktree: it works in its own git worktree, and all its changes come back together.',
    },
    mcp: {
      schema: ({ oneOf }) => oneOf('all', 'listed'),
      text: 'all: its tool lists do not restrict the tools of MCP servers.',
    },
    preset: { schema: ({ preset }) => preset, text: 'A program whose flags and output are known.' },
    command: { schema: ({ name }) => name, text: 'The program: a name on PATH, or a path relative to the workspace.' },
    ...commandKeyRows,
  },
} as const satisfies SettingRow

/** The program that is started. */
export type DefinedCommandLine = {
  readonly preset?: 'claude' | 'codex' | 'gemini' | 'opencode'
  readonly command: string
  readonly args: readonly string[]
  readonly env: { readonly [name: string]: string }
  readonly stdinOver: number
  readonly model?: string
  readonly timeoutMs?: number
  readonly mode?: 'read-only' | 'workspace-write' | 'danger-full-access'
}

/** Keys that make a definition a command line and define it. */
export const commandKeys = ['command', 'preset', 'args', 'env', 'stdin_over'] as const

/** Default limit above which a prompt goes to standard input: other users can read command lines. */
export const defaultStdinOver = 1024

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
function checkAgents(agents: JsonObject): readonly Finding[] {
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
