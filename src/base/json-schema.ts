import type { Ajv, ErrorObject, Options } from 'ajv'
import type { DataPath } from './data-text.ts'
import { messageOf } from './error.ts'
import { isObject, type JsonObject } from './json.ts'
import { schemaProblems, type SchemaFinding, type SchemaProblem, valuePath } from './schema-problem.ts'

/** A JSON Schema that values can be held against. */
export interface CompiledSchema {
  readonly schema: JsonObject
  /** What is wrong with a value that came from JSON: nothing when it fits, at most 20 problems otherwise. */
  readonly validate: (value: unknown) => readonly SchemaProblem[]
}

export type SchemaResult =
  | { readonly kind: 'ok'; readonly compiled: CompiledSchema }
  /** `message` says what is wrong, `at` where in the schema; `others` is what is wrong besides. */
  | ({ readonly kind: 'invalid'; readonly others: readonly SchemaMistake[] } & SchemaMistake)

/** Something wrong with a schema itself. */
interface SchemaMistake {
  readonly message: string
  readonly at: DataPath
}

/**
 * Reads a JSON Schema: 2020-12, or draft-07 when `$schema` says so. References lead to places in the same schema;
 * nothing is ever loaded. `format` is not checked, and unknown keywords are passed over: models differ in what they
 * know, and a schema that one of them takes should not be refused here.
 */
export async function compileSchema(schema: JsonObject): Promise<SchemaResult> {
  const dialect = dialectOf(schema['$schema'])
  if (dialect === undefined) {
    const message = `$schema is ${JSON.stringify(schema['$schema'])}; JSON Schema 2020-12 and draft-07 are known`
    return { kind: 'invalid', message, at: ['$schema'], others: [] }
  }
  if ('$async' in schema) {
    return { kind: 'invalid', message: '"$async" is not part of JSON Schema', at: ['$async'], others: [] }
  }
  const ajv = await createValidator(dialect)
  const { $schema: _, ...plain } = schema
  try {
    if (ajv.validateSchema(plain) !== true) return invalid(ajv.errors ?? [], plain)
    const check = ajv.compile(plain)
    const validate = (value: unknown): readonly SchemaProblem[] => {
      if (isDeeper(value, deepest)) return [{ path: '$', message: `is nested deeper than ${deepest} levels` }]
      return check(value)
        ? []
        : schemaProblems(
            (check.errors ?? []).map((error) => placedFinding(error, plain)),
            value,
          )
    }
    return { kind: 'ok', compiled: { schema, validate: guarded(validate) } }
  } catch (error) {
    return { kind: 'invalid', message: compileMessage(error), at: placeOfMistake(error, plain), others: [] }
  }
}

type Dialect = '2020-12' | 'draft-07'

function dialectOf(name: unknown): Dialect | undefined {
  if (name === undefined) return '2020-12'
  if (typeof name !== 'string') return undefined
  const bare = name.replace(/^https?:\/\//, '').replace(/#$/, '')
  if (bare === 'json-schema.org/draft/2020-12/schema') return '2020-12'
  return bare === 'json-schema.org/draft-07/schema' ? 'draft-07' : undefined
}

/** A validator for one schema: those that it has seen stay in it, and their names would meet. */
async function createValidator(dialect: Dialect): Promise<Ajv> {
  const options: Options = {
    allErrors: true,
    strict: false,
    strictNumbers: true,
    verbose: true,
    ownProperties: true,
    validateFormats: false,
    logger: false,
  }
  // in the bundled command a CommonJS package has no other export
  if (dialect === 'draft-07') return new (await import('ajv')).default.Ajv(options)
  return new (await import('ajv/dist/2020.js')).default.Ajv2020(options)
}

function findingOf(error: ErrorObject): SchemaFinding {
  const { keyword, instancePath, params, schema, data, message, propertyName } = error
  return { keyword, instancePath, params, schema: schema as unknown, data: data as unknown, message, propertyName }
}

/** With the place in the schema, which the validator gives as the fragment of a URL. */
function placedFinding(error: ErrorObject, schema: JsonObject): SchemaFinding {
  const finding = findingOf(error)
  const { schemaPath } = error
  if (!schemaPath.startsWith('#/')) return finding
  return { ...finding, schemaAt: valuePath({ instancePath: decoded(schemaPath.slice(1)) }, schema) }
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** One mistake for each place: what the validator says first there, because the rest follows from it. */
function invalid(errors: readonly ErrorObject[], schema: JsonObject): SchemaResult {
  const mistakes = new Map<string, SchemaMistake>()
  for (const finding of errors.map(findingOf)) {
    const at = valuePath(finding, schema)
    const [problem] = schemaProblems([finding], schema)
    const key = JSON.stringify(at)
    if (problem === undefined || mistakes.has(key)) continue
    mistakes.set(key, { message: `${problem.path} ${problem.message}`, at })
  }
  const [first = { message: 'it is no schema', at: [] }, ...others] = [...mistakes.values()]
  return { kind: 'invalid', ...first, others: others.slice(0, 20) }
}

function compileMessage(error: unknown): string {
  if (isObject(error) && typeof error['missingRef'] === 'string') {
    const reference = JSON.stringify(error['missingRef'])
    return `it refers to ${reference}, which is not in it; references lead to places in the same schema: "#/$defs/name"`
  }
  return messageOf(error)
}

/** Where what the validator cannot use is written: a reference that leads nowhere, a bad pattern; when it is once. */
function placeOfMistake(error: unknown, schema: JsonObject): DataPath {
  const reference = isObject(error) ? error['missingRef'] : undefined
  const isMeant = ([path, value]: Entry): boolean =>
    typeof reference === 'string'
      ? path.at(-1) === '$ref' && value === reference
      : path.at(-1) === 'pattern' && typeof value === 'string' && !isPattern(value)
  const found: DataPath[] = []
  let layer: readonly Entry[] = [[[], schema]]
  for (let level = 0; layer.length > 0 && level < deepest; level += 1) {
    layer = layer.flatMap(([path, value]) => entriesOf(value).map(([key, inner]): Entry => [[...path, key], inner]))
    found.push(...layer.filter(isMeant).map(([path]) => path))
  }
  return found.length === 1 ? (found[0] ?? []) : []
}

type Entry = readonly [DataPath, unknown]

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}

function entriesOf(value: unknown): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return value.map((item: unknown, index) => [index, item])
  return isObject(value) ? Object.entries(value) : []
}

/** Deeper answers are refused: what reads them later goes down level by level. */
const deepest = 200

/** Without going down itself, so that no depth is too much for it. */
function isDeeper(value: unknown, levels: number): boolean {
  let layer: unknown[] = [value]
  for (let level = 0; layer.length > 0; level += 1) {
    if (level > levels) return true
    layer = layer.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
  }
  return false
}

/** A schema whose references lead in a circle ends in a full stack, whatever the value. */
function guarded(validate: CompiledSchema['validate']): CompiledSchema['validate'] {
  return (value) => {
    try {
      return validate(value)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return [{ path: '$', message: 'cannot be checked: the references of the schema lead in a circle' }]
    }
  }
}
