import { resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { BatonError, isBatonError, messageOf, rewordError, type SourcePlace } from '../base/error.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Issue, issuesToError } from '../settings/issue.ts'
import { type CompiledSchema, compileSchema } from '../base/json-schema.ts'
import { isStored, type ReadLog, readSource } from '../base/reads.ts'
import { type ExactJson, JsonSyntaxError, parseJsonc } from '../base/json-text.ts'
import { parseYaml } from '../base/yaml.ts'

/** The schema that the answer of a file with `[output] schema` must match. */
export interface OutputSchema extends CompiledSchema {
  readonly placeAt: PlaceAt
}

type PlaceAt = (at: DataPath) => Promise<SourcePlace>

export interface SchemaSource {
  /** A JSON Schema, or the name of a JSON file that contains one. */
  readonly schema: string | JsonObject
  /** The folder of the prompt file, to which names are relative; absolute. */
  readonly dir: string
  /** Absolute. */
  readonly workspace: string
  readonly reads?: ReadLog | undefined
}

type PlaceOf = (path: DataPath, part: 'value') => Promise<SourcePlace>

/**
 * Reads `[output] schema`. A file must be in the workspace or below the folder of the prompt file, links resolved; it
 * may contain comments and trailing commas. References in a schema are followed only within it.
 * @throws BatonError CONFIG_INVALID placed in the JSON file or the front matter, FILE_UNREADABLE, OUTSIDE_WORKSPACE
 */
export async function loadOutputSchema(source: SchemaSource, placeOf: PlaceOf): Promise<OutputSchema> {
  const { schema } = source
  if (typeof schema !== 'string') return compile(schema, (at) => placeOf(['output', 'schema', ...at], 'value'))
  const place = await placeOf(['output', 'schema'], 'value')
  const file = resolve(source.dir, schema)
  const text = readSchemaFile(file, source, place)
  try {
    return await compile(parseSchemaFile(file, text), (at) => placeInJson({ file, text }, at))
  } catch (error) {
    throw isBatonError(error) ? rewordError(error, { from: place }) : error
  }
}

/**
 * Reads the schema of `--output-schema`. The file may be anywhere, because the user named it. Through the API, the
 * schema itself may be given, with the name of the prompt file for messages.
 * @throws BatonError CONFIG_INVALID placed in the file, FILE_UNREADABLE
 */
export async function loadSchemaFlag(
  schema: string | JsonObject,
  { promptFile, reads }: { readonly promptFile: string; readonly reads: ReadLog | undefined },
): Promise<OutputSchema> {
  if (typeof schema !== 'string') return compile(schema, async () => ({ file: promptFile }), 'the call')
  const file = schema
  let text: string
  try {
    text = readSource(file, reads)
  } catch (error) {
    throw isBatonError(error) ? rewordError(error, { message: `--output-schema: ${error.message}` }) : error
  }
  return compile(parseSchemaFile(file, text), (at) => placeInJson({ file, text }, at), '--output-schema')
}

async function compile(schema: JsonObject, placeAt: PlaceAt, what = '[output]'): Promise<OutputSchema> {
  const result = await compileSchema(schema)
  if (result.kind === 'ok') return { ...result.compiled, placeAt }
  const mistakes = [result, ...result.others].map(async ({ message, at }): Promise<Issue> => {
    const place = await placeAt(at)
    return { code: 'CONFIG_INVALID', message: `the schema of ${what} is not valid: ${message}`, hint, place }
  })
  const [first, ...others] = await Promise.all(mistakes)
  if (first === undefined) throw new Error('an invalid schema has a problem')
  throw issuesToError([first, ...others])
}

const hint = 'Write it as JSON Schema: type = "object", properties = { name = { type = "string" } }.'

function readSchemaFile(file: string, { dir, workspace, reads }: SchemaSource, place: SourcePlace): string {
  const real = realPath(file)
  // a stored file was allowed when it was read
  if (!isStored(file, reads) && ![workspace, dir].some((folder) => isInside(realPath(folder), real))) {
    throw new BatonError('OUTSIDE_WORKSPACE', `the schema file ${file} is outside the workspace ${workspace}`, {
      place,
      hint: 'Put it next to the prompt file or below it.',
    })
  }
  try {
    return readSource(file, reads)
  } catch (error) {
    if (!isBatonError(error) || error.place?.line !== undefined) throw error
    const hint = 'Names of schema files are relative to the prompt file.'
    throw new BatonError(error.code, error.message.replace(file, displayPath(workspace, file)), { place, hint })
  }
}

function parseSchemaFile(file: string, text: string): JsonObject {
  try {
    const schema = plain(parseJsonc(text) ?? null)
    if (isJsonObject(schema)) return schema
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    const { line, column } = error
    throw new BatonError('CONFIG_INVALID', `the schema file is not JSON: ${messageOf(error)}`, {
      place: { file, text, line, column },
      hint: 'Write JSON: keys and text in double quotes, values separated by commas, every bracket closed.',
    })
  }
  throw new BatonError('CONFIG_INVALID', 'the schema file does not contain an object', {
    place: { file, text, line: 1, column: 1 },
    hint: 'Start with { "type": "object", "properties": { … } }.',
  })
}

function plain(value: ExactJson): Json {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map((item: ExactJson) => plain(item))
  if (typeof value !== 'object' || value === null) return value as Json
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item as ExactJson)]))
}

/** Read as YAML, a superset of JSON, because that reader reports positions. A file with JSON comments has none. */
async function placeInJson({ file, text }: { file: string; text: string }, at: DataPath): Promise<SourcePlace> {
  if (at.length === 0) return { file, text, line: 1, column: 1 }
  const source = { file, text, block: text, firstLine: 1, what: 'the schema file', code: 'CONFIG_INVALID' } as const
  const position = await parseYaml(source).then(
    ({ locate }) => locate(at, 'value'),
    () => undefined,
  )
  return { file, text, ...position }
}
