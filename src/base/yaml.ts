import type * as Types from 'yaml'
import {
  dataError,
  maxDataDepth,
  paddedBlock,
  type DataPath,
  type DataSource,
  type DataText,
  type TextPosition,
} from './data-text.ts'
import { messageOf } from './error.ts'
import type { JsonObject } from './json.ts'
import type { ExactJson, ExactTable } from './jsonc.ts'

type Yaml = (typeof Types)['default']
type Root = Types.Node | null

/** What aliases may add, in values: enough for reuse, too little for a bomb. */
const maxAliasedValues = 10_000
const coreTags = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
)

/** What stands behind these is text to those who do not know them. */
const textTags = new Set(['tag:yaml.org,2002:timestamp', 'tag:yaml.org,2002:binary'])

interface Pair {
  readonly key: unknown
  readonly value: unknown
}

/** Settings hold what JSON can; scripts are given what AIPack gives them. */
type Readers = 'settings' | 'scripts'

interface Reading {
  readonly yaml: Yaml
  readonly readers: Readers
  readonly fail: (reason: string, hint: string, node: Types.Node) => Error
  readonly anchors: Map<string, Types.Node>
  /** The pairs of each mapping by key, for `locate`. */
  readonly mappings: Map<unknown, ReadonlyMap<string, Pair>>
  aliasDepth: number
  aliased: number
}

/**
 * Reads one YAML 1.2 document (core schema: no dates, `yes` is text) whose top level is a mapping; empty text is an
 * empty mapping. Refused: duplicate keys, tags of other schemas, merge keys, lists or mappings as keys, nan, infinity,
 * integers beyond 2^53, `__proto__`, aliases that grow without measure, more than 100 levels.
 * @throws BatonError with the source's code, and line and column in the whole file
 */
export async function parseYaml(source: DataSource): Promise<DataText> {
  const read = await readMapping(source, 'settings')
  if (read === undefined) return { data: {}, locate: async () => undefined }
  const { table, ...found } = read
  return { data: table as JsonObject, locate: async (path, part = 'key') => locate({ path, part }, found) }
}

/**
 * One document whose top level is a mapping, for scripts: as `parseYamlDocuments` reads it.
 * @throws BatonError with the source's code, and line and column in the whole file
 */
export async function parseYamlTable(source: DataSource): Promise<ExactTable> {
  return (await readMapping(source, 'scripts'))?.table ?? {}
}

interface ReadMapping {
  readonly table: ExactTable
  readonly root: Types.Node
  readonly reading: Reading
  readonly lines: Types.LineCounter
}

/** Undefined for empty text. */
async function readMapping(source: DataSource, readers: Readers): Promise<ReadMapping | undefined> {
  const { default: yaml } = await import('yaml')
  const lines = new yaml.LineCounter()
  const document = parseText(yaml, source, lines)
  const root: Root = document.contents
  const fail = failure(source, lines)
  if (root === null || isEmpty(yaml, root)) return undefined
  if (!yaml.isMap(root)) throw fail('must be a list of keys with values', 'Write one key: value on each line.', root)

  const reading = newReading(yaml, { readers, fail })
  return { table: plainValue(root, 0, reading) as ExactTable, root, reading, lines }
}

function failure(source: DataSource, lines: Types.LineCounter): Reading['fail'] {
  return (reason, advice, node) =>
    dataError(source, { reason, hint: advice }, positionOf(node, lines) ?? { line: source.firstLine, column: 1 })
}

function newReading(yaml: Yaml, { readers, fail }: Pick<Reading, 'readers' | 'fail'>): Reading {
  return { yaml, readers, fail, anchors: new Map(), mappings: new Map(), aliasDepth: 0, aliased: 0 }
}

/**
 * All documents of a YAML text in order, each any value, for scripts. What `parseYaml` refuses is refused here too, but:
 * integers of 64 bits beyond 2^53 are bigints and larger ones floats, `<<` is a key like others, and dates and bytes with
 * a tag are their text (as AIPack reads them).
 * @throws BatonError with the source's code, and line and column in the whole file
 */
export async function parseYamlDocuments(source: DataSource): Promise<readonly ExactJson[]> {
  const { default: yaml } = await import('yaml')
  const lines = new yaml.LineCounter()
  const documents = catching(source, () => yaml.parseAllDocuments(paddedBlock(source), parseOptions(lines)))
  const fail = failure(source, lines)
  return documents.map((document) => {
    refuseProblems(document, source, lines)
    return plainValue(document.contents as Root, 0, newReading(yaml, { readers: 'scripts', fail }))
  })
}

/** Values as YAML documents separated by `---`, keys in the order they have. Bigints keep all their digits. */
export async function stringifyYaml(documents: readonly unknown[]): Promise<string> {
  const { default: yaml } = await import('yaml')
  const options = { version: '1.2', lineWidth: 0, aliasDuplicateObjects: false } as const
  return documents.map((document) => yaml.stringify(document, options)).join('---\n')
}

function parseText(yaml: Yaml, source: DataSource, lines: Types.LineCounter): Types.Document.Parsed {
  const document = catching(source, () => yaml.parseDocument(paddedBlock(source), parseOptions(lines)))
  refuseProblems(document, source, lines)
  return document
}

function parseOptions(lineCounter: Types.LineCounter) {
  return {
    lineCounter,
    prettyErrors: false,
    uniqueKeys: false,
    intAsBigInt: true,
    logLevel: 'error',
    version: '1.2',
    schema: 'core',
  } as const
}

const hint = 'Write one key: value on each line, indented by spaces.'

function catching<T>(source: DataSource, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    const reason = reasonOf({ message: messageOf(error) })
    throw dataError(source, { reason, hint }, { line: source.firstLine, column: 1 })
  }
}

function refuseProblems(document: Types.Document, source: DataSource, lines: Types.LineCounter): void {
  const [problem] = [...document.errors, ...document.warnings]
  if (problem === undefined) return
  const [at, end] = problem.pos.map((offset) => lines.linePos(offset))
  const range = { line: at?.line ?? 1, column: at?.col ?? 1, endLine: end?.line ?? 1, endColumn: end?.col ?? 1 }
  throw dataError(source, { reason: reasonOf(problem), hint }, range)
}

function reasonOf({ code, message }: { readonly code?: string; readonly message: string }): string {
  if (code === 'MULTIPLE_DOCS') return 'is not valid YAML: it holds more than one document'
  return /call stack/.test(message) ? 'is nested too deeply' : `is not valid YAML: ${message}`
}

function isEmpty(yaml: Yaml, node: Types.Node): boolean {
  return yaml.isScalar(node) && node.value === null && (node.source ?? '') === ''
}

function plainValue(node: Root, depth: number, reading: Reading): ExactJson {
  if (node === null) return null
  const { yaml, fail, anchors, readers } = reading
  if (depth > maxDataDepth) throw fail(`nests values deeper than ${maxDataDepth} levels`, 'Flatten it.', node)
  if (yaml.isAlias(node)) return aliasedValue(node.source, node, { depth, reading })
  if (reading.aliasDepth > 0 && ++reading.aliased > maxAliasedValues)
    throw fail('repeats too much through aliases', 'Write the values out.', node)
  if (readers === 'scripts' && yaml.isScalar(node) && textTags.has(node.tag ?? '')) return node.source ?? ''
  if (node.tag !== undefined && !coreTags.has(node.tag))
    throw fail(`uses the tag ${node.tag}, which is not supported`, 'Leave the tag out.', node)
  if ('anchor' in node && node.anchor !== undefined) anchors.set(node.anchor, node)
  if (yaml.isScalar(node)) return plainScalar(node, reading)
  if (yaml.isSeq(node)) return node.items.map((item) => plainValue(item as Root, depth + 1, reading))
  if (yaml.isMap(node)) return plainMapping(node, depth, reading)
  throw fail('holds a value of an unknown kind', 'Leave it out.', node)
}

function aliasedValue(
  name: string,
  alias: Types.Node,
  { depth, reading }: { readonly depth: number; readonly reading: Reading },
): ExactJson {
  const target = reading.anchors.get(name)
  if (target === undefined)
    throw reading.fail(`has an alias *${name} without an anchor before it`, `Add &${name}.`, alias)
  reading.aliasDepth += 1
  const value = plainValue(target, depth + 1, reading)
  reading.aliasDepth -= 1
  return value
}

function plainMapping(node: Types.YAMLMap, depth: number, reading: Reading): ExactTable {
  const pairs = new Map<string, Pair>()
  for (const pair of node.items) {
    const key = pair.key as Types.Node
    const name = keyText(key, reading)
    if (pairs.has(name)) throw reading.fail(`has the key ${JSON.stringify(name)} twice`, 'Give each key once.', key)
    pairs.set(name, pair)
  }
  reading.mappings.set(node, pairs)
  return Object.fromEntries(
    [...pairs].map(([name, { value }]) => [name, plainValue(value as Root, depth + 1, reading)]),
  )
}

function keyText(key: Types.Node, { yaml, fail, readers }: Reading): string {
  const name = yaml.isScalar(key) && key.value !== null ? scalarText(key) : undefined
  if (name === undefined) throw fail('has a key that is not text', 'Use text as keys.', key)
  if (name === '__proto__') throw fail('has a key "__proto__", which cannot be used', 'Choose another name.', key)
  if (name === '<<' && readers === 'settings')
    throw fail('uses a merge key (<<), which is not supported', 'Write the keys out.', key)
  return name
}

function scalarText({ value, source }: Types.Scalar): string {
  return typeof value === 'string' ? value : (source ?? String(value))
}

function plainScalar(node: Types.Scalar, { fail, readers }: Reading): ExactJson {
  const { value } = node
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value !== 'number' && typeof value !== 'bigint')
    throw fail('holds a value of an unknown kind', 'Put it in quotes.', node)
  const number = Number(value)
  if (!Number.isFinite(number)) throw fail('has a value that is no number (nan or inf)', 'Use a number.', node)
  if (typeof value === 'number' || Number.isSafeInteger(number)) return number
  if (readers === 'settings')
    throw fail(`has an integer that cannot be kept exactly: ${value}`, 'Put it in quotes.', node)
  return BigInt.asIntN(64, value) === value ? value : number
}

function positionOf(node: unknown, lines: Types.LineCounter): TextPosition | undefined {
  const [start, end] = (node as { readonly range?: readonly number[] | null } | null)?.range ?? []
  if (start === undefined || end === undefined) return undefined
  const { line, col } = lines.linePos(start)
  const last = lines.linePos(end)
  return { line, column: col, endLine: last.line, endColumn: last.col }
}

function locate(
  { path, part }: { readonly path: DataPath; readonly part: 'key' | 'value' },
  { root, reading: { yaml, anchors, mappings }, lines }: Omit<ReadMapping, 'table'>,
): TextPosition | undefined {
  let node: Root = root
  let found: TextPosition | undefined
  for (const [index, step] of path.entries()) {
    if (yaml.isAlias(node)) node = anchors.get(node.source) ?? null
    const pair = mappings.get(node)?.get(String(step))
    const item: unknown = yaml.isSeq(node) && typeof step === 'number' ? node.items[step] : pair?.value
    if (item === undefined && pair === undefined) return found
    const isValue = pair === undefined || (part === 'value' && index === path.length - 1)
    found = positionOf(isValue ? item : pair.key, lines) ?? found
    node = (item as Root | undefined) ?? null
  }
  return found
}
