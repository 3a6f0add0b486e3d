import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { describeValue } from './describe.ts'
import type { Finding } from './issue.ts'

const stages = ['pre', 'pre_task', 'post_task', 'post'] as const
const merges = ['replace', 'shallow', 'deep'] as const
const textUses = ['append', 'replace', 'result', 'params'] as const

export type Stage = (typeof stages)[number]
export type Merge = (typeof merges)[number]
/** What the text of an agent becomes: a segment of the instruction, all of it, `agent_result`, or params. */
export type TextUse = (typeof textUses)[number]

/** True for the ways in which what an agent returns can join the params. */
export function isMerge(value: Json): value is Merge {
  return isOneOf(merges, value)
}

/** The normalized entry of a sub-agent in a chain (DESIGN 5). */
export interface AgentConfig {
  readonly name: string
  readonly enabled: boolean
  /** Without repetitions, in the order they are written. */
  readonly stages: readonly Stage[]
  /** Left out: the default of the kind of agent. */
  readonly merge?: Merge
  /** Only for agents that answer text; left out: `append`. */
  readonly as?: TextUse
  readonly options: JsonObject
  /** The entry as written, a string as `{name}`: what the agent sees as `agent_config` (R237, TV29). */
  readonly entry: JsonObject
  /** From 0. The place of the entry is that of the path `['sub_agents', index]`. */
  readonly index: number
}

export interface NormalizedAgents {
  readonly agents: readonly AgentConfig[]
  readonly findings: readonly Finding[]
}

/** Reads `sub_agents`. Bad entries are findings that name the index from 0, never dropped in silence (D28). */
export function normalizeSubAgents(value: Json): NormalizedAgents {
  if (!Array.isArray(value)) {
    const message = '"sub_agents" must be a list'
    const hint = 'Write sub_agents = ["name", { name = "other", stage = "post" }].'
    return { agents: [], findings: [{ code: 'CONFIG_INVALID', message, hint, path: ['sub_agents'], part: 'value' }] }
  }
  const entries = (value as readonly Json[]).map(readEntry)
  return {
    agents: entries.flatMap(({ agents }) => agents),
    findings: entries.flatMap(({ findings }) => findings),
  }
}

function readEntry(value: Json, index: number): NormalizedAgents {
  const entry: Json = typeof value === 'string' ? { name: value } : value
  if (!isJsonObject(entry)) {
    const message = `${describeValue(value)} is neither a name nor a table with a name`
    return { agents: [], findings: [finding(index, { message, hint: 'Write "name" or { name = "name" }.' })] }
  }
  const findings = checks.flatMap((check) => check(entry)).map((problem) => finding(index, problem))
  if (findings.length > 0) return { agents: [], findings }
  return { agents: [configOf(entry, index)], findings }
}

function configOf(entry: JsonObject, index: number): AgentConfig {
  const { name, enabled, stage, merge, as, options } = entry
  const listed = (Array.isArray(stage) ? stage : [stage ?? 'pre']) as readonly Stage[]
  return {
    name: typeof name === 'string' ? name : '',
    enabled: enabled !== false,
    stages: [...new Set(listed)],
    ...(merge === undefined ? {} : { merge: merge as Merge }),
    ...(as === undefined ? {} : { as: as as TextUse }),
    options: isJsonObject(options) ? options : {},
    entry,
    index,
  }
}

interface Problem {
  readonly message: string
  readonly hint: string
  readonly key?: string
}

type Check = (entry: JsonObject) => readonly Problem[]

const checks: readonly Check[] = [
  ({ name }) => {
    if (name === undefined) return [{ message: 'it has no name', hint: 'Add name = "…".' }]
    if (typeof name === 'string' && name.trim() !== '') return []
    return [{ message: `the name is ${describeValue(name)}`, hint: 'Name the agent, or its file.', key: 'name' }]
  },
  ({ enabled }) =>
    enabled === undefined || typeof enabled === 'boolean'
      ? []
      : [{ message: `enabled is ${describeValue(enabled)}`, hint: 'Write true or false.', key: 'enabled' }],
  ({ stage }) => (stage === undefined ? [] : checkStage(stage)),
  ({ merge }) =>
    merge === undefined || isMerge(merge)
      ? []
      : [{ message: `merge is ${describeValue(merge)}`, hint: 'Write "replace", "shallow" or "deep".', key: 'merge' }],
  ({ options }) =>
    options === undefined || isJsonObject(options)
      ? []
      : [
          {
            message: `options is ${describeValue(options)}`,
            hint: 'Write options = { model = "fast" }.',
            key: 'options',
          },
        ],
  ({ as }) =>
    as === undefined || isOneOf(textUses, as)
      ? []
      : [
          {
            message: `as is ${describeValue(as)}`,
            hint: 'Write "append", "replace", "result" or "params".',
            key: 'as',
          },
        ],
  (entry) =>
    ['on', 'stage_pre', 'stage_post', 'agent_on']
      .filter((key) => Object.hasOwn(entry, key))
      .map((key) => ({ message: `"${key}" is not a key of sub-agents`, hint: 'Use stage.', key })),
]

function checkStage(stage: Json): readonly Problem[] {
  const listed = Array.isArray(stage) ? (stage as readonly Json[]) : [stage]
  const hint = `Write one or more of ${stages.map((known) => `"${known}"`).join(', ')}.`
  if (listed.length === 0) return [{ message: 'stage is an empty list', hint, key: 'stage' }]
  return listed
    .filter((item) => !isOneOf(stages, item))
    .map((item) => ({ message: `unknown stage ${describeValue(item)}`, hint, key: 'stage' }))
}

function isOneOf(known: readonly string[], value: Json): boolean {
  return typeof value === 'string' && known.includes(value)
}

function finding(index: number, { message, hint, key }: Problem): Finding {
  const path = ['sub_agents', index, ...(key === undefined ? [] : [key])]
  const part = key === undefined ? 'key' : 'value'
  return { code: 'CONFIG_INVALID', message: `sub_agents[${index}]: ${message}`, hint, path, part }
}
