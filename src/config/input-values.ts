import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { nearest } from '../base/suggest.ts'
import { type InputVariable, misfit } from './input-variables.ts'

/** Why values do not fill the variables of a file. */
export type ValueProblem =
  | { readonly kind: 'unknown'; readonly name: string; readonly hint: string }
  /** `expected` ends the sentence `… must be`. */
  | { readonly kind: 'wrong'; readonly name: string; readonly expected: string }
  | { readonly kind: 'missing'; readonly variable: InputVariable }

export interface FilledVariables {
  /** By name; a variable that is neither given nor has a default is not there. */
  readonly values: JsonObject
  readonly problems: readonly ValueProblem[]
}

/** Fills the variables of `[input]` by name (DESIGN 4). Null is "not given". */
export function fillVariables(variables: readonly InputVariable[], given: JsonObject): FilledVariables {
  const values: { [name: string]: Json } = {}
  const problems: ValueProblem[] = unknownNames(variables, Object.keys(given))
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

/** Lua has one empty table for both kinds. */
function tidy({ type }: InputVariable, value: Json): Json {
  if (type === 'list' && isObject(value) && Object.keys(value).length === 0) return []
  if (type === 'table' && Array.isArray(value) && value.length === 0) return {}
  return value
}

function unknownNames(variables: readonly InputVariable[], given: readonly string[]): ValueProblem[] {
  const known = variables.map(({ name }) => name)
  return given
    .filter((name) => !known.includes(name))
    .map((name) => ({ kind: 'unknown', name, hint: hintFor(name, known) }))
}

function hintFor(name: string, known: readonly string[]): string {
  const similar = nearest(name, known)
  if (similar !== undefined) return `Did you mean "${similar}"?`
  return known.length === 0 ? 'Its [input] table is empty.' : `Its variables: ${known.join(', ')}.`
}
