import { extname } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { foldKey, oneEditFrom } from '../base/suggest.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { type AgentConfig, normalizeSubAgents } from './agent-config.ts'
import { checkReserved } from './check-settings.ts'
import { ownCollab } from './collab-check.ts'
import { checkVariables } from './input-variables.ts'
import { type Finding, type Issue, notATable, placeFindings, wrongKey, wrongValue } from './issue.ts'
import { isReserved, reserved } from './keys.ts'
import type { UserLimits } from './user-limits.ts'
import { isGuarded } from './orders.ts'
import { checkStrategies, readersOfParams, type AnsweringKey } from './strategies.ts'
import { checkTrust, exactGlobs, needsTrust, needyKeys, type TrustState, withoutKeys } from './trust.ts'
import { checkStepOptions, checkWorkflow } from './workflow-check.ts'
import type { DataPath } from '../base/data-text.ts'
import { readDelegate, type WrittenDelegate } from './delegate.ts'
import { type Aggregate, aggregateOf, type WrittenEnsemble, type WrittenMember } from './ensemble.ts'

export interface CheckedFrontMatter {
  readonly values: JsonObject
  /** Keys that are not reserved, merged with those of `[params]`. */
  readonly params: JsonObject
  readonly agents: readonly AgentConfig[]
  /** Errors, in the order of the lines. */
  readonly issues: readonly Issue[]
  readonly warnings: readonly Issue[]
  /** The user has trusted it: its rules of `[permission]` count like the user's own. */
  readonly isTrusted: boolean
}

/**
 * Interprets every key of a prompt file and reports all errors together. `userFile` is the user's own config file, for
 * hints; `trust` is called if the file sets a key that needs trust, or names files; `own` is what the user has set, with defaults: the
 * file may only tighten it.
 */
export async function checkFrontMatter(
  document: PromptDocument,
  {
    userFile,
    trust = () => 'untrusted',
    own = [],
    overridden = [],
  }: Partial<Pick<UserLimits, 'own' | 'overridden'>> & { readonly userFile: string; readonly trust?: () => TrustState },
): Promise<CheckedFrontMatter> {
  const { file, text, meta } = document
  const { data } = meta
  const needs = needsTrust(data, { by: 'prompt', own, overridden })
  const state = needyKeys(needs).length === 0 && exactGlobs(data).length === 0 ? 'untrusted' : trust()
  const known = readReserved(data, state)
  const { params, paths, findings: wrongParams } = readParams(data)
  const { sub_agents: entries = [] } = data
  const { agents, findings: wrongAgents } = normalizeSubAgents(entries)
  const source = { file, text, locate: meta.locate }
  const findings = [
    ...checkTrust(data, needs, { file, userFile, state }),
    ...known.findings,
    ...wrongParams,
    ...wrongAgents,
  ]
  // the options of a mode
  const unread = paths.filter(([key]) => key !== data['mode'])
  const top = unread.flatMap(([key, inner]) => (key === undefined || inner !== undefined ? [] : [key]))
  const hasReader =
    agents.length > 0 || ['agent', 'template', 'input', ...readersOfParams].some((key) => data[key] !== undefined)
  return {
    values: withoutKeys(known.values),
    params,
    agents,
    issues: await placeFindings(findings, source),
    isTrusted: state === 'trusted',
    warnings:
      findings.length > 0
        ? []
        : await placeFindings(hasReader ? top.flatMap((key) => lookalike(key, data)) : withoutReaders(unread), source),
  }
}

/** All reserved keys but `sub_agents` and `params`. */
function readReserved(data: JsonObject, trust: TrustState) {
  const values: { [key: string]: Json } = {}
  const findings: Finding[] = []
  for (const [key, value] of Object.entries(data)) {
    if (!isReserved(key) || key === 'sub_agents' || key === 'params') continue
    if (isGuarded(key) && trust !== 'trusted') continue
    const wrong = checkReserved(key, value)
    const found = wrong.length === 0 ? checkInside(key, value) : wrong
    findings.push(...found)
    if (found.length === 0) values[key] = key === 'collab' && isJsonObject(value) ? ownCollab(value) : value
    else if (key === 'agents' && isJsonObject(value)) values[key] = withoutWrong(value, found)
  }
  return { values, findings: [...findings, ...checkStrategies(data)] }
}

/** The tables that are valid; they can be checked even if others are not. */
function withoutWrong(tables: JsonObject, findings: readonly Finding[]): JsonObject {
  const wrong = new Set(findings.map(({ path: [, name] }) => name))
  return Object.fromEntries(Object.entries(tables).filter(([name]) => !wrong.has(name)))
}

/** Inconsistencies between parts of a table, once each part has the right type. */
function checkInside(key: string, value: Json): readonly Finding[] {
  if (!isJsonObject(value)) return []
  if (key === 'input') return checkVariables(value)
  return Object.hasOwn(inStrategies, key) ? inStrategies[key as AnsweringKey](value) : []
}

const inStrategies: { readonly [Key in AnsweringKey]: (table: JsonObject) => readonly Finding[] } = {
  workflow: (table) => [...checkWorkflow(table), ...checkStepOptions(table)],
  ensemble: checkEnsemble,
  delegate: checkDelegate,
}

/**
 * Keys that are not reserved, merged with those of `[params]`, whose names are not checked for misspellings. Findings:
 * misspelled reserved keys, and duplicate names.
 */
function readParams(data: JsonObject) {
  const top = Object.entries(data).filter(([key]) => !isReserved(key))
  const table = data['params'] ?? {}
  const misspelled = top.flatMap(([key]) => checkSpelling(key))
  if (!isJsonObject(table))
    return { params: Object.fromEntries(top), paths: [], findings: [...misspelled, notATable('params')] }
  return {
    params: Object.fromEntries([...top, ...Object.entries(table)]),
    paths: [...top.map(([key]) => [key]), ...Object.keys(table).map((key) => ['params', key])],
    findings: [...misspelled, ...Object.keys(table).flatMap((key) => checkParam(key, data))],
  }
}

/**
 * A key is a misspelling if it differs from a reserved one by case, `-` or `_`, by one edit if that is long, or by two
 * neighboring letters that are swapped.
 */
function checkSpelling(key: string): readonly Finding[] {
  const near = namesOneEditFrom(key)
  const meant =
    namesByFolded.get(foldKey(key)) ??
    near.find((name) => name.length >= 6) ??
    near.find((name) => name.length === 5 && hasSameLetters(key, name))
  if (meant === undefined) return []
  const hint = `Write ${meant}; if it really is your own parameter, put it in [params].`
  return [wrongKey([key], { message: `unknown key "${key}"; did you mean "${meant}"?`, hint })]
}

const namesByFolded: ReadonlyMap<string, string> = new Map(Array.from(reserved.keys(), (name) => [foldKey(name), name]))
const namesOneEditFrom = oneEditFrom(reserved.keys())

/** One edit that keeps the letters is a swap. */
function hasSameLetters(key: string, name: string): boolean {
  const letters = (word: string): string => Array.from(word).toSorted().join('')
  return letters(key) === letters(name)
}

/**
 * A warning for a parameter that may be a misspelled short key: one edit away from a key of five letters, or two swapped
 * letters of a key of four. A plural is another word.
 */
function lookalike(key: string, data: JsonObject): readonly Finding[] {
  const meant = namesOneEditFrom(key).find((name) => {
    if (data[name] !== undefined || key === `${name}s` || name === `${key}s`) return false
    return name.length === 5 || (name.length === 4 && hasSameLetters(key, name))
  })
  if (meant === undefined) return []
  const message = `"${key}" is a parameter for agents; did you mean "${meant}"?`
  return [
    wrongKey([key], { message, hint: `Write ${meant}, or put ${key} into [params] if it is your own parameter.` }),
  ]
}

function checkParam(key: string, data: JsonObject): readonly Finding[] {
  const path = ['params', key]
  if (isReserved(key)) {
    const message = `"${key}" in [params] is the name of a reserved key`
    return [wrongKey(path, { message, hint: 'Choose another name.' })]
  }
  if (!Object.hasOwn(data, key)) return []
  const message = `duplicate key "${key}": it is set at the top level and in [params]`
  return [wrongKey(path, { message, hint: 'Keep one of them.' })]
}

/** Each warning shows a part of the file; more than this are counted only. */
const mostUnread = 100

function withoutReaders(paths: readonly (readonly string[])[]): readonly Finding[] {
  const [next] = paths.slice(mostUnread)
  const found = paths.slice(0, mostUnread).map(withoutReader)
  if (next === undefined) return found
  const hint = 'Name an agent in sub_agents that reads them, or remove them.'
  return [...found, wrongKey(next, { message: `nothing reads ${paths.length - mostUnread} more parameters`, hint })]
}

function withoutReader(path: readonly string[]): Finding {
  const key = path.at(-1) ?? ''
  // similar short keys are not errors, because too many words resemble them
  const [meant] = namesOneEditFrom(key)
  const question = meant === undefined ? '' : ` Did you mean "${meant}"?`
  const hint = `Name an agent in sub_agents that reads it, or remove it.${question}`
  return wrongKey(path, { message: `nothing reads the parameter "${key}"`, hint })
}

const usualEndings: ReadonlySet<string> = new Set(['', '.md', '.markdown', '.mdx', '.txt', '.prompt'])

/**
 * The warning for a file without front matter whose extension is not that of a prompt file. Any text is a prompt file,
 * so it still runs.
 */
export function unlikelyPrompt({ file, text, meta }: PromptDocument): readonly Issue[] {
  const ending = extname(file).toLowerCase()
  if (meta.language !== 'none' || usualEndings.has(ending)) return []
  const message = `${file} does not look like a prompt file: it ends in ${ending} and has no front matter`
  const hint = 'Name a .md file; pass other files with context_globs or -f.'
  return [{ code: 'CONFIG_INVALID', message, hint, place: { file, line: 1, text } }]
}

const workerName = /^[A-Za-z][\w-]{0,63}$/
const ownNames: ReadonlySet<string> = new Set(['leader', 'all', 'self', 'teammate'])

/** Inconsistencies in a checked `delegate` table. */
export function checkDelegate(value: JsonObject): readonly Finding[] {
  const { workers } = value as WrittenDelegate
  const { workers: read, list, format } = readDelegate(value)
  const names = read.map(({ name }) => name)
  const found = read.flatMap(({ name, index }): readonly Finding[] => {
    const path: DataPath = ['delegate', 'workers', index ?? 0]
    if (!workerName.test(name) || ownNames.has(name)) {
      const hint =
        'Write { name = "Code", agent = "…" }: letters, digits, - and _, starting with a letter, but not leader or all.'
      return [wrongValue(path, { message: `"${name}" cannot be the name of a worker`, hint })]
    }
    if (names.indexOf(name) === names.lastIndexOf(name) || names.indexOf(name) === index) return []
    const hint = 'Rename one, or remove it: a worker may be started any number of times.'
    return [wrongValue(path, { message: `two workers of the team are named "${name}"`, hint })]
  })
  if (workers?.length === 0) {
    const hint = 'Name agents, or omit workers: the default is Explore, Plan and general-purpose.'
    found.push(wrongValue(['delegate', 'workers'], { message: 'the team has no workers', hint }))
  }
  const isFile = /[^/]$/.test(list) && !/(?:^|\/)\.{1,2}$/.test(list)
  if (!isFile || list === 'items.json') {
    const hint = `Write a file, such as "${format === 'json' ? 'tasks.json' : 'tasks.md'}".`
    found.push(
      wrongValue(['delegate', 'task_list'], { message: `"${list}" cannot be the task list of the team`, hint }),
    )
  }
  return found
}

/** Inconsistencies in a checked `ensemble` table. Conflicts with other keys of the file are checked elsewhere. */
export function checkEnsemble(value: JsonObject): readonly Finding[] {
  const written = value as WrittenEnsemble
  const { agents = [] } = written
  if (agents.length === 0) {
    const hint = 'Add [[ensemble.agents]] with a model, an agent or a command.'
    return [wrongKey(['ensemble'], { message: '"ensemble" has no agents', hint })]
  }
  return [...agents.flatMap(checkMember), ...checkNames(agents), ...checkQuorum(written), ...checkAggregate(written)]
}

function at(index: number, ...key: readonly string[]): DataPath {
  return ['ensemble', 'agents', index, ...key]
}

function checkMember(member: WrittenMember, index: number): readonly Finding[] {
  const { name, model, agent, command, preset } = member
  const shown = name === undefined ? `member ${index + 1} of the ensemble` : `ensemble member "${name}"`
  const isProgram = command !== undefined || preset !== undefined
  if (model === undefined && agent === undefined && !isProgram) {
    const hint = 'Add one of them.'
    return [wrongKey(at(index), { message: `${shown} has no model, agent, command or preset`, hint })]
  }
  if (agent !== undefined && isProgram) {
    const key = command === undefined ? 'preset' : 'command'
    return [wrongKey(at(index, key), { message: `${shown} has both agent and ${key}`, hint: 'Keep one of them.' })]
  }
  if (isProgram) return []
  return (['args', 'env', 'stdin_over', 'sandbox'] as const)
    .filter((key) => member[key] !== undefined)
    .map((key) => {
      const message = `"${key}" of ${shown} is for a command line, but none is named`
      return wrongKey(at(index, key), { message, hint: `Set command to the program, or remove ${key}.` })
    })
}

function checkNames(agents: readonly WrittenMember[]): readonly Finding[] {
  const names = agents.map(({ name }) => name)
  return names.flatMap((name, index) => {
    if (name === undefined || names.indexOf(name) === index) return []
    return [wrongValue(at(index, 'name'), { message: `two ensemble members are named "${name}"`, hint: 'Rename one.' })]
  })
}

function checkQuorum({ quorum, agents = [], ...others }: WrittenEnsemble): readonly Finding[] {
  if (quorum === undefined) return []
  if (aggregateOf(others) === 'first') {
    const message = '"ensemble.quorum" has no effect if the first answer is used'
    return [wrongKey(['ensemble', 'quorum'], { message, hint: 'Remove it.' })]
  }
  if (quorum <= agents.length) return []
  const message = `"ensemble.quorum" is ${quorum}, but there ${agents.length === 1 ? 'is only 1 member' : `are only ${agents.length} members`}`
  return [wrongValue(['ensemble', 'quorum'], { message, hint: `Write ${agents.length} or less, or add members.` })]
}

/** The keys that each kind of aggregation ignores. */
const unused: { readonly [kind in Aggregate]: readonly ('aggregator' | 'check' | 'model')[] } = {
  synthesis: ['check'],
  vote: ['check', 'model'],
  first: ['model'],
  aggregator: ['check', 'model'],
}

function checkAggregate(written: WrittenEnsemble): readonly Finding[] {
  const { aggregate, aggregator } = written
  const kind = aggregateOf(written)
  if (aggregate !== undefined && aggregator !== undefined) {
    const message = `"ensemble.aggregate" and "ensemble.aggregator" cannot be combined`
    return [
      wrongKey(['ensemble', 'aggregator'], { message, hint: 'Keep one: both define how the answers are combined.' }),
    ]
  }
  const why = aggregator === undefined ? `aggregate = "${kind}"` : 'an aggregator'
  return unused[kind]
    .filter((key) => written[key] !== undefined)
    .map((key) => {
      const message = `"ensemble.${key}" has no effect with ${why}`
      return wrongKey(['ensemble', key], { message, hint: 'Remove one of the two.' })
    })
}
