import { type DataPath, quotedPath } from '../base/data-text.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { describeValue, type Finding, mismatch, type Rules, wrongKey, wrongValue } from '../settings/issue.ts'

export const stages = ['pre', 'pre_task', 'post_task', 'post'] as const
export const merges = ['replace', 'shallow', 'deep'] as const
export const textUses = ['append', 'replace', 'result', 'params'] as const

export type Stage = (typeof stages)[number]
/** How the params that an agent returns are merged into the present ones. */
export type Merge = (typeof merges)[number]
/** Where the text of an agent goes: a segment of the instruction, the whole instruction, `agent_result`, or params. */
export type TextUse = (typeof textUses)[number]

/** The normalized entry of a sub-agent in a chain. */
export interface AgentConfig {
  readonly name: string
  readonly enabled: boolean
  /** Without duplicates, in the order written. */
  readonly stages: readonly Stage[]
  /** Undefined: the default of the kind of agent. */
  readonly merge?: Merge
  /** Only for agents that answer text; undefined: `append`. */
  readonly as?: TextUse
  readonly options: JsonObject
  /** The entry as written, a string as `{name}`: what the agent sees as `agent_config`. */
  readonly entry: JsonObject
  /** From 0. The entry is located at the path `['sub_agents', index]`. */
  readonly index: number
}

export interface NormalizedAgents {
  readonly agents: readonly AgentConfig[]
  readonly findings: readonly Finding[]
}

/** Reads `sub_agents`. Bad entries become findings that name the index from 0; none is dropped silently. */
export function normalizeSubAgents(value: Json): NormalizedAgents {
  if (!Array.isArray(value)) {
    const hint = 'Write sub_agents = ["name", { name = "other", stage = "post" }].'
    return { agents: [], findings: [wrongValue(['sub_agents'], { message: '"sub_agents" must be a list', hint })] }
  }
  const entries = (value as readonly Json[]).map(readEntry)
  return {
    agents: entries.flatMap(({ agents }) => agents),
    findings: entries.flatMap(({ findings }) => findings),
  }
}

function readEntry(value: Json, index: number): NormalizedAgents {
  const path = ['sub_agents', index]
  const entry: Json = typeof value === 'string' ? { name: value } : value
  if (!isJsonObject(entry)) {
    const message = `sub_agents[${index}] must be a name or a table with a name, not ${describeValue(value)}`
    return { agents: [], findings: [wrongKey(path, { message, hint: 'Write "name" or { name = "name" }.' })] }
  }
  const { name } = entry
  if (name === undefined) {
    const findings = [wrongKey(path, { message: `sub_agents[${index}] has no name`, hint: 'Add name = "…".' })]
    return { agents: [], findings }
  }
  const findings = Object.entries(entry).flatMap(([key, given]) => checkKey(key, given, path))
  return findings.length > 0 ? { agents: [], findings } : { agents: [configOf(entry, index)], findings }
}

function checkKey(key: string, given: Json, path: DataPath): readonly Finding[] {
  const at = [...path, key]
  if ((unsupported as readonly string[]).includes(key))
    return [wrongKey(at, { message: `${quotedPath(at)} is not a key of sub-agents`, hint: 'Use stage.' })]
  const rule = Object.hasOwn(keys, key) ? keys[key] : undefined
  if (rule === undefined || rule.fits(given)) return []
  if (key !== 'stage' || !Array.isArray(given) || given.length === 0) return [mismatch(at, rule.expected, given)]
  const stages = given as readonly Json[]
  return stages.flatMap((item, index) => (rule.fits(item) ? [] : [mismatch([...at, index], rule.expected, item)]))
}

const keys: Rules = {
  name: {
    expected: 'the name of an agent or its file',
    fits: (value) => typeof value === 'string' && value.trim() !== '',
  },
  enabled: { expected: 'true or false', fits: (value) => typeof value === 'boolean' },
  stage: oneOf(stages),
  merge: oneOf(merges),
  as: oneOf(textUses),
  options: { expected: 'a table such as { model = "fast" }', fits: isJsonObject },
}

/** Keys that other programs use instead of `stage`. */
export const unsupported = ['on', 'stage_pre', 'stage_post', 'agent_on'] as const

function configOf(entry: JsonObject, index: number): AgentConfig {
  const { name, enabled, stage = 'pre', merge, as, options } = entry
  return {
    name: name as string,
    enabled: enabled !== false,
    stages: [...new Set([stage].flat() as readonly Stage[])],
    ...defined({ merge: merge as Merge | undefined, as: as as TextUse | undefined }),
    options: isJsonObject(options) ? options : {},
    entry,
    index,
  }
}

export function isMerge(value: Json): value is Merge {
  return oneOf(merges).fits(value)
}

function oneOf(words: readonly string[]): Rules[string] {
  return {
    expected: `one of ${words.map((word) => JSON.stringify(word)).join(', ')}`,
    fits: (value) => typeof value === 'string' && words.includes(value),
  }
}
