import type { DataPath } from '../base/data-text.ts'
import { canonicalJson, defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import {
  commandKeys,
  type DefinedCommandLine,
  definitionKeys,
  isCommand,
  defaultStdinOver,
} from '../settings/agents.ts'
import { parseDuration } from '../base/duration.ts'
import { tableLine } from './table-line.ts'

/** Where a definition, or a part of it, is written. Plain JSON. */
export type DefinitionSource = {
  /** Absolute. */
  readonly file: string
  /** The name of the file in errors. */
  readonly shown: string
  /** The whole file. */
  readonly text: string
  /** `config`: a TOML file. `prompt`: a prompt file. */
  readonly form: 'config' | 'prompt'
  /** The table that holds the definition; empty: the whole file is the definition. */
  readonly at: DataPath
}

/** The definition of an agent whose text is not simply that of its file. Plain JSON. */
export type DefinedText = {
  /** Strongest first; empty for the definitions that ship with Baton. */
  readonly sources: readonly DefinitionSource[]
  /** Every source belongs to the user or was trusted. */
  readonly isTrusted: boolean
  /**
   * The tools are those of a file of another program, so those that do not exist are left out. The ones that were
   * already left out.
   */
  readonly foreignTools?: readonly string[]
}

type DefinitionOrigin = 'built-in' | 'user' | 'pack' | 'workspace' | 'prompt' | 'flag'

/** An agent as it is run under the name of its definition. */
export type DefinedAgent =
  | {
      readonly kind: 'prompt'
      readonly name: string
      /** Absolute path of the file that defines it. */
      readonly file: string
      /** A prompt file. */
      readonly text: string
      /** Default: the text of the file. */
      readonly defined?: DefinedText
    }
  | {
      readonly kind: 'command'
      readonly name: string
      readonly file: string
      /** The line as JSON. */
      readonly text: string
      readonly line: DefinedCommandLine
      readonly defined?: DefinedText
    }

/** A named agent, with what its starter needs to know about it. */
export interface AgentDefinition {
  readonly name: string
  /** What it is for. An agent without a description is not offered to models. */
  readonly description: string | undefined
  /** `built-in`, `agents/x.md`, `baton.toml:3`; several if sources are merged, strongest first. */
  readonly origin: string
  /** The strongest source of the definition. */
  readonly from: DefinitionOrigin
  readonly agent: DefinedAgent
  /** Settings of its run as written: `model`, `tools`, `permission`, `max_turns`, `budget` and the like. */
  readonly settings: JsonObject
  /** The system message of its model; may be empty. */
  readonly instructions: string
  /** It starts with the messages of its caller. */
  readonly forkContext: boolean
  /** Repeated after the prompt of its caller. */
  readonly reminder: string | undefined
  readonly isolation: 'none' | 'worktree'
  /** Its tool lists do not restrict the tools of MCP servers. */
  readonly allMcp: boolean
  /** Undefined: all. */
  readonly tools: readonly string[] | undefined
  readonly disallowedTools: readonly string[]
  readonly maxTurns: number | undefined
  /** The key with which it would start agents or programs that the user has not approved: no model may start it. */
  readonly heldBack?: string
}

/** One of the sources that define a name, before they are merged. */
export interface DefinitionPart {
  readonly from: DefinitionOrigin
  /** Absent for definitions that ship with Baton. */
  readonly source?: DefinitionSource
  readonly isTrusted: boolean
  /** Includes `instructions`. */
  readonly values: JsonObject
  /**
   * The file is one of another program: `values` differ from its text, so that text cannot replace them. The tools that
   * it names and Baton does not have.
   */
  readonly foreignTools?: readonly string[]
}

const promptKeys = [
  'instructions',
  'tools',
  'disallowed_tools',
  'permission',
  'mode',
  'max_turns',
  'max_rounds',
] as const

/**
 * Merges the definitions of a name, weakest first: each key that is set replaces the weaker one, lists are not merged.
 * A command line and a model with instructions share only their description, so one replaces the other. A program of an
 * untrusted file also replaces the weaker definition: what the user permits for their own program does not apply to it.
 * @param fallbackFile the file that the agent names if it ships with Baton
 */
export function joinParts(
  name: string,
  parts: readonly [DefinitionPart, ...DefinitionPart[]],
  fallbackFile: string,
): AgentDefinition {
  let kept: readonly DefinitionPart[] = []
  let values: JsonObject = {}
  for (const part of parts) {
    const isOther = isCommand(part.values)
      ? kept.length > 0 && (!isCommand(values) || isOtherProgram(part))
      : isCommand(values) && promptKeys.some((key) => part.values[key] !== undefined)
    const { description } = values
    values = isOther ? { ...defined({ description }), ...part.values } : { ...values, ...part.values }
    kept = isOther ? [part] : [...kept, part]
  }
  const top = kept.at(-1) ?? parts[0]
  const { description, instructions, fork_context, reminder, isolation, mcp, tools, disallowed_tools, max_turns } =
    values
  const settings = without(values, [...definitionKeys, ...commandKeys, 'name'])
  return {
    name,
    description: textOf(description),
    origin: kept.map(originText).toReversed().join(', '),
    from: top.from,
    agent: agentOf(name, values, kept, fallbackFile),
    settings,
    instructions: textOf(instructions) ?? '',
    forkContext: fork_context === true,
    reminder: textOf(reminder),
    isolation: isolation === 'worktree' ? 'worktree' : 'none',
    allMcp: mcp === 'all',
    tools: textsOf(tools),
    disallowedTools: textsOf(disallowed_tools) ?? [],
    maxTurns: typeof max_turns === 'number' ? max_turns : undefined,
  }
}

/** Whether the definition names what is started and is not trusted. */
function isOtherProgram({ isTrusted, values }: DefinitionPart): boolean {
  return !isTrusted && ['command', 'args', 'env'].some((key) => values[key] !== undefined)
}

function agentOf(
  name: string,
  values: JsonObject,
  parts: readonly DefinitionPart[],
  fallbackFile: string,
): DefinedAgent {
  const sources = parts.flatMap(({ source }) => source ?? []).toReversed()
  const isTrusted = parts.every((part) => part.isTrusted)
  const file = sources[0]?.file ?? fallbackFile
  const { foreignTools } = parts.findLast((part) => part.values['tools'] !== undefined) ?? {}
  const text: DefinedText = { sources, isTrusted, ...defined({ foreignTools }) }
  if (isCommand(values)) {
    const line = lineOf(values)
    return { kind: 'command', name, file, text: canonicalJson(line as unknown as JsonObject), line, defined: text }
  }
  const [only, ...others] = parts
  if (others.length === 0 && only?.foreignTools === undefined && only?.source?.at.length === 0)
    return { kind: 'prompt', name, file, text: only.source.text }
  return { kind: 'prompt', name, file, text: promptText(values), defined: text }
}

/** An equivalent prompt file. */
function promptText(values: JsonObject): string {
  const { instructions, ...frontMatter } = values
  return `+++\n${tomlLines(frontMatter)}+++\n\n${textOf(instructions) ?? ''}`
}

function lineOf(values: JsonObject): DefinedCommandLine {
  const { command, preset, args, env, stdin_over, model } = values as {
    readonly [key in (typeof commandKeys)[number] | 'model']?: never
  }
  const { timeout, sandbox } = values
  const timeoutMs = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  const mode = isJsonObject(sandbox) ? (sandbox['mode'] as DefinedCommandLine['mode']) : undefined
  return {
    ...defined({ preset, model, timeoutMs, mode }),
    command: command ?? preset ?? '',
    args: args ?? [],
    env: env ?? {},
    stdinOver: stdin_over ?? defaultStdinOver,
  }
}

function originText({ from, source }: DefinitionPart): string {
  if (source === undefined) return from === 'built-in' ? 'built-in' : '-c'
  if (source.at.length === 0) return source.shown
  const line = tableLine(source)
  return line === undefined ? source.shown : `${source.shown}:${line}`
}

function without(values: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !keys.includes(key)))
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function textsOf(value: Json | undefined): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : undefined
}

/** Data as TOML with each key on its own line, tables inside braces. Nulls are omitted. */
function tomlLines(data: JsonObject): string {
  return entriesOf(data)
    .map((entry) => `${entry}\n`)
    .join('')
}

function entriesOf(data: JsonObject): readonly string[] {
  return Object.entries(data).flatMap(([key, value]) =>
    value === null ? [] : [`${keyText(key)} = ${valueText(value)}`],
  )
}

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : tomlText(key)
}

function valueText(value: Json): string {
  if (typeof value === 'string') return tomlText(value)
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  if (value !== null && typeof value === 'object') return `{ ${entriesOf(value as JsonObject).join(', ')} }`
  return String(value)
}

/** Of JSON strings, TOML refuses only a raw DEL. */
function tomlText(text: string): string {
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`)
}
