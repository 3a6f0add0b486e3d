import { cutText } from './cut-text.ts'
import type { DataPath } from './data-text.ts'
import { isObject } from './json.ts'

/** What is wrong with one value. */
export interface SchemaProblem {
  /** Path of the value: `$.items[2].name`; `$` is the whole. */
  readonly path: string
  /** Without a full stop: `must be a string, but is 3`. */
  readonly message: string
  /** Path of the violated keyword in the schema. */
  readonly at?: DataPath
}

export interface SchemaFinding {
  readonly keyword: string
  /** JSON pointer to the value. */
  readonly instancePath: string
  /** Path of the keyword in the schema. */
  readonly schemaAt?: DataPath
  /** Details of the validator. */
  readonly params: { readonly [name: string]: unknown }
  /** The value of the keyword in the schema. */
  readonly schema?: unknown
  /** The value. */
  readonly data?: unknown
  readonly message?: string | undefined
  /** Set when the name of this key is invalid. */
  readonly propertyName?: string | undefined
}

const mostProblems = 20

/** Readable problems of a value, without duplicates, at most 20. */
export function schemaProblems(findings: readonly SchemaFinding[], root: unknown): readonly SchemaProblem[] {
  const problems = new Map<string, SchemaProblem>()
  for (const finding of findings) {
    // these only summarize other findings
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

/** Path of the value of a finding. */
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

/** A path in messages: `$.items[2]["a b"]`. */
function valuePathText(path: DataPath): string {
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`
    return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  })
  return `$${steps.join('')}`
}

type Sentence = (finding: SchemaFinding) => string

const compared =
  (relation: string): Sentence =>
  ({ params, data }) =>
    `must be ${relation} ${String(params['limit'])}, but is ${shown(data)}`

const counted =
  (relation: string, what: string): Sentence =>
  ({ params }) =>
    `must have ${relation} ${plural(params['limit'] ?? params['len'], what)}`

const missing: Sentence = ({ params }) =>
  `the key ${quoted(params['missingProperty'])} is missing; ${quoted(params['property'])} needs it`

const noneFits: Sentence = ({ schema }) =>
  `must fit one of ${Array.isArray(schema) ? schema.length : 0} alternatives, but fits none (the problems of each one are listed too)`

const atMostItems = counted('at most', 'item')

/** The message about a value, by the keyword of the schema. */
const sentences: ReadonlyMap<string, Sentence> = new Map<string, Sentence>([
  ['type', ({ params, data }) => `must be ${kindsText(params['type'])}, but is ${shown(data)}`],
  ['required', ({ params }) => `the key ${quoted(params['missingProperty'])} is missing`],
  ['dependentRequired', missing],
  ['dependencies', missing],
  ['additionalProperties', ({ params }) => `the key ${quoted(params['additionalProperty'])} is not allowed`],
  ['unevaluatedProperties', ({ params }) => `the key ${quoted(params['unevaluatedProperty'])} is not allowed`],
  ['enum', ({ params, data }) => `must be ${choices(params['allowedValues'])}, but is ${shown(data)}`],
  ['const', ({ params, data }) => `must be ${valueText(params['allowedValue'])}, but is ${shown(data)}`],
  ['minimum', compared('at least')],
  ['maximum', compared('at most')],
  ['exclusiveMinimum', compared('above')],
  ['exclusiveMaximum', compared('below')],
  ['multipleOf', ({ params, data }) => `must be a multiple of ${String(params['multipleOf'])}, but is ${shown(data)}`],
  ['minLength', counted('at least', 'character')],
  ['maxLength', counted('at most', 'character')],
  ['pattern', ({ params, data }) => `must match the pattern ${String(params['pattern'])}, but is ${shown(data)}`],
  ['minItems', counted('at least', 'item')],
  ['maxItems', atMostItems],
  ['items', atMostItems],
  ['additionalItems', atMostItems],
  ['unevaluatedItems', atMostItems],
  [
    'uniqueItems',
    ({ params }) => `the items ${String(params['j'])} and ${String(params['i'])} (counted from 0) are equal`,
  ],
  ['contains', containsText],
  ['minProperties', counted('at least', 'key')],
  ['maxProperties', counted('at most', 'key')],
  ['anyOf', noneFits],
  [
    'oneOf',
    (finding) =>
      Array.isArray(finding.params['passingSchemas'])
        ? 'fits more than one of the alternatives, but must fit exactly one'
        : noneFits(finding),
  ],
  ['not', () => 'is an excluded value'],
  ['false schema', () => 'must not be present'],
])

function sentence(finding: SchemaFinding): string {
  return sentences.get(finding.keyword)?.(finding) ?? finding.message ?? `does not fit "${finding.keyword}"`
}

function quoted(name: unknown): string {
  return JSON.stringify(typeof name === 'string' ? cutText(name, 200) : name) ?? ''
}

function plural(count: unknown, what: string): string {
  return `${String(count)} ${what}${count === 1 ? '' : 's'}`
}

function containsText({ params: { minContains, maxContains } }: SchemaFinding): string {
  const least = `must have at least ${plural(minContains, 'matching item')}`
  return typeof maxContains === 'number' ? `${least} and at most ${maxContains}` : least
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

/** A value of the schema, in full: the reader has to write it. */
function valueText(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}

const longestText = 60

/** A value of the data, shortened. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'an object'
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') return valueText(value)
  const start = Array.from(value.slice(0, 2 * longestText + 1))
  return JSON.stringify(start.length <= longestText ? value : `${start.slice(0, longestText).join('')}…`)
}
