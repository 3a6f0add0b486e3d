/** A name in a template that refers to the data with which it is rendered. */
export interface TemplatePath {
  /** `steps.a.output` as `['steps', 'a', 'output']`; empty for all of the data. */
  readonly parts: readonly string[]
  /** As written. */
  readonly written: string
}

/** The parts of a parsed template that are used here, with the library's names. */
interface AstNode {
  readonly type: string
  readonly body?: readonly AstNode[]
  readonly path?: AstNode
  readonly params?: readonly AstNode[]
  readonly hash?: { readonly pairs: readonly { readonly value: AstNode }[] }
  readonly program?: AstNode
  readonly inverse?: AstNode
  /** Of a path: `@root`. */
  readonly data?: boolean
  /** Of a path: its number of leading `../`. */
  readonly depth?: number
  /** Of a path. A call inside a path is not a string. */
  readonly parts?: readonly unknown[]
  readonly original?: unknown
}

/** Blocks that do not change the data context. */
const plainBlocks: ReadonlySet<string> = new Set([
  'if',
  'unless',
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'and',
  'or',
  'not',
  'raw',
])

/**
 * The names that a parsed template takes from its data. Names inside `each` and `with` refer to their values, unless
 * they lead out with `../` or `@root`.
 */
export function pathsIn(template: unknown): readonly TemplatePath[] {
  const found: TemplatePath[] = []

  function take({ data = false, depth = 0, parts = [], original }: AstNode, inner: number): void {
    const names = parts.map(String)
    const written = String(original)
    if (data) {
      if (names[0] === 'root') found.push({ parts: names.slice(1), written })
    } else if (depth >= inner) found.push({ parts: names, written })
  }

  function look(node: AstNode | undefined, inner: number): void {
    if (node === undefined || node === null) return
    const { path, params = [], hash, body = [], program, inverse } = node
    const values = [...params, ...(hash?.pairs ?? []).map(({ value }) => value)]
    for (const value of values) look(value, inner)
    if (node.type === 'PathExpression') take(node, inner)
    // with arguments, or in a subexpression, a name is that of a helper
    const isCall = values.length > 0 || node.type === 'SubExpression'
    if (path !== undefined && !isCall) look(path, inner)
    for (const part of body) look(part, inner)
    if (program === undefined && inverse === undefined) return
    const isPlain = plainBlocks.has(String(path?.original))
    look(program, isPlain ? inner : inner + 1)
    look(inverse, inner)
  }

  look(template as AstNode, 0)
  return found
}
