import { equalJson, isObject, type Json, type JsonObject } from '../base/json.ts'
import { describeValue } from './describe.ts'
import type { Finding } from './issue.ts'

type VariableType = 'string' | 'number' | 'integer' | 'boolean' | 'list' | 'table'

/** One `[input.NAME]` of a prompt file (DESIGN 4): a value that whoever runs the file gives it. */
export interface InputVariable {
  readonly name: string
  readonly type: VariableType
  readonly description?: string
  /** Without it a file cannot be run. A variable that is not required and has no default may be absent. */
  readonly required: boolean
  readonly default?: Json
  /** The only values there are; of a `list` the only items. */
  readonly choices?: readonly Json[]
}

/** The variables of an `[input]` table that fits its schema, in the order they are written. */
export function readVariables(input: JsonObject): readonly InputVariable[] {
  return Object.entries(input).map(([name, value]) => readVariable(name, value as JsonObject))
}

function readVariable(name: string, { type, description, required, default: value, enum: choices }: JsonObject) {
  return {
    name,
    type: (type ?? 'string') as VariableType,
    required: required === true,
    ...(typeof description === 'string' && description.trim() !== '' ? { description: description.trim() } : {}),
    ...(value === undefined ? {} : { default: value }),
    ...(choices === undefined ? {} : { choices: choices as readonly Json[] }),
  }
}

const typeTexts: { readonly [type in VariableType]: string } = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  list: 'a list',
  table: 'a table',
}

/** What a value must be to fit a variable, as the end of the sentence `… must be`; undefined when it fits. */
export function misfit({ type, choices }: Pick<InputVariable, 'type' | 'choices'>, value: Json): string | undefined {
  if (!hasType(type, value)) return typeTexts[type]
  if (choices === undefined) return undefined
  const isChoice = (item: Json): boolean => choices.some((choice) => equalJson(choice, item))
  const fits = Array.isArray(value) && type === 'list' ? (value as readonly Json[]).every(isChoice) : isChoice(value)
  if (fits) return undefined
  return `${type === 'list' ? 'a list of' : 'one of'} ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`
}

function hasType(type: VariableType, value: Json): boolean {
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    case 'integer':
      return Number.isSafeInteger(value)
    case 'list':
      return Array.isArray(value)
    case 'table':
      return isObject(value)
  }
}

/** What is wrong with an `[input]` table that fits its schema: names, and values that contradict each other. */
export function checkVariables(input: JsonObject): readonly Finding[] {
  return readVariables(input).flatMap((variable) => [...checkName(variable), ...checkValues(variable)])
}

/** Names stand in templates and on the command line. */
function checkName({ name }: InputVariable): readonly Finding[] {
  if (/^[A-Za-z_][\w-]*$/.test(name)) return []
  const message = `${JSON.stringify(name)} cannot be the name of an input variable`
  const hint = 'Use letters, digits, "_" and "-", and begin with a letter.'
  return [{ code: 'CONFIG_INVALID', message, hint, path: ['input', name], part: 'key' }]
}

function checkValues(variable: InputVariable): readonly Finding[] {
  const { name, type, required, default: value, choices } = variable
  if (choices?.length === 0) {
    return [finding(name, 'enum', { says: 'must hold a value', hint: 'Write its values, or leave enum out.' })]
  }
  const wrong = type === 'list' ? [] : (choices ?? []).filter((choice) => !hasType(type, choice))
  if (wrong.length > 0) {
    const says = `must hold ${typeTexts[type]} only, not ${describeValue(wrong[0])}`
    return [finding(name, 'enum', { says, hint: typeHint(variable) })]
  }
  if (value === undefined) return []
  if (required) {
    const says = 'has no effect beside a default'
    return [finding(name, 'required', { says, hint: 'Remove one of them: a default makes it optional.' })]
  }
  const expected = misfit(variable, value)
  if (expected === undefined) return []
  const says = `must be ${expected}, not ${describeValue(value)}`
  return [finding(name, 'default', { says, hint: typeHint(variable) })]
}

function typeHint({ type }: InputVariable): string {
  return type === 'string' ? 'Without type = "…" it is text.' : `Its type is "${type}".`
}

function finding(name: string, key: string, { says, hint }: { readonly says: string; readonly hint: string }): Finding {
  return {
    code: 'CONFIG_INVALID',
    message: `"input.${name}.${key}" ${says}`,
    hint,
    path: ['input', name, key],
    part: 'value',
  }
}
