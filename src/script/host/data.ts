import { compareBytes } from '../../base/byte-order.ts'
import type { DataSource } from '../../base/data-text.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { parseExactToml, stringifyToml } from '../../base/toml.ts'
import { parseYamlDocuments, stringifyYaml } from '../../base/yaml.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, type HostCall, isTable, type LuaTable, luaTypeName } from './call.ts'
import { withoutTopNull } from './json.ts'
import { type HostModule, slow } from './module.ts'

/** `aip.toml`. Dates are read as text. Its code is loaded on the first call, as for `aip.yaml`. */
export const tomlModule: HostModule = {
  name: 'aip.toml',
  functions: {
    /**
     * `aip.toml.parse(text) → table` Parses TOML; dates become strings. Invalid TOML is an error that names the line.
     */
    parse: slow((call) => readToml({ text: call.text(0, 'the text'), what: 'the text', name: `${call.name} failed` })),
    /**
     * `aip.toml.stringify(table) → string`
     * A table as TOML, keys sorted. Lists at the top level, null and NaN are errors, because TOML cannot represent
     * them.
     */
    stringify: slow(writeToml, { tables: 'data' }),
  },
}

/** `aip.yaml`. */
export const yamlModule: HostModule = {
  name: 'aip.yaml',
  functions: {
    /**
     * `aip.yaml.parse(text?) → list?` Parses YAML into a list of its documents, even if there is only one. nil for nil;
     * invalid YAML is an error that names the line.
     */
    parse: slow(async (call) => {
      const text = call.optionalTextOrNumber(0, 'the text')
      return text === undefined ? undefined : readYaml({ text, what: 'the text', name: `${call.name} failed` })
    }),
    /**
     * `aip.yaml.stringify(value) → string` The value as one YAML document, keys sorted. Functions and NaN are errors.
     */
    stringify: slow((call) => writeYaml([call.args[0]], call), { tables: 'data' }),
    /**
     * `aip.yaml.stringify_multi_docs(documents) → string`
     * The values of a list as YAML documents, with `---` between them.
     */
    stringify_multi_docs: slow((call) => writeYaml(call.list(0, 'the documents'), call), { tables: 'data' }),
  },
}

export interface TextSource {
  readonly text: string
  /** What messages call the text: `the text`, or the file as the script named it. */
  readonly what: string
  /** The start of messages. */
  readonly name: string
}

/** @throws BatonError SCRIPT_FAILED naming the line of the text */
export async function readToml(source: TextSource): Promise<LuaValue> {
  return located(source, parseExactToml)
}

/** All documents of a YAML text, in order; nil for null ones. @throws BatonError SCRIPT_FAILED naming the line */
export async function readYaml(source: TextSource): Promise<readonly LuaValue[]> {
  return (await located(source, parseYamlDocuments)).map(withoutTopNull)
}

async function located<T>({ text, what, name }: TextSource, parse: (source: DataSource) => Promise<T>): Promise<T> {
  try {
    return await parse({ file: what, text, block: text, firstLine: 1, what, code: 'SCRIPT_FAILED' })
  } catch (error) {
    if (!(error instanceof BatonError) || error.place?.line === undefined) throw error
    const { line, column = 1 } = error.place
    throw argumentError(name, `${messageOf(error)} (line ${line}, column ${column})`)
  }
}

async function writeToml(call: HostCall): Promise<string> {
  const [value] = call.args
  if (!isTable(value)) throw call.error(`the value must be a table, but was ${luaTypeName(value)}`)
  // an empty table is read as an empty list
  const data = Array.isArray(value) && value.length === 0 ? {} : value
  if (Array.isArray(data)) throw call.error('the value must be a table with keys, but was a list')
  try {
    return await stringifyToml(plainData(data, { nulls: 'refused' }) as PlainTable)
  } catch (error) {
    throw call.error(messageOf(error))
  }
}

async function writeYaml(documents: readonly LuaValue[], call: HostCall): Promise<string> {
  try {
    return await stringifyYaml(documents.map((document) => plainData(document, { nulls: 'kept' })))
  } catch (error) {
    throw call.error(messageOf(error))
  }
}

/** The data that TOML and YAML are written from: JSON data, with integers of any size. */
type PlainData = null | boolean | number | bigint | string | readonly PlainData[] | PlainTable
interface PlainTable {
  readonly [key: string]: PlainData
}

interface PlainOptions {
  /** TOML has no null: an error is better than dropping values. */
  readonly nulls: 'kept' | 'refused'
}

/**
 * A Lua value read as `data` with its keys in byte order. nil in a list becomes null.
 * @throws Error for NaN, infinity and text that is not UTF-8, naming the place
 */
function plainData(value: LuaValue, options: PlainOptions, where = 'the value'): PlainData {
  if (value === undefined || value === null) {
    if (options.nulls === 'kept') return null
    throw new Error(`${where} is null, which TOML cannot represent`)
  }
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw new Error(`${where} is ${value}, which cannot be written as a number`)
  }
  if (!isTable(value)) throw new Error(`${where} is a ${luaTypeName(value)} that is not UTF-8 text`)
  const inner = (item: LuaValue, step: string): PlainData => plainData(item, options, where + step)
  if (Array.isArray(value)) return value.map((item: LuaValue, index) => inner(item, `[${index + 1}]`))
  const table = value as LuaTable
  const keys = Object.keys(table).filter((key) => table[key] !== undefined)
  return Object.fromEntries(keys.toSorted(compareBytes).map((key) => [key, inner(table[key], `.${key}`)]))
}
