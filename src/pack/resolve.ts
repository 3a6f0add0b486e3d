import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError, type ErrorDetails, isBatonError } from '../base/error.ts'
import type { ReadLog } from '../base/reads.ts'
import { readSource } from '../base/source-reader.ts'
import { nearest } from '../base/suggest.ts'
import {
  type AgentPack,
  type FoundAgentFile,
  locateAgent,
  lookedForLocally,
  possibleFiles,
  type ResolveOptions,
} from './locate-agent.ts'

export type { ResolveOptions } from './locate-agent.ts'

interface ReadFile {
  /** As it was asked for. */
  readonly name: string
  /** Absolute path. */
  readonly file: string
  readonly text: string
  readonly builtIn: boolean
  /** Only when it was named by a pack reference. */
  readonly pack?: AgentPack
}

/** A script agent that was found and read. */
export interface ScriptFile extends ReadFile {
  readonly kind: 'aip' | 'lua'
}

/** A prompt file that was found and read, to be run as an agent. */
export interface PromptFile extends ReadFile {
  readonly kind: 'prompt'
}

/** An agent file that was found and read. */
export type AgentFile = ScriptFile | PromptFile

/**
 * Finds an agent by name and reads it (spec/aipack.md 3.1, vectors 9 to 12, with `.lua` beside `.aip`).
 * `x.aip`, `x.lua` and `x.md` (a prompt file) name that file; `x/` means `x/main.aip`; other names try `x.aip`, `x.lua`,
 * `x/main.aip`; a script's name without a folder that is not found there is looked up among the built-in agents.
 * `namespace@pack` is the `main.aip` of that pack, `namespace@pack/x` is `x` in its folder.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS, FILE_UNREADABLE
 */
export function resolveAgent(name: string, options: ResolveOptions): AgentFile {
  try {
    const found = locateNoted(name, options)
    if (found === undefined) throw notFound(name, options)
    return read(name, found, options.reads)
  } catch (error) {
    throw placed(error, options)
  }
}

/**
 * The same where only a script can stand.
 * @throws BatonError also USAGE for a prompt file
 */
export function resolveScript(name: string, options: ResolveOptions): ScriptFile {
  const agent = resolveAgent(name, options)
  if (agent.kind !== 'prompt') return agent
  throw placed(new BatonError('USAGE', `"${name}" is a prompt file`, { hint: 'Name an .aip or .lua agent.' }), options)
}

/** The same, or undefined when nothing has this name: for words that may also name something else. */
export function findAgent(name: string, options: ResolveOptions): AgentFile | undefined {
  try {
    const found = locateAgent(name, options)
    return found === undefined ? undefined : read(name, found, options.reads)
  } catch (error) {
    throw placed(error, options)
  }
}

/** Also when nothing is found: what is made later may be what was meant. */
function locateNoted(name: string, options: ResolveOptions): FoundAgentFile | undefined {
  const { reads } = options
  if (reads === undefined) return locateAgent(name, options)
  let found: FoundAgentFile | undefined
  try {
    return (found = locateAgent(name, options))
  } finally {
    const paths = possibleFiles(name, options)
    const at = paths.findIndex((path) => path === found?.file)
    for (const path of at === -1 ? paths : paths.slice(0, at)) reads.file(path)
    if (found?.pack !== undefined) reads.file(join(found.pack.dir, 'pack.toml'))
  }
}

function read(name: string, { file, builtIn, pack }: FoundAgentFile, reads: ReadLog | undefined): AgentFile {
  const kind = kindOf(file)
  // those that come with the product do not change
  const text = readSource(file, reads, { part: kind === 'prompt' ? 'prompt' : 'whole', watched: !builtIn })
  return {
    kind,
    name,
    file,
    text,
    builtIn,
    ...(pack === undefined ? {} : { pack }),
  }
}

function kindOf(file: string): AgentFile['kind'] {
  if (file.endsWith('.md')) return 'prompt'
  return file.endsWith('.lua') ? 'lua' : 'aip'
}

function placed(error: unknown, { place }: ResolveOptions): unknown {
  if (!isBatonError(error) || error.place !== undefined || place === undefined) return error
  const { code, message, hint, cause } = error
  const details: ErrorDetails = { place, cause, ...(hint === undefined ? {} : { hint }) }
  return new BatonError(code, message, details)
}

/** Begins as ours do and says what AIPack users know (spec/pro-coder.md P09). */
function notFound(name: string, options: ResolveOptions): BatonError {
  const names = builtInAgents(options.builtInDir)
  const similar = nearest(name, names)
  const looked = lookedForLocally(name, options)
  const hint =
    similar === undefined ? `${looked} Built-in agents: ${names.join(', ')}.` : `Did you mean "${similar}"? ${looked}`
  return new BatonError('AGENT_NOT_FOUND', `there is no agent "${name}". No agent found for local path: '${name}'`, {
    hint,
  })
}

/** Names of the agents that come with the product, in order. */
function builtInAgents(builtInDir: string): readonly string[] {
  return readdirSync(builtInDir)
    .filter((file) => /\.(?:aip|lua)$/.test(file))
    .map((file) => file.replace(/\.[^.]+$/, ''))
    .toSorted()
}
