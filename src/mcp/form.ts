import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'

/** A value that a server asks the user for. All texts come from the server. */
export interface FormField {
  readonly name: string
  readonly title: string
  readonly description?: string
  readonly isRequired: boolean
  /** Valid for the field. */
  readonly default?: Json
  readonly kind: FieldKind
}

type FieldKind =
  | { readonly kind: 'text'; readonly format?: string; readonly least: number; readonly most: number }
  | { readonly kind: 'number'; readonly isWhole: boolean; readonly least: number; readonly most: number }
  | { readonly kind: 'boolean' }
  /** `several`: how many may be chosen; one if it is missing. */
  | {
      readonly kind: 'choice'
      readonly choices: readonly Choice[]
      readonly several?: { readonly least: number; readonly most: number }
    }

interface Choice {
  readonly value: string
  readonly title: string
}

/** What was typed: a value, nothing, or why it is invalid, as the end of a sentence about the field. */
export type FieldInput =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'none' }
  | { readonly problem: string; readonly kind: 'wrong' }

const mostFields = 50

/**
 * The fields of a form, from its schema: an object of strings, numbers, booleans and choices, as the protocol defines
 * it.
 * @throws BatonError MCP_FAILED for any other schema
 */
export function formFields(schema: JsonObject): readonly FormField[] {
  const { properties = {}, required } = schema
  if (!isJsonObject(properties)) throw notAForm('its properties are not an object')
  const entries = Object.entries(properties)
  if (entries.length > mostFields) throw notAForm(`it has more than ${mostFields} fields`)
  const needed = Array.isArray(required) ? required : []
  return entries.map(([name, given]) => {
    if (!isJsonObject(given)) throw notAForm(`the field ${JSON.stringify(name)} has no schema`)
    const field = { name, isRequired: needed.includes(name), kind: kindOf(name, given) }
    const preset = given['default']
    const isFit = preset !== undefined && problemOf(preset, field.kind) === undefined
    const { title, description } = given
    return {
      ...field,
      title: typeof title === 'string' && title !== '' ? title : name,
      ...(typeof description === 'string' && description !== '' && { description }),
      ...(isFit && { default: preset }),
    }
  })
}

function notAForm(why: string): BatonError {
  return new BatonError('MCP_FAILED', `the server asks for a form that cannot be shown: ${why}`)
}

function kindOf(name: string, schema: JsonObject): FieldKind {
  const { type, format, items } = schema
  const choices = choicesOf(schema)
  if (choices !== undefined) return { kind: 'choice', choices }
  switch (typeof type === 'string' ? type : '') {
    case 'string':
      return { kind: 'text', ...boundsOf(schema, 'Length', 0), ...(typeof format === 'string' && { format }) }
    case 'number':
    case 'integer': {
      const { minimum, maximum } = schema
      return {
        kind: 'number',
        isWhole: type === 'integer',
        least: numberOr(minimum, -Infinity),
        most: numberOr(maximum, Infinity),
      }
    }
    case 'boolean':
      return { kind: 'boolean' }
    case 'array': {
      const several = isJsonObject(items) ? choicesOf(items) : undefined
      if (several !== undefined) return { kind: 'choice', choices: several, several: boundsOf(schema, 'Items', 0) }
    }
  }
  throw notAForm(`the field ${JSON.stringify(name)} is not a text, number, boolean or choice`)
}

function boundsOf(schema: JsonObject, what: string, least: number): { readonly least: number; readonly most: number } {
  return { least: numberOr(schema[`min${what}`], least), most: numberOr(schema[`max${what}`], Infinity) }
}

function numberOr(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

/** From `enum`, with or without `enumNames`, or the newer forms with titles; undefined if it is not a choice. */
function choicesOf({ enum: values, enumNames: names, oneOf, anyOf }: JsonObject): readonly Choice[] | undefined {
  if (Array.isArray(values)) {
    const titles = Array.isArray(names) ? names : []
    return values.filter(isText).map((value, index) => ({ value, title: textOr(titles[index], value) }))
  }
  const titled = [oneOf, anyOf].find((list) => Array.isArray(list))
  return (titled as readonly Json[] | undefined)?.flatMap((one) => {
    const { const: value, title } = isJsonObject(one) ? one : {}
    return isText(value) ? [{ value, title: textOr(title, value) }] : []
  })
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}

function textOr(value: Json | undefined, otherwise: string): string {
  return isText(value) && value !== '' ? value : otherwise
}

/** Parses the user's input for a field; empty input means the default. */
export function readField({ kind, isRequired, default: preset }: FormField, typed: string): FieldInput {
  const text = typed.trim()
  if (text === '') {
    if (preset !== undefined) return { kind: 'value', value: preset }
    return isRequired ? { kind: 'wrong', problem: 'is required' } : { kind: 'none' }
  }
  const value = valueOf(kind, text)
  const problem = problemOf(value, kind)
  return problem === undefined ? { kind: 'value', value } : { kind: 'wrong', problem }
}

/** Converts the text as far as possible; a choice may be given by its number, value or title. */
function valueOf(kind: FieldKind, text: string): Json {
  switch (kind.kind) {
    case 'text':
      return text
    case 'number':
      return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text) ? Number(text) : text
    case 'boolean':
      return /^(?:y|yes|true)$/i.test(text) ? true : /^(?:n|no|false)$/i.test(text) ? false : text
    case 'choice':
      if (kind.several === undefined) return chosen(kind.choices, text)
      return [
        ...new Set(text.split(',').flatMap((one) => (one.trim() === '' ? [] : [chosen(kind.choices, one.trim())]))),
      ]
  }
}

function chosen(choices: readonly Choice[], text: string): string {
  const named = choices.find(({ value, title }) => value === text || title === text)
  return (named ?? choices[/^\d+$/.test(text) ? Number(text) - 1 : -1])?.value ?? text
}

/** Why a value is invalid for a field, as the end of a sentence about it. */
function problemOf(value: Json, kind: FieldKind): string | undefined {
  switch (kind.kind) {
    case 'text': {
      if (!isText(value)) return 'must be text'
      const { length } = Array.from(value)
      if (length < kind.least) return `must have at least ${kind.least} characters`
      if (length > kind.most) return `must have at most ${kind.most} characters`
      const { fits, what } = formats.get(kind.format ?? '') ?? anything
      return fits(value) ? undefined : `must be ${what}`
    }
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number'
      if (kind.isWhole && !Number.isInteger(value)) return 'must be a whole number'
      if (value < kind.least) return `must be at least ${kind.least}`
      return value > kind.most ? `must be at most ${kind.most}` : undefined
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be yes or no'
    case 'choice': {
      const isChoice = (one: Json): boolean => kind.choices.some((choice) => choice.value === one)
      if (kind.several === undefined) return isChoice(value) ? undefined : 'must be one of the choices'
      const { least, most } = kind.several
      if (!Array.isArray(value) || !value.every(isChoice))
        return 'must be one or more of the choices, separated by commas'
      if (value.length < least) return `must be at least ${least} of the choices`
      return value.length > most ? `must be at most ${most} of the choices` : undefined
    }
  }
}

interface Format {
  readonly fits: (text: string) => boolean
  readonly what: string
}

const anything: Format = { fits: () => true, what: '' }
const day = /^\d{4}-\d\d-\d\d$/
const formats: ReadonlyMap<string, Format> = new Map([
  ['email', { fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text), what: 'an e-mail address' }],
  ['uri', { fits: (text) => URL.canParse(text), what: 'an address such as https://example.com' }],
  ['date', { fits: (text) => day.test(text) && isTime(text), what: 'a date such as 2026-11-23' }],
  [
    'date-time',
    {
      fits: (text) => day.test(text.slice(0, 10)) && /T\d\d:\d\d/.test(text) && isTime(text),
      what: 'a time such as 2026-11-23T17:00:00Z',
    },
  ],
])

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text))
}
