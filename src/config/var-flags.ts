import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { maxDataDepth } from '../base/data-text.ts'
import { type PromptDocument, placeOf } from '../prompt/document.ts'
import { fillVariables, type ValueProblem } from './input-values.ts'
import type { InputVariable } from './input-variables.ts'
import { type Issue, throwIssues } from './issue.ts'

/**
 * The values of a file's variables from `--var name=value` (DESIGN 4). A value is read by the type of its variable:
 * `list` is JSON when it begins with `[`, else the texts between commas, without empty ones; `table` is JSON. Messages do not repeat values,
 * which may be secrets.
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
      hint: `Leave it out, or add [input.${first}] to the front matter.`,
    })
  }
  const given = [...texts].map(([name, text]): [string, Json] => {
    const variable = variables.find((known) => known.name === name)
    return [name, variable === undefined ? text : readValue(text, variable)]
  })
  const { values, problems } = fillVariables(variables, Object.fromEntries(given))
  throwIssues([...refusedIssues(problems, document), ...(await missingIssues(problems, document))])
  return values
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

/** What the text says as a value of the type; the text itself where it says no such value, which is refused later. */
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

function refusedIssues(problems: readonly ValueProblem[], { file }: PromptDocument): readonly Issue[] {
  return problems.flatMap((problem): readonly Issue[] => {
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
  })
}

function valueHint(expected: string, name: string): string {
  if (expected === 'a list') return `Write --var '${name}=one,two', or JSON.`
  if (expected === 'a table') return `Write it as JSON: --var '${name}={"key": "value"}'.`
  return `Write --var ${name}=… with such a value.`
}

/** Each names all flags that are missing, because people see the first one only. */
async function missingIssues(problems: readonly ValueProblem[], document: PromptDocument): Promise<readonly Issue[]> {
  const missing = problems.flatMap((problem) => (problem.kind === 'missing' ? [problem.variable] : []))
  const flags = missing.map(({ name }) => `--var ${name}=…`).join(' ')
  return Promise.all(
    missing.map(async (variable) => ({
      code: 'USAGE' as const,
      message: `the variable "${variable.name}" is not given${describe(variable)}`,
      hint: `Add ${flags}`,
      place: await placeOf(document, ['input', variable.name]),
    })),
  )
}

function describe({ description, choices }: InputVariable): string {
  const values = choices === undefined ? [] : [`one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`]
  const parts = [...(description === undefined ? [] : [description]), ...values]
  return parts.length === 0 ? '' : `: ${parts.join('; ')}`
}
