import type { DataPath } from '../base/data-text.ts'
import { canonicalJson, defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { tomlLines } from '../base/toml-line.ts'
import { commandKeys, definitionKeys, isCommand, usualStdinOver } from './agent-tables.ts'
import { parseDuration } from './duration.ts'
import { tableLine } from './table-line.ts'

/** Where a definition, or a part of it, is written. Plain JSON. */
export type DefinitionSource = {
  /** Absolute. */
  readonly file: string
  /** As errors name it. */
  readonly shown: string
  /** All of the file. */
  readonly text: string
  /** `config`: a TOML file. `prompt`: a prompt file. */
  readonly form: 'config' | 'prompt'
  /** The table that holds it; empty: the whole file is the definition. */
  readonly at: DataPath
}

/** How an agent is defined whose text is not that of its file. Plain JSON. */
export type DefinedText = {
  /** The strongest first; none for what comes with Baton. */
  readonly sources: readonly DefinitionSource[]
  /** All of it is the user's, or was trusted. */
  readonly isTrusted: boolean
}

type DefinitionOrigin = 'built-in' | 'user' | 'pack' | 'workspace' | 'prompt' | 'flag'

/** An agent as it is run by the name of its definition. */
export type DefinedAgent =
  | {
      readonly kind: 'prompt'
      readonly name: string
      /** Absolute path of the file that defines it. */
      readonly file: string
      /** A prompt file. */
      readonly text: string
      /** Left out: the text is that of the file. */
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

/** What is started. */
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

/** An agent that has a name, with what whoever starts it should know of it (R40). */
export interface AgentDefinition {
  readonly name: string
  /** What it is for. Without one no model is offered it. */
  readonly description: string | undefined
  /** `built-in`, `agents/x.md`, `baton.toml:3`; several where they are joined, the strongest first. */
  readonly origin: string
  /** The strongest of those that define it. */
  readonly from: DefinitionOrigin
  readonly agent: DefinedAgent
  /** Settings of its run as they are written: `model`, `tools`, `permission`, `max_turns`, `budget` and the like. */
  readonly settings: JsonObject
  /** What a model is told as its system message; empty: nothing. */
  readonly instructions: string
  /** It begins with the messages of its caller. */
  readonly forkContext: boolean
  /** Said again behind the prompt of its caller. */
  readonly reminder: string | undefined
  readonly isolation: 'none' | 'worktree'
  /** Its lists of tools do not hold back tools of MCP servers. */
  readonly allMcp: boolean
  /** Undefined: all. */
  readonly tools: readonly string[] | undefined
  readonly disallowedTools: readonly string[]
  readonly maxTurns: number | undefined
  /** The key by which it starts agents or programs that nobody has agreed to: no model may start it. */
  readonly heldBack?: string
}

/** One of the places that define a name, before they are joined. */
export interface DefinitionPart {
  readonly from: DefinitionOrigin
  /** Left out for what comes with Baton. */
  readonly source?: DefinitionSource
  readonly isTrusted: boolean
  /** With `instructions`. */
  readonly values: JsonObject
  /** `values` are not what the file says word by word, so its text cannot stand for them. */
  readonly isTranslated?: true
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
 * Joins what several places say of a name, the weakest first: each key that is set replaces the one below it, lists are not
 * united. A command line and a model with instructions have nothing in common but their description: one replaces the
 * other. So does a program of a file that nobody has trusted: what the user lets an own program do is not for that one.
 * @param fallbackFile what its agent names as its file where it comes with Baton
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

/** Whether it says what is started, and nobody has trusted it. */
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
  const text: DefinedText = { sources, isTrusted }
  if (isCommand(values)) {
    const line = lineOf(values)
    return { kind: 'command', name, file, text: canonicalJson(line as unknown as JsonObject), line, defined: text }
  }
  const [only, ...others] = parts
  if (others.length === 0 && only?.isTranslated !== true && only?.source?.at.length === 0)
    return { kind: 'prompt', name, file, text: only.source.text }
  return { kind: 'prompt', name, file, text: promptText(values), defined: text }
}

/** A prompt file that says the same. */
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
    stdinOver: stdin_over ?? usualStdinOver,
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
