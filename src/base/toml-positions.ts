import { parseTOML, type AST } from 'toml-eslint-parser'
import { maxDataDepth, type DataPath, type TextPosition } from './data-text.ts'

interface KeyAndValue {
  readonly key: TextPosition
  readonly value: TextPosition
}

type Positions = Map<string, KeyAndValue>

/**
 * Where each key, value and list item of a TOML text stands; map keys are paths as JSON. Empty for text that this
 * parser does not accept. Heavy: load it only for an error or an origin that is shown.
 */
export function readTomlPositions(text: string): ReadonlyMap<string, KeyAndValue> {
  const positions: Positions = new Map()
  try {
    const [top] = parseTOML(text, { tomlVersion: '1.1' }).body
    for (const node of top.body) {
      if (node.type === 'TOMLTable') addTable(node, positions)
      else addKeyValue(node, [], positions)
    }
  } catch {
    // the text was accepted by the parser that counts: a place that is missing is better than a second verdict
  }
  return positions
}

function addTable(table: AST.TOMLTable, positions: Positions): void {
  const path = addKeys(table.key.keys, { prefix: [], resolved: table.resolvedKey, value: undefined }, positions)
  for (const node of table.body) addKeyValue(node, path, positions)
}

function addKeyValue(node: AST.TOMLKeyValue, prefix: DataPath, positions: Positions): void {
  const resolved = node.key.keys.map(nameOf)
  const path = addKeys(node.key.keys, { prefix, resolved, value: node.value }, positions)
  addInside(node.value, path, positions)
}

function addInside(node: AST.TOMLContentNode, path: DataPath, positions: Positions): void {
  if (path.length >= maxDataDepth) return
  if (node.type === 'TOMLInlineTable') {
    for (const inner of node.body) addKeyValue(inner, path, positions)
  }
  if (node.type !== 'TOMLArray') return
  for (const [index, element] of node.elements.entries()) {
    const inner = [...path, index]
    add(inner, { key: rangeOf(element), value: rangeOf(element) }, positions)
    addInside(element, inner, positions)
  }
}

/** Adds each step of a dotted key; list indices of `[[tables]]` stand where the key before them stands. */
function addKeys(
  keys: readonly (AST.TOMLBare | AST.TOMLQuoted)[],
  {
    prefix,
    resolved,
    value,
  }: {
    readonly prefix: DataPath
    readonly resolved: DataPath
    readonly value: AST.TOMLContentNode | undefined
  },
  positions: Positions,
): DataPath {
  let path = prefix
  let next = 0
  // data as deep as this is refused before anyone asks for places inside it
  for (const [index, step] of resolved.slice(0, maxDataDepth).entries()) {
    path = [...path, step]
    const node = keys[typeof step === 'string' ? next++ : next - 1]
    if (node === undefined) continue
    const key = rangeOf(node)
    const isLast = index === resolved.length - 1
    add(path, { key, value: isLast && value !== undefined ? rangeOf(value) : key }, positions)
  }
  return path
}

function add(path: DataPath, place: KeyAndValue, positions: Positions): void {
  const key = JSON.stringify(path)
  if (!positions.has(key)) positions.set(key, place)
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === 'TOMLBare' ? key.name : key.value
}

function rangeOf({ loc: { start, end } }: AST.TOMLNode): TextPosition {
  return { line: start.line, column: start.column + 1, endLine: end.line, endColumn: end.column + 1 }
}
