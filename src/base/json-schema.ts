import { decodeUri } from './decode-uri.ts'
import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv'
import { WorkerLimitError, runInWorker } from './worker-task.ts'
import type { DataPath } from './data-text.ts'
import { messageOf } from './error.ts'
import { isDeeper, isObject, type JsonObject, maxJsonDepth } from './json.ts'
import { isPattern, patternMemoryMb, patternMs, repeats } from './pattern.ts'
import { schemaProblems, type SchemaFinding, type SchemaProblem, valuePath } from './schema-problem.ts'

/** A JSON Schema ready to validate values. */
export interface CompiledSchema {
  readonly schema: JsonObject
  /** The problems of a parsed JSON value, at most 20; empty if it is valid. */
  readonly validate: (value: unknown) => readonly SchemaProblem[]
}

export type SchemaResult =
  | { readonly kind: 'ok'; readonly compiled: CompiledSchema }
  /** The first mistake and the others. */
  | ({ readonly kind: 'invalid'; readonly others: readonly SchemaMistake[] } & SchemaMistake)

/** A mistake in a schema itself. */
interface SchemaMistake {
  readonly message: string
  /** Path in the schema. */
  readonly at: DataPath
}

/**
 * Compiles a JSON Schema: 2020-12, or draft-07 if `$schema` says so. References are resolved within the schema; nothing
 * is ever loaded. `format` and unknown keywords are ignored: models differ in what they support, and a schema that one
 * of them accepts should not be refused here.
 */
export async function compileSchema(schema: JsonObject): Promise<SchemaResult> {
  const dialect = dialectOf(schema['$schema'])
  if (dialect === undefined) {
    const message = `$schema is ${JSON.stringify(schema['$schema'])}; JSON Schema 2020-12 and draft-07 are supported`
    return { kind: 'invalid', message, at: ['$schema'], others: [] }
  }
  if ('$async' in schema) {
    return { kind: 'invalid', message: '"$async" is not part of JSON Schema', at: ['$async'], others: [] }
  }
  if (isTooLarge(schema)) {
    const message = `it has more than ${mostParts} tables and lists, not counting those in "enum"`
    return { kind: 'invalid', message, at: [], others: [] }
  }
  const rules = await (rulesOf[dialect] ??= createValidator(dialect))
  const { $schema: _, ...plain } = schema
  try {
    if (rules.validateSchema(plain) !== true) return invalid(rules.errors ?? [], plain)
    const check = (await createValidator(dialect)).compile(plain)
    return { kind: 'ok', compiled: { schema, validate: (value) => problemsOf(value, check, plain) } }
  } catch (error) {
    return { kind: 'invalid', message: compileMessage(error), at: placeOfMistake(error, plain), others: [] }
  }
}

/** Compiling takes about 0.1 ms for each part, and the stack for some kinds of ten times as many. */
const mostParts = 10_000

function isTooLarge(schema: JsonObject): boolean {
  const left: unknown[] = [schema]
  for (let parts = 0, value = left.pop(); value !== undefined; value = left.pop()) {
    if (++parts > mostParts) return true
    for (const [key, inner] of Object.entries(value as object) as [string, unknown][]) {
      const isPart = typeof inner === 'object' && inner !== null
      if (isPart && !(key === 'enum' && Array.isArray(inner))) left.push(inner)
    }
  }
  return false
}

function problemsOf(value: unknown, check: ValidateFunction, schema: JsonObject): readonly SchemaProblem[] {
  if (isDeeper(value, maxJsonDepth)) return tooDeep
  try {
    if (check(value)) return []
  } catch (error) {
    // circular references overflow the stack, whatever the value
    if (!(error instanceof RangeError)) throw error
    return [{ path: '$', message: endlessReferences }]
  }
  const findings = (check.errors ?? []).map((error) => findingOf(error, schema))
  return schemaProblems(findings, value)
}

const tooDeep: readonly SchemaProblem[] = [{ path: '$', message: `is nested deeper than ${maxJsonDepth} levels` }]

const endlessReferences = 'cannot be checked: the references of the schema form a cycle'

/**
 * What of a compiled schema the checker reads differently from its author, or cannot check at all: patterns with POSIX
 * classes, which JavaScript takes for something else, and references that form a cycle.
 */
export function unsupportedPart({ schema, validate }: CompiledSchema): string | undefined {
  for (const [path, value] of entriesBelow(schema, [])) {
    const pattern = path.at(-1) === 'pattern' ? value : path.at(-2) === 'patternProperties' ? path.at(-1) : undefined
    if (typeof pattern === 'string' && /\[\[:\^?\w+:\]/.test(pattern)) return `the pattern ${pattern} is not JavaScript`
  }
  return validate({}).find(({ message }) => message === endlessReferences)?.message
}

/**
 * Like `validate`, but if patterns of the schema could run forever, in a thread for five seconds at most. Rejects with
 * the signal's reason.
 */
export async function checkBySchema(
  { schema, validate }: CompiledSchema,
  value: unknown,
  signal: AbortSignal,
): Promise<readonly SchemaProblem[]> {
  // a value that deep cannot be copied to the thread
  if (isDeeper(value, maxJsonDepth)) return tooDeep
  if (!hasPatterns(schema)) return validate(value)
  try {
    const limits = { timeMs: patternMs, memoryMb: patternMemoryMb, signal }
    return (await runInWorker({ name: 'schema.validate', args: [schema, value] }, limits)) as readonly SchemaProblem[]
  } catch (error) {
    if (!(error instanceof WorkerLimitError)) throw error
    return [{ path: '$', message: `cannot be checked against the patterns of the schema: ${error.message}` }]
  }
}

/** Runs in the thread, where the schema is compiled again. */
export async function validateBySchema(schema: JsonObject, value: unknown): Promise<readonly SchemaProblem[]> {
  const result = await compileSchema(schema)
  if (result.kind === 'invalid') throw new Error(result.message)
  return result.compiled.validate(value)
}

/** Whether a pattern of the schema repeats anything: patterns without repetition visit each position of a text once. */
function hasPatterns(schema: JsonObject): boolean {
  for (const [path, value] of entriesBelow(schema, [])) {
    const [key, above] = [path.at(-1), path.at(-2)]
    if (key === 'pattern' && typeof value === 'string' && repeats(value)) return true
    if (above === 'patternProperties' && typeof key === 'string' && repeats(key)) return true
  }
  return false
}

type Dialect = '2020-12' | 'draft-07'

function dialectOf(name: unknown): Dialect | undefined {
  if (name === undefined) return '2020-12'
  if (typeof name !== 'string') return undefined
  const bare = name.replace(/^https?:\/\//, '').replace(/#$/, '')
  if (bare === 'json-schema.org/draft/2020-12/schema') return '2020-12'
  return bare === 'json-schema.org/draft-07/schema' ? 'draft-07' : undefined
}

/** Validators of schemas themselves, cached: compiling one takes a hundred times as long as compiling most schemas. */
const rulesOf: { [dialect in Dialect]?: Promise<Ajv> } = {}

/** A validator for one schema: shared by several, it would report names that they have in common as duplicates. */
async function createValidator(dialect: Dialect): Promise<Ajv> {
  const options: Options = {
    allErrors: true,
    strict: false,
    strictNumbers: true,
    verbose: true,
    ownProperties: true,
    validateFormats: false,
    validateSchema: false,
    logger: false,
    // takes longer than it saves for a schema that checks a few values
    code: { optimize: false },
  }
  // in the bundled command a CommonJS package has no other export
  if (dialect === 'draft-07') return new (await import('ajv')).default.Ajv(options)
  return new (await import('ajv/dist/2020.js')).default.Ajv2020(options)
}

function findingOf({ schemaPath, schema, data, ...error }: ErrorObject, root: JsonObject): SchemaFinding {
  const finding = { ...error, schema: schema as unknown, data: data as unknown }
  if (!schemaPath.startsWith('#/')) return finding
  // the validator reports schema paths as URL fragments
  return { ...finding, schemaAt: valuePath({ instancePath: decodeUri(schemaPath.slice(1)) }, root) }
}

/** One mistake per path: the first one the validator reports there, because the others follow from it. */
function invalid(errors: readonly ErrorObject[], schema: JsonObject): SchemaResult {
  const mistakes = new Map<string, SchemaMistake>()
  for (const error of errors) {
    const at = valuePath(error, schema)
    const [problem] = schemaProblems([findingOf(error, schema)], schema)
    const key = JSON.stringify(at)
    if (problem === undefined || mistakes.has(key)) continue
    mistakes.set(key, { message: `${problem.path} ${problem.message}`, at })
  }
  const [first = { message: 'it is not a schema', at: [] }, ...others] = [...mistakes.values()]
  return { kind: 'invalid', ...first, others: others.slice(0, 20) }
}

function compileMessage(error: unknown): string {
  if (isObject(error) && typeof error['missingRef'] === 'string') {
    const reference = JSON.stringify(error['missingRef'])
    return `it refers to ${reference}, which it does not contain; references must point into the same schema: "#/$defs/name"`
  }
  if (error instanceof RangeError) return 'it is too large, or its references are too deep'
  return messageOf(error)
}

/** Path of the unresolved reference or invalid pattern, if it occurs exactly once. */
function placeOfMistake(error: unknown, schema: JsonObject): DataPath {
  const reference = isObject(error) ? error['missingRef'] : undefined
  const isMistake = ([path, value]: Entry): boolean =>
    typeof reference === 'string'
      ? path.at(-1) === '$ref' && value === reference
      : path.at(-1) === 'pattern' && typeof value === 'string' && !isPattern(value)
  const [found, other] = [...entriesBelow(schema, [])].filter(isMistake)
  return found === undefined || other !== undefined ? [] : found[0]
}

type Entry = readonly [DataPath, unknown]

function* entriesBelow(value: unknown, path: DataPath): Generator<Entry> {
  const entries = Array.isArray(value) ? value.entries() : isObject(value) ? Object.entries(value) : []
  for (const [key, inner] of entries) {
    const place = [...path, key]
    yield [place, inner]
    yield* entriesBelow(inner, place)
  }
}
