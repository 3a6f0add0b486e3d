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
  /** `message` says what is wrong, `at` where in the schema. */
  | { readonly kind: 'invalid'; readonly message: string; readonly at: DataPath }

/**
 * Reads a JSON Schema: 2020-12, or draft-07 when `$schema` says so. References lead to places in the same schema;
 * nothing is ever loaded. `format` is not checked, and unknown keywords are passed over: models differ in what they
 * know, and a schema that one of them takes should not be refused here.
 */
export async function compileSchema(schema: JsonObject): Promise<SchemaResult> {
  const dialect = dialectOf(schema['$schema'])
  if (dialect === undefined) {
    const message = `$schema is ${JSON.stringify(schema['$schema'])}; JSON Schema 2020-12 and draft-07 are known`
    return { kind: 'invalid', message, at: ['$schema'] }
  }
  if ('$async' in schema) return { kind: 'invalid', message: '"$async" is not part of JSON Schema', at: ['$async'] }
  const ajv = await createValidator(dialect)
  const { $schema: _, ...plain } = schema
  try {
    if (ajv.validateSchema(plain) !== true) return invalid(ajv.errors ?? [], plain)
    const check = ajv.compile(plain)
    const validate = (value: unknown): readonly SchemaProblem[] => {
      if (isDeeper(value, deepest)) return [{ path: '$', message: `is nested deeper than ${deepest} levels` }]
      return check(value) ? [] : schemaProblems((check.errors ?? []).map(findingOf), value)
    }
    return { kind: 'ok', compiled: { schema, validate: guarded(validate) } }
  } catch (error) {
    return { kind: 'invalid', message: compileMessage(error), at: [] }
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

function invalid(errors: readonly ErrorObject[], schema: JsonObject): SchemaResult {
  const findings = errors.map(findingOf)
  const [first] = findings
  const problem = schemaProblems(findings, schema)[0]
  if (first === undefined || problem === undefined) return { kind: 'invalid', message: 'it is no schema', at: [] }
  return { kind: 'invalid', message: `${problem.path} ${problem.message}`, at: valuePath(first, schema) }
}

function compileMessage(error: unknown): string {
  if (isObject(error) && typeof error['missingRef'] === 'string') {
    const reference = JSON.stringify(error['missingRef'])
    return `it refers to ${reference}, which is not in it; references lead to places in the same schema: "#/$defs/name"`
  }
  return messageOf(error)
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
