import { extname } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { editDistance, foldKey } from '../base/suggest.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { type AgentConfig, normalizeSubAgents } from './agent-config.ts'
import { checkReserved } from './check-settings.ts'
import { ownCollab } from './collab-check.ts'
import { checkDelegate } from './delegate-check.ts'
import { checkEnsemble } from './ensemble-check.ts'
import { checkVariables } from './input-variables.ts'
import { type Finding, type Issue, notATable, placeFindings, wrongKey } from './issue.ts'
import { isReserved, reserved } from './keys.ts'
import type { HeldTo } from './held-to.ts'
import { isGuarded } from './orders.ts'
import { checkStepOptions, checkStrategies } from './strategies.ts'
import { checkTrust, needsTrust, needyKeys, type TrustState, withoutKeys } from './trust.ts'
import { checkWorkflow } from './workflow-check.ts'

export interface CheckedFrontMatter {
  readonly values: JsonObject
  /** Keys that are not reserved, joined by those of `[params]`. */
  readonly params: JsonObject
  readonly agents: readonly AgentConfig[]
  /** Errors, in the order of the lines. */
  readonly issues: readonly Issue[]
  readonly warnings: readonly Issue[]
  /** Its user has looked at it: its rules of `[permission]` count as those of the user do. */
  readonly isTrusted: boolean
}

/**
 * Gives every key of a prompt file its meaning, and finds all that is wrong at once. `userFile` is named where a key
 * belongs into the user's own config file; `trust` is called when the file sets a key that needs trust; `own` is what the
 * user has set, with defaults: the file may only tighten it.
 */
export async function checkFrontMatter(
  document: PromptDocument,
  {
    userFile,
    trust = () => 'untrusted',
    own = [],
    overridden = [],
  }: Partial<Pick<HeldTo, 'own' | 'overridden'>> & { readonly userFile: string; readonly trust?: () => TrustState },
): Promise<CheckedFrontMatter> {
  const { file, text, meta } = document
  const { data } = meta
  const needs = needsTrust(data, { by: 'prompt', own, overridden })
  const state = needyKeys(needs).length === 0 ? 'untrusted' : trust()
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
  const hasReader =
    agents.length > 0 || ['agent', 'template', 'input', 'workflow', 'ensemble'].some((key) => data[key] !== undefined)
  return {
    values: withoutKeys(known.values),
    params,
    agents,
    issues: await placeFindings(findings, source),
    isTrusted: state === 'trusted',
    warnings: hasReader || findings.length > 0 ? [] : await placeFindings(unread.map(withoutReader), source),
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

/** The tables that nothing is wrong with: the others can be looked at all the same. */
function withoutWrong(tables: JsonObject, findings: readonly Finding[]): JsonObject {
  const wrong = new Set(findings.map(({ path: [, name] }) => name))
  return Object.fromEntries(Object.entries(tables).filter(([name]) => !wrong.has(name)))
}

/** What of a table's parts does not fit together, once each of them is of the right type. */
function checkInside(key: string, value: Json): readonly Finding[] {
  if (!isJsonObject(value)) return []
  if (key === 'input') return checkVariables(value)
  if (key === 'ensemble') return checkEnsemble(value)
  if (key === 'delegate') return checkDelegate(value)
  return key === 'workflow' ? [...checkWorkflow(value), ...checkStepOptions(value)] : []
}

/**
 * Keys that are not reserved, joined by those of `[params]`, which are taken as they are. Findings: misspelled reserved
 * keys, and duplicate names.
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

/** A misspelled reserved key differs by case, `-` or `_`, or by one edit when it is a long one. */
function checkSpelling(key: string): readonly Finding[] {
  const folded = foldKey(key)
  const names = [...reserved.keys()]
  const meant =
    names.find((name) => foldKey(name) === folded) ??
    names.find((name) => name.length >= 6 && editDistance(key, name, 1) === 1)
  if (meant === undefined) return []
  const hint = `Write ${meant}; if it really is a parameter of yours, put it below [params].`
  return [wrongKey([key], { message: `unknown key "${key}"; did you mean "${meant}"?`, hint })]
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

function withoutReader(path: readonly string[]): Finding {
  const key = path.at(-1) ?? ''
  // mistyped short keys are no errors, because too many words resemble them
  const meant = [...reserved.keys()].find((known) => editDistance(key, known, 1) === 1)
  const question = meant === undefined ? '' : ` Did you mean "${meant}"?`
  const hint = `Name an agent in sub_agents that reads it, or remove it.${question}`
  return wrongKey(path, { message: `nothing reads the parameter "${key}"`, hint })
}

const usualEndings: ReadonlySet<string> = new Set(['', '.md', '.markdown', '.mdx', '.txt', '.prompt'])

/**
 * The warning for a file without front matter whose ending is not one of prompt files. Any text is a prompt file, so it
 * is run all the same.
 */
export function unlikelyPrompt({ file, text, meta }: PromptDocument): readonly Issue[] {
  const ending = extname(file).toLowerCase()
  if (meta.language !== 'none' || usualEndings.has(ending)) return []
  const message = `${file} does not look like a prompt file: its name ends in ${ending}, and it has no front matter`
  const hint = 'Name a .md file; pass the files that a prompt is about by context_globs or -f.'
  return [{ code: 'CONFIG_INVALID', message, hint, place: { file, line: 1, text } }]
}
