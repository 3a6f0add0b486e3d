import { maxDataDepth } from '../base/data-text.ts'
import { BatonError } from '../base/error.ts'
import { defined, equalJson, isJsonObject, isObject, type Json, type JsonObject } from '../base/json.ts'
import { placeOf, type PromptDocument } from '../prompt/document.ts'
import {
  describeValue,
  type Finding,
  type Issue,
  suggestionHint,
  type Rules,
  throwIssues,
  wrongKey,
  wrongValue,
} from '../settings/issue.ts'

type VariableType = 'string' | 'number' | 'integer' | 'boolean' | 'list' | 'table'

/** One `[input.NAME]` of a prompt file: a value passed when the file is run. */
export interface InputVariable {
  readonly name: string
  readonly type: VariableType
  readonly description?: string
  /** The file cannot be run without it. A variable that is not required and has no default may be absent. */
  readonly required: boolean
  readonly default?: Json
  /** The only allowed values; for a `list`, the only allowed items. */
  readonly choices?: readonly Json[]
}

const types: { readonly [type in VariableType]: Rules[string] } = {
  string: { expected: 'text', fits: (value) => typeof value === 'string' },
  number: { expected: 'a number', fits: (value) => typeof value === 'number' },
  integer: { expected: 'a whole number', fits: Number.isSafeInteger },
  boolean: { expected: 'true or false', fits: (value) => typeof value === 'boolean' },
  list: { expected: 'a list', fits: Array.isArray },
  table: { expected: 'a table', fits: isObject },
}

/** The variables of an `[input]` table that fits its schema, in the order written. */
export function readVariables(input: JsonObject): readonly InputVariable[] {
  return Object.entries(input).map(([name, value]) => {
    const { type = 'string', description, required, default: initial, enum: choices } = value as JsonObject
    return {
      name,
      type: type as VariableType,
      required: required === true,
      ...(typeof description === 'string' && description.trim() !== '' ? { description: description.trim() } : {}),
      ...defined({ default: initial, choices: choices as readonly Json[] | undefined }),
    }
  })
}

/** What a value must be to fit a variable, completing `… must be`; undefined if it fits. */
export function misfit({ type, choices }: Pick<InputVariable, 'type' | 'choices'>, value: Json): string | undefined {
  if (!types[type].fits(value)) return types[type].expected
  if (choices === undefined) return undefined
  const isChoice = (item: Json): boolean => choices.some((choice) => equalJson(choice, item))
  const fits = Array.isArray(value) && type === 'list' ? (value as readonly Json[]).every(isChoice) : isChoice(value)
  return fits ? undefined : `${type === 'list' ? 'a list of' : 'one of'} ${choicesText(choices)}`
}

function choicesText(choices: readonly Json[]): string {
  return choices.map((choice) => JSON.stringify(choice)).join(', ')
}

/** Errors in an `[input]` table that fits its schema: bad names, and values that contradict each other. */
export function checkVariables(input: JsonObject): readonly Finding[] {
  return readVariables(input).flatMap((variable) => [...checkName(variable), ...checkValues(variable)])
}

/** Names are written in templates and on the command line. */
function checkName({ name }: InputVariable): readonly Finding[] {
  if (/^[A-Za-z_][\w-]*$/.test(name)) return []
  const message = `${JSON.stringify(name)} cannot be the name of an input variable`
  const hint = 'Use letters, digits, "_" and "-", and start with a letter.'
  return [wrongKey(['input', name], { message, hint })]
}

function checkValues(variable: InputVariable): readonly Finding[] {
  const { name, type, required, default: initial, choices } = variable
  const typeHint = type === 'string' ? 'The default type is text: set type.' : `Its type is "${type}".`
  const wrong = (key: string, says: string, hint = typeHint): readonly Finding[] => [
    wrongValue(['input', name, key], { message: `"input.${name}.${key}" ${says}`, hint }),
  ]
  if (choices?.length === 0) return wrong('enum', 'must not be empty', 'Write its values, or remove enum.')
  const mistyped = type === 'list' ? undefined : choices?.find((choice) => !types[type].fits(choice))
  if (mistyped !== undefined)
    return wrong('enum', `must contain ${types[type].expected} only, not ${describeValue(mistyped)}`)
  if (initial === undefined) return []
  if (required)
    return wrong(
      'required',
      'has no effect with a default',
      'Remove one of them: a variable with a default is optional.',
    )
  const expected = misfit(variable, initial)
  return expected === undefined ? [] : wrong('default', `must be ${expected}, not ${describeValue(initial)}`)
}

/** Values in the form that `--var name=value` takes. */
export function variableFlags(values: JsonObject): readonly string[] {
  return Object.entries(values).map(([name, value]) => {
    return `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`
  })
}

/** Why values do not fit the variables of a file. */
export type ValueProblem =
  | { readonly kind: 'unknown'; readonly name: string; readonly hint: string }
  /** `expected` completes `… must be`. */
  | { readonly kind: 'wrong'; readonly name: string; readonly expected: string }
  | { readonly kind: 'missing'; readonly variable: InputVariable }

interface FilledVariables {
  /** By name; variables that have neither a value nor a default are omitted. */
  readonly values: JsonObject
  readonly problems: readonly ValueProblem[]
}

/** Fills the variables of `[input]` by name. Null means "not given". */
export function fillVariables(variables: readonly InputVariable[], given: JsonObject): FilledVariables {
  const values: { [name: string]: Json } = {}
  const known = variables.map(({ name }) => name)
  const list = known.length === 0 ? 'Its [input] table is empty.' : `Its variables: ${known.join(', ')}.`
  const unknown = Object.keys(given).filter((name) => !known.includes(name))
  const problems: ValueProblem[] = unknown.map((name) => {
    return { kind: 'unknown', name, hint: suggestionHint(name, known, list) }
  })
  for (const variable of variables) {
    const { name, default: fallback } = variable
    const value = Object.hasOwn(given, name) ? tidy(variable, given[name] ?? null) : null
    const chosen = value ?? fallback
    if (chosen !== undefined) values[name] = chosen
    else if (variable.required) problems.push({ kind: 'missing', variable })
    const expected = value === null ? undefined : misfit(variable, value)
    if (expected !== undefined) problems.push({ kind: 'wrong', name, expected })
  }
  return { values, problems }
}

/** Lua does not distinguish an empty list from an empty table. */
function tidy({ type }: InputVariable, value: Json): Json {
  if (type === 'list' && isObject(value) && Object.keys(value).length === 0) return []
  if (type === 'table' && Array.isArray(value) && value.length === 0) return {}
  return value
}

/**
 * The values of a file's variables from `--var name=value`. A value is parsed by the type of its variable: `list` is
 * JSON if it starts with `[`, else comma-separated texts without empty ones; `table` is JSON. Messages do not repeat
 * values, which may be secrets.
 * @param variables undefined for a file without `[input]`
 * @throws BatonError USAGE for text that is not `name=value`, unknown names, wrong values and missing variables
 */
export async function variablesFromFlags(
  flags: readonly string[],
  variables: readonly InputVariable[] | undefined,
  document: PromptDocument,
): Promise<JsonObject | undefined> {
  const texts = splitFlags(flags)
  if (variables === undefined) {
    const [first] = texts.keys()
    if (first === undefined) return undefined
    throw new BatonError('USAGE', `--var ${first} is given, but ${document.file} has no [input]`, {
      hint: `Omit it, or add [input.${first}] to the front matter.`,
    })
  }
  const { values, problems } = fillFromTexts(texts, variables)
  const missing = problems.flatMap((problem) => (problem.kind === 'missing' ? [problem.variable] : []))
  throwIssues([
    ...problems.flatMap((problem) => refusal(problem, document)),
    ...(await Promise.all(missing.map((variable) => missingIssue(variable, missing, document)))),
  ])
  return values
}

/** What `--var name=value` gives to variables, and what is wrong with it. @throws BatonError USAGE as `variablesFromFlags` */
export function fillFromFlags(flags: readonly string[], variables: readonly InputVariable[]): FilledVariables {
  return fillFromTexts(splitFlags(flags), variables)
}

function fillFromTexts(texts: ReadonlyMap<string, string>, variables: readonly InputVariable[]): FilledVariables {
  const given = [...texts].map(([name, text]): [string, Json] => {
    const variable = variables.find((known) => known.name === name)
    return [name, variable === undefined ? text : readValue(text, variable)]
  })
  return fillVariables(variables, Object.fromEntries(given))
}

function splitFlags(flags: readonly string[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const flag of flags) {
    const split = flag.indexOf('=')
    const name = flag.slice(0, Math.max(0, split)).trim()
    if (name === '') {
      const shown = split === -1 ? ` ${flag.slice(0, 40)}` : ''
      throw new BatonError('USAGE', `--var${shown} is not name=value`, { hint: 'Write --var name=value.' })
    }
    if (texts.has(name))
      throw new BatonError('USAGE', `--var ${name} is given more than once`, { hint: 'Give it once.' })
    texts.set(name, flag.slice(split + 1))
  }
  return texts
}

/** The text as a value of the type; the text itself if it cannot be parsed, which is refused later. */
function readValue(text: string, { type }: InputVariable): Json {
  const word = text.trim()
  switch (type) {
    case 'string':
      return text
    case 'number':
    case 'integer':
      return /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word) && Number.isFinite(Number(word)) ? Number(word) : text
    case 'boolean':
      return word === 'true' || word === 'false' ? word === 'true' : text
    case 'list':
      if (word.startsWith('[')) return readJson(word) ?? text
      return word.split(',').flatMap((item) => item.trim() || [])
    case 'table':
      return readJson(word) ?? text
  }
}

function readJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json
    return isFlatEnough(value, maxDataDepth) ? value : undefined
  } catch {
    return undefined
  }
}

function isFlatEnough(value: Json, depth: number): boolean {
  if (!Array.isArray(value) && !isJsonObject(value)) return true
  return depth > 0 && Object.values(value).every((inner: Json) => isFlatEnough(inner, depth - 1))
}

function refusal(problem: ValueProblem, { file }: PromptDocument): readonly Issue[] {
  switch (problem.kind) {
    case 'unknown':
      return [{ code: 'USAGE', message: `${file} has no variable "${problem.name}" for --var`, hint: problem.hint }]
    case 'wrong': {
      const { name, expected } = problem
      return [{ code: 'USAGE', message: `--var ${name} must be ${expected}`, hint: valueHint(expected, name) }]
    }
    case 'missing':
      return []
  }
}

function valueHint(expected: string, name: string): string {
  if (expected === 'a list') return `Write --var '${name}=one,two', or JSON.`
  if (expected === 'a table') return `Write it as JSON: --var '${name}={"key": "value"}'.`
  return `Write --var ${name}=… with such a value.`
}

/** Its hint has the flags of all missing variables, because only the first issue is shown to people. */
async function missingIssue(
  { name, description, choices }: InputVariable,
  missing: readonly InputVariable[],
  document: PromptDocument,
): Promise<Issue> {
  const values = choices === undefined ? undefined : `one of ${choicesText(choices)}`
  const about = [description, values].filter((part) => part !== undefined).join('; ')
  return {
    code: 'USAGE',
    message: `missing variable "${name}"${about === '' ? '' : `: ${about}`}`,
    hint: `Add ${missing.map((other) => `--var ${other.name}=…`).join(' ')}`,
    place: await placeOf(document, ['input', name]),
  }
}
