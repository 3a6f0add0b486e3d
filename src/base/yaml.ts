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
import type { ExactJson, ExactTable } from './json-text.ts'

type Yaml = (typeof Types)['default']
type Root = Types.Node | null

/** Maximum number of values that aliases may add: enough for reuse, too little for a bomb. */
const maxAliasedValues = 10_000
const coreTags = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
)

/** Scripts read values with these tags as text. */
const textTags = new Set(['tag:yaml.org,2002:timestamp', 'tag:yaml.org,2002:binary'])

interface Pair {
  readonly key: unknown
  readonly value: unknown
}

/** Settings can contain only what JSON can; scripts get what AIPack would give them. */
type Readers = 'settings' | 'scripts'

interface Reading {
  readonly yaml: Yaml
  readonly readers: Readers
  readonly source: DataSource
  readonly lines: Types.LineCounter
  readonly fail: (reason: string, hint: string, node: Types.Node) => Error
  readonly anchors: Map<string, Types.Node>
  /** The pairs of each mapping by key, for `locate`. */
  readonly mappings: Map<unknown, ReadonlyMap<string, Pair>>
  aliasDepth: number
  aliased: number
}

async function newReading(source: DataSource, readers: Readers): Promise<Reading> {
  const { default: yaml } = await import('yaml')
  const lines = new yaml.LineCounter()
  const fail: Reading['fail'] = (reason, advice, node) =>
    dataError(source, { reason, hint: advice }, positionOf(node, lines) ?? { line: source.firstLine, column: 1 })
  return { yaml, readers, source, lines, fail, anchors: new Map(), mappings: new Map(), aliasDepth: 0, aliased: 0 }
}

/**
 * Parses one YAML 1.2 document (core schema: no dates, `yes` is text) whose top level is a mapping; empty text is an
 * empty mapping. Refuses duplicate keys, tags of other schemas, merge keys, lists or mappings as keys, nan, infinity,
 * integers beyond 2^53, `__proto__`, too many values through aliases, more than 100 levels.
 * @throws BatonError with the source's code, and line and column in the whole file
 */
export async function parseYaml(source: DataSource): Promise<DataText> {
  const reading = await newReading(source, 'settings')
  const root = parseMapping(reading)
  if (root === undefined) return { data: {}, locate: async () => undefined }
  const data = plainValue(root, 0, reading) as JsonObject
  return { data, locate: async (path, part = 'key') => locate({ path, part }, root, reading) }
}

/** Undefined for empty text. */
function parseMapping(reading: Reading): Types.YAMLMap | undefined {
  const { yaml, source, fail } = reading
  const document = catching(source, () => yaml.parseDocument(paddedBlock(source), parseOptions(reading)))
  refuseProblems(document, reading)
  const root: Root = document.contents
  if (root === null || (yaml.isScalar(root) && root.value === null && (root.source ?? '') === '')) return undefined
  if (yaml.isMap(root)) return root
  throw fail('must be a list of keys with values', 'Write one key: value on each line.', root)
}

/**
 * All documents of a YAML text in order, each any value, for scripts. Refuses what `parseYaml` refuses, except that
 * integers beyond 2^53 are bigints up to 64 bits and floats above, `<<` and `__proto__` are ordinary keys, and dates
 * and bytes with a tag are their text, as in AIPack.
 * @throws BatonError with the source's code, and line and column in the whole file
 */
export async function parseYamlDocuments(source: DataSource): Promise<readonly ExactJson[]> {
  const reading = await newReading(source, 'scripts')
  const documents = catching(source, () => reading.yaml.parseAllDocuments(paddedBlock(source), parseOptions(reading)))
  return documents.map((document) => {
    refuseProblems(document, reading)
    return plainValue(document.contents as Root, 0, { ...reading, anchors: new Map(), aliased: 0 })
  })
}

/** Values as YAML documents separated by `---`, keys in their order. Bigints keep all their digits. */
export async function stringifyYaml(documents: readonly unknown[]): Promise<string> {
  const { default: yaml } = await import('yaml')
  const options = { version: '1.2', lineWidth: 0, aliasDuplicateObjects: false } as const
  return documents.map((document) => yaml.stringify(document, options)).join('---\n')
}

function parseOptions({ lines }: Reading) {
  return {
    lineCounter: lines,
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

function refuseProblems(document: Types.Document, { source, lines }: Reading): void {
  const [problem] = [...document.errors, ...document.warnings]
  if (problem === undefined) return
  const [at, end] = problem.pos.map((offset) => lines.linePos(offset))
  const range = { line: at?.line ?? 1, column: at?.col ?? 1, endLine: end?.line ?? 1, endColumn: end?.col ?? 1 }
  throw dataError(source, { reason: reasonOf(problem), hint }, range)
}

function reasonOf({ code, message }: { readonly code?: string; readonly message: string }): string {
  if (code === 'MULTIPLE_DOCS') return 'is not valid YAML: it contains more than one document'
  return /call stack/.test(message) ? 'is nested too deeply' : `is not valid YAML: ${message}`
}

function plainValue(node: Root, depth: number, reading: Reading): ExactJson {
  if (node === null) return null
  const { yaml, fail, anchors, readers } = reading
  if (depth > maxDataDepth) throw fail(`nests values deeper than ${maxDataDepth} levels`, 'Flatten it.', node)
  if (yaml.isAlias(node)) return aliasedValue(node, depth, reading)
  if (reading.aliasDepth > 0 && ++reading.aliased > maxAliasedValues)
    throw fail('repeats too much through aliases', 'Write the values out.', node)
  if (readers === 'scripts' && yaml.isScalar(node) && textTags.has(node.tag ?? '')) return node.source ?? ''
  if (node.tag !== undefined && !coreTags.has(node.tag))
    throw fail(`uses the tag ${node.tag}, which is not supported`, 'Remove the tag.', node)
  if ('anchor' in node && node.anchor !== undefined) anchors.set(node.anchor, node)
  if (yaml.isScalar(node)) return plainScalar(node, reading)
  if (yaml.isSeq(node)) return node.items.map((item) => plainValue(item as Root, depth + 1, reading))
  if (yaml.isMap(node)) return plainMapping(node, depth, reading)
  throw fail('contains a value of an unknown kind', 'Remove it.', node)
}

function aliasedValue(alias: Types.Alias, depth: number, reading: Reading): ExactJson {
  const name = alias.source
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
    if (pairs.has(name))
      throw reading.fail(`has the key ${JSON.stringify(name)} twice`, 'Define each key only once.', key)
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
  if (name === '__proto__' && readers === 'settings')
    throw fail('has a key "__proto__", which cannot be used', 'Choose another name.', key)
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
    throw fail('contains a value of an unknown kind', 'Put it in quotes.', node)
  const number = Number(value)
  if (!Number.isFinite(number)) throw fail('has a value that is not a number (nan or inf)', 'Use a number.', node)
  if (typeof value === 'number' || Number.isSafeInteger(number)) return number
  if (readers === 'settings')
    throw fail(`has an integer that cannot be represented exactly: ${value}`, 'Put it in quotes.', node)
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
  root: Types.Node,
  { yaml, anchors, mappings, lines }: Reading,
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
