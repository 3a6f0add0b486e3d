import type { DataPath } from './data-text.ts'
import { isObject } from './json.ts'

/** What is wrong with one value. */
export interface SchemaProblem {
  /** Where the value stands: `$.items[2].name`; `$` is the whole. */
  readonly path: string
  /** What is said of it, without a full stop: `must be a string, but is 3`. */
  readonly message: string
  /** Keys and list indices that lead to what the value broke, in the schema. */
  readonly at?: DataPath
}

/** One finding of a JSON Schema validator. */
export interface SchemaFinding {
  readonly keyword: string
  /** JSON pointer to the value. */
  readonly instancePath: string
  /** Keys and list indices that lead to the keyword in the schema. */
  readonly schemaAt?: DataPath
  /** What the validator says about it beyond the keyword. */
  readonly params: { readonly [name: string]: unknown }
  /** What the schema holds at the keyword. */
  readonly schema?: unknown
  /** The value. */
  readonly data?: unknown
  readonly message?: string | undefined
  /** Set when it is the name of this key that does not fit. */
  readonly propertyName?: string | undefined
}

const mostProblems = 20

/** Readable problems of a value, each once, at most 20. */
export function schemaProblems(findings: readonly SchemaFinding[], root: unknown): readonly SchemaProblem[] {
  const problems = new Map<string, SchemaProblem>()
  for (const finding of findings) {
    // they only sum up findings of their own
    if (finding.keyword === 'if' || finding.keyword === 'propertyNames') continue
    const path = valuePathText(valuePath(finding, root))
    const about = finding.propertyName === undefined ? '' : `the name of the key ${quoted(finding.propertyName)} `
    const message = about + sentence(finding)
    const key = JSON.stringify([path, message])
    if (!problems.has(key))
      problems.set(key, { path, message, ...(finding.schemaAt === undefined ? {} : { at: finding.schemaAt }) })
    if (problems.size === mostProblems) break
  }
  return [...problems.values()]
}

/** Keys and list indices that lead to the value of a finding. */
export function valuePath({ instancePath }: Pick<SchemaFinding, 'instancePath'>, root: unknown): DataPath {
  const path: (string | number)[] = []
  let value = root
  for (const raw of instancePath.split('/').slice(1)) {
    const step = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(Array.isArray(value) ? Number(step) : step)
    value = Array.isArray(value) ? value[Number(step)] : isObject(value) ? value[step] : undefined
  }
  return path
}

/** A path as it is written in messages: `$.items[2]["a b"]`. */
function valuePathText(path: DataPath): string {
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`
    return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  })
  return `$${steps.join('')}`
}

function sentence({ keyword, params, schema, data, message }: SchemaFinding): string {
  const limit = String(params['limit'] ?? params['len'])
  switch (keyword) {
    case 'type':
      return `must be ${kindsText(params['type'])}, but is ${shown(data)}`
    case 'required':
      return `the key ${quoted(params['missingProperty'])} is missing`
    case 'dependentRequired':
    case 'dependencies':
      return `the key ${quoted(params['missingProperty'])} is missing; ${quoted(params['property'])} needs it`
    case 'additionalProperties':
      return `the key ${quoted(params['additionalProperty'])} is not allowed`
    case 'unevaluatedProperties':
      return `the key ${quoted(params['unevaluatedProperty'])} is not allowed`
    case 'enum':
      return `must be ${choices(params['allowedValues'])}, but is ${shown(data)}`
    case 'const':
      return `must be ${valueText(params['allowedValue'])}, but is ${shown(data)}`
    case 'minimum':
      return `must be at least ${limit}, but is ${shown(data)}`
    case 'maximum':
      return `must be at most ${limit}, but is ${shown(data)}`
    case 'exclusiveMinimum':
      return `must be above ${limit}, but is ${shown(data)}`
    case 'exclusiveMaximum':
      return `must be below ${limit}, but is ${shown(data)}`
    case 'multipleOf':
      return `must be a multiple of ${String(params['multipleOf'])}, but is ${shown(data)}`
    case 'minLength':
      return `must have at least ${counted(limit, 'character')}`
    case 'maxLength':
      return `must have at most ${counted(limit, 'character')}`
    case 'pattern':
      return `must match the pattern ${String(params['pattern'])}, but is ${shown(data)}`
    case 'minItems':
      return `must have at least ${counted(limit, 'item')}`
    case 'maxItems':
    case 'items':
    case 'additionalItems':
    case 'unevaluatedItems':
      return `must have at most ${counted(limit, 'item')}`
    case 'uniqueItems':
      return `the items ${String(params['j'])} and ${String(params['i'])} (counted from 0) are equal`
    case 'contains':
      return containsText(params)
    case 'minProperties':
      return `must have at least ${counted(limit, 'key')}`
    case 'maxProperties':
      return `must have at most ${counted(limit, 'key')}`
    case 'anyOf':
      return noneFits(schema)
    case 'oneOf':
      return Array.isArray(params['passingSchemas'])
        ? 'fits more than one of the alternatives, but must fit exactly one'
        : noneFits(schema)
    case 'not':
      return 'is a value that is excluded'
    case 'false schema':
      return 'must not be there'
    default:
      return message ?? `does not fit "${keyword}"`
  }
}

function quoted(name: unknown): string {
  return JSON.stringify(name) ?? ''
}

function counted(limit: string, what: string): string {
  return `${limit} ${what}${limit === '1' ? '' : 's'}`
}

function containsText({ minContains, maxContains }: SchemaFinding['params']): string {
  const least = `must have at least ${counted(String(minContains), 'matching item')}`
  return typeof maxContains === 'number' ? `${least} and at most ${maxContains}` : least
}

function noneFits(schema: unknown): string {
  const count = Array.isArray(schema) ? schema.length : 0
  return `must fit one of ${count} alternatives, but fits none (the problems of each one are listed too)`
}

const kindNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
  object: 'an object',
  array: 'a list',
}

function kindsText(type: unknown): string {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  return types.map((name) => kindNames[String(name)] ?? String(name)).join(' or ')
}

const mostChoices = 20

function choices(values: unknown): string {
  const all: readonly unknown[] = Array.isArray(values) ? values : []
  const some = all.slice(0, mostChoices).map(valueText).join(', ')
  const rest = all.length > mostChoices ? ` and ${all.length - mostChoices} more` : ''
  return all.length === 1 ? some : `one of ${some}${rest}`
}

/** A value of the schema, whole: the reader has to write it. */
function valueText(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}

const longestText = 60

/** A value of the data, short. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'an object'
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') return valueText(value)
  const start = Array.from(value.slice(0, 2 * longestText + 1))
  return JSON.stringify(start.length <= longestText ? value : `${start.slice(0, longestText).join('')}…`)
}
