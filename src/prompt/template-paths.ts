/** A name that a template asks for, from the data that the template is rendered with. */
export interface TemplatePath {
  /** `steps.a.output` as `['steps', 'a', 'output']`; empty for all of the data. */
  readonly parts: readonly string[]
  /** As it is written. */
  readonly written: string
}

/** What of a parsed template is looked at; the names are those of the library. */
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
  /** Of a path: how many `../` it begins with. */
  readonly depth?: number
  /** Of a path. A call inside a path is no text. */
  readonly parts?: readonly unknown[]
  readonly original?: unknown
}

/** Blocks that keep the data they are in. */
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
 * The names that a parsed template takes from its data. What is written inside `each` and `with` belongs to their values,
 * unless it leads out of them by `../` or `@root`.
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
    // with anything behind it, or as a part of an expression, a name is that of a helper
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
