import { extname } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { foldKey, oneEditFrom } from '../base/suggest.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { unmarkedSettings } from '../prompt/layout.ts'
import { type AgentConfig, normalizeSubAgents } from './agent-config.ts'
import { checkReserved } from './check-settings.ts'
import { ownCollab } from '../settings/collab.ts'
import { checkVariables } from './input-variables.ts'
import { type Finding, type Issue, notATable, placeFindings, wrongKey } from '../settings/issue.ts'
import { isGuarded, isReserved, reserved } from '../settings/keys.ts'
import type { UserLimits } from './user-limits.ts'
import { checkStrategies, readersOfParams } from '../settings/strategies.ts'
import { checkTrust, exactGlobs, needsTrust, needyKeys, type TrustState, withoutKeys } from './trust.ts'

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
        : await placeFindings(
            [
              ...top.filter(isReserved).map(formerParameter),
              ...(hasReader
                ? top.flatMap((key) => (isReserved(key) ? [] : lookalike(key, data)))
                : withoutReaders(unread.filter(([key = '', inner]) => inner !== undefined || !isReserved(key)))),
            ],
            source,
          ),
  }
}

/** Whether earlier versions passed this as a parameter, and it cannot be meant as the setting that the key is now. */
function isFormerParameter(key: string, value: Json): boolean {
  return isReserved(key) && reserved.get(key)?.isNew === true && checkReserved(key, value).length > 0
}

function formerParameter(key: string): Finding {
  const message = `"${key}" is a setting now, and this is none of its values: it is passed as a parameter`
  return wrongKey([key], { message, hint: `Put it into [params], or see ${key} in docs/prompt-file.md.` })
}

/** All reserved keys but `sub_agents` and `params`. */
function readReserved(data: JsonObject, trust: TrustState) {
  const values: { [key: string]: Json } = {}
  const findings: Finding[] = []
  for (const [key, value] of Object.entries(data)) {
    if (!isReserved(key) || key === 'sub_agents' || key === 'params' || isFormerParameter(key, value)) continue
    if (isGuarded(key) && trust !== 'trusted') continue
    const wrong = checkReserved(key, value)
    const found = wrong.length === 0 && key === 'input' && isJsonObject(value) ? checkVariables(value) : wrong
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

/**
 * Keys that are not reserved, merged with those of `[params]`, whose names are not checked for misspellings. Findings:
 * misspelled reserved keys, and duplicate names.
 */
function readParams(data: JsonObject) {
  const top = Object.entries(data).filter(([key, value]) => !isReserved(key) || isFormerParameter(key, value))
  const table = data['params'] ?? {}
  const misspelled = top.flatMap(([key]) => (isReserved(key) ? [] : checkSpelling(key)))
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

const keysOfPrompts = [...reserved.keys()].filter(isReserved)
const namesByFolded: ReadonlyMap<string, string> = new Map(keysOfPrompts.map((name) => [foldKey(name), name]))
const namesOneEditFrom = oneEditFrom(keysOfPrompts)

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
    if (reserved.get(name)?.isNew === true || data[name] !== undefined || key === `${name}s` || name === `${key}s`)
      return false
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
  if (isReserved(key) && reserved.get(key)?.isNew !== true) {
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

const promptFileEndings: ReadonlySet<string> = new Set(['', '.md', '.markdown', '.mdx', '.txt', '.prompt'])

/**
 * The warning for a file without front matter that starts with settings which are not marked as such, or whose
 * extension is not that of a prompt file. Any text is a prompt file, so it still runs.
 */
export function unlikelyPrompt({ file, text, meta }: PromptDocument): readonly Issue[] {
  if (meta.language !== 'none') return []
  const settings = unmarkedSettings(text.split('\n'))
  if (settings !== undefined) {
    const { line, ...said } = settings
    return [{ code: 'CONFIG_INVALID', ...said, place: { file, line, text } }]
  }
  const ending = extname(file).toLowerCase()
  if (promptFileEndings.has(ending)) return []
  const message = `${file} does not look like a prompt file: it ends in ${ending} and has no front matter`
  const hint = 'Name a .md file; pass other files with context_globs or -f.'
  return [{ code: 'CONFIG_INVALID', message, hint, place: { file, line: 1, text } }]
}
