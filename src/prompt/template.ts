import { isDeepStrictEqual } from 'node:util'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError, type ErrorDetails, messageOf, type SourcePlace } from '../base/error.ts'
import { isObject, type Json } from '../base/json.ts'
import {
  adaptTemplate,
  atTag,
  closingBrace,
  helperProblems,
  sizeProblem,
  tagNaming,
  tagProblems,
  type TemplateProblem,
} from './template-tags.ts'
import { textOf } from './value-text.ts'

/** `place` is where the template starts, for errors: its first line, and the column on it if that is not 1. */
export type RenderTemplate = (template: string, data: Json, place?: SourcePlace) => string

export interface Templates {
  readonly render: RenderTemplate
  /** All problems of a template, found without rendering it, in the order written. `judge` finds those of its names. */
  readonly problems: (template: string, place?: SourcePlace, judge?: JudgeName) => readonly BatonError[]
  /** The names that a template without problems takes from its data. */
  readonly paths: (template: string) => readonly TemplatePath[]
  /** Throws the first problem. */
  readonly check: (template: string, place?: SourcePlace) => void
}

/** The problem of a name that a template takes from its data; undefined if it exists. */
type JudgeName = (path: TemplatePath) => Required<Pick<TemplateProblem, 'message' | 'hint'>> | undefined

export interface TemplateOptions {
  /** How tables and lists are printed: `[object]` and `[1, 2]`, or as `textOf` says. */
  readonly tables?: 'as in Rust' | 'as text'
}

/**
 * Loads Handlebars, adapted to behave like handlebars-rust without escaping, for which AIPack's packs are written
 * (docs/aipack.md "Prompts and answers"): nothing is escaped, missing values are empty, an empty object is false, lists
 * and objects print as `[1, 2]` and `[object]`, and the comparison helpers exist.
 */
export async function loadTemplates({ tables = 'as in Rust' }: TemplateOptions = {}): Promise<Templates> {
  const { default: library } = await import('handlebars')
  const handlebars = library.create()
  const { template: link } = handlebars
  handlebars.template = (compiled) => link(printingOwnWay(compiled as CompiledTemplate, tables))
  handlebars.registerHelper(helpers)
  const names = Object.keys(handlebars.helpers).filter((name) => !name.endsWith('Missing'))
  const compile = (adapted: string): void => void handlebars.precompile(adapted)

  function problems(template: string, place?: SourcePlace, judge?: JudgeName): readonly BatonError[] {
    const tooLarge = sizeProblem(template)
    const found = tooLarge === undefined ? tagProblems(template) : [tooLarge]
    if (found.length > 0) return found.map((problem) => templateError(template, problem, { place }))
    const unparsable = failureOf(() => compile(adaptTemplate(template)))
    if (unparsable !== undefined) {
      return [templateError(template, placed(template, unparsable.error, compile), { place, cause: unparsable.error })]
    }
    const wrong = [...helperProblems(template, names), ...(judge === undefined ? [] : nameProblems(template, judge))]
    return wrong.map((problem) => templateError(template, problem, { place }))
  }

  /** Each name once. */
  function nameProblems(template: string, judge: JudgeName): readonly TemplateProblem[] {
    const byName = new Map(paths(template).map((path) => [path.written, path]))
    return [...byName.values()].flatMap((path) => {
      const problem = judge(path)
      return problem === undefined ? [] : [{ ...problem, ...tagNaming(template, path.written) }]
    })
  }

  function check(template: string, place?: SourcePlace): void {
    const [first] = problems(template, place)
    if (first !== undefined) throw first
  }

  function render(template: string, data: Json, place?: SourcePlace): string {
    const tooLarge = sizeProblem(template)
    if (tooLarge !== undefined) throw templateError(template, tooLarge, { place })
    try {
      return handlebars.compile(adaptTemplate(template), { strict: false, noEscape: false })(data)
    } catch (error) {
      // the check has the better messages for mistakes in the template itself
      check(template, place)
      throw templateError(template, placed(template, error, compile), { place, cause: error })
    }
  }

  const paths = (template: string): readonly TemplatePath[] => pathsIn(handlebars.parse(adaptTemplate(template)))

  return { render, problems, paths, check }
}

interface CompiledTemplate {
  readonly main: (container: { escapeExpression: (value: unknown) => string }, ...rest: readonly unknown[]) => string
}

/** Enough copies of the root: more `../` than this resolve to nothing. */
const stepsAboveRoot = 16

/**
 * The function that prints values is shared by all environments of the library, including those of a host program. Each
 * template takes it from its own container, where it can be replaced before rendering starts. Above the root, `../`
 * stays at the root.
 */
function printingOwnWay(compiled: CompiledTemplate, tables: Required<TemplateOptions>['tables']): CompiledTemplate {
  const { main } = compiled
  return {
    ...compiled,
    main(container, root, ...rest) {
      container.escapeExpression = tables === 'as text' ? printedAsText : printed
      const [depths] = rest.slice(4)
      if (Array.isArray(depths)) rest[4] = [...(depths as unknown[]), ...Array<unknown>(stepsAboveRoot).fill(root)]
      return main(container, root, ...rest)
    },
  }
}

function failureOf(work: () => void): { readonly error: unknown } | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return { error }
  }
}

/** Handlebars says "Parse error on line 2:", a picture of the place, and what it expected; or ends in " - 2:7". */
function placed(template: string, error: unknown, compile: (adapted: string) => void): TemplateProblem {
  const lines = messageOf(error).split('\n')
  const [first = ''] = lines
  const line = /\bon line (\d+)/.exec(first)?.[1] ?? / - (\d+):\d+$/.exec(first)?.[1]
  const message = lines.length > 1 ? readable(lines.at(-1) ?? '') : first.replace(/ - \d+:\d+$/, '')
  const fails = (text: string): boolean => failureOf(() => compile(text)) !== undefined
  return atTag(template, { message, line: line === undefined ? undefined : Number(line) }, fails)
}

/** `Expecting 'ID', 'STRING', …, got 'CLOSE'` names grammar tokens that authors do not know. */
function readable(message: string): string {
  const got = /, got '(\w+)'$/.exec(message)?.[1]
  // otherwise it points with a caret
  if (got === undefined) return /^-*\^$/.test(message) ? 'the expression cannot be parsed' : message
  return tokens[got] ?? 'the expression cannot be parsed'
}

const tokens: Readonly<Record<string, string>> = {
  CLOSE: 'the expression ends too early',
  INVERSE: '{{else}} or {{^}} is outside of a block',
  EOF: 'the text ends inside a block',
  INVALID: 'the expression contains an unexpected character',
}

function printedAsText(value: unknown): string {
  return typeof value === 'object' && value !== null && !('toHTML' in value) ? textOf(value as Json) : printed(value)
}

function printed(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return `[${value.map(printed).join(', ')}]`
  if (isObject(value))
    return typeof value['toHTML'] === 'function' ? String((value['toHTML'] as () => unknown)()) : '[object]'
  return String(value as string | number | boolean)
}

function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (isObject(value)) return Object.keys(value).length > 0
  return Boolean(value)
}

interface HelperOptions {
  /** Only for blocks. */
  readonly fn?: (
    context: unknown,
    more?: { readonly data: unknown; readonly blockParams: readonly unknown[] },
  ) => string
  readonly inverse?: (context: unknown) => string
  readonly hash: { readonly [name: string]: unknown }
  readonly data: unknown
  readonly name: string
}

type Helper = (this: unknown, ...args: readonly unknown[]) => unknown

/** A helper with a fixed number of values; missing ones are passed as null, as in JSON. */
function helper(
  count: number,
  work: (values: readonly unknown[], options: HelperOptions, context: unknown) => unknown,
): Helper {
  return function call(...args) {
    const options = args.at(-1) as HelperOptions
    const values = args.slice(0, -1).map((value) => value ?? null)
    if (values.length < count)
      throw new Error(`{{${options.name}}} needs ${count === 1 ? 'a value' : `${count} values`}`)
    return work(values, options, this)
  }
}

/** A condition: true or false as a value, and a choice as a block. */
function condition(count: number, holds: (...values: readonly unknown[]) => boolean): Helper {
  return helper(count, (values, options, context) => {
    const result = holds(...values)
    return options.fn === undefined ? result : chosen(result, options, context)
  })
}

function chosen(isFirst: boolean, { fn, inverse }: HelperOptions, context: unknown): string {
  return (isFirst ? fn : inverse)?.(context) ?? ''
}

/** The order of two values, if they have one. Texts are also compared with numbers. */
function order(left: unknown, right: unknown): number | undefined {
  if (typeof left === 'string' && typeof right === 'string') return compareBytes(left, right)
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right)
  const [first, second] = [left, right].map((value) =>
    typeof value === 'string' && /^-?\d/.test(value) ? Number(value) : value,
  )
  const areNumbers = typeof first === 'number' && typeof second === 'number'
  return areNumbers && !Number.isNaN(first - second) ? first - second : undefined
}

function ordered(holds: (difference: number) => boolean): Helper {
  return condition(2, (left, right) => {
    const difference = order(left, right)
    return difference !== undefined && holds(difference)
  })
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  return Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0
}

function isShown([value]: readonly unknown[], { hash }: HelperOptions): boolean {
  return isTrue(value) || (value === 0 && hash['includeZero'] === true)
}

const helpers: { readonly [name: string]: Helper } = {
  if: helper(1, (values, options, context) => chosen(isShown(values, options), options, context)),
  unless: helper(1, (values, options, context) => chosen(!isShown(values, options), options, context)),
  with: helper(1, ([value], options, context) => {
    if (!isTrue(value)) return chosen(false, options, context)
    return options.fn?.(value, { data: options.data, blockParams: [value] })
  }),
  eq: condition(2, (left, right) => isDeepStrictEqual(left, right)),
  ne: condition(2, (left, right) => !isDeepStrictEqual(left, right)),
  gt: ordered((difference) => difference > 0),
  gte: ordered((difference) => difference >= 0),
  lt: ordered((difference) => difference < 0),
  lte: ordered((difference) => difference <= 0),
  and: condition(0, (...values) => values.every(isTrue)),
  or: condition(0, (...values) => values.some(isTrue)),
  not: condition(1, (value) => !isTrue(value)),
  len: helper(1, ([value]) => lengthOf(value)),
  raw: helper(0, (_, options, context) => chosen(true, options, context)),
  log: () => '',
  [closingBrace]: () => '}',
  // a name alone is a missing value; with anything after it, it is a call
  helperMissing: helper(0, (values, { name, hash }) => {
    if (values.length + Object.keys(hash).length > 0) throw new Error(`unknown helper "${name}"`)
    return undefined
  }),
}

/**
 * The error for a problem in a template. `place` is where the template starts: its first line, and the column on it
 * (default: 1).
 */
function templateError(
  template: string,
  { message, hint = 'Check the expressions between {{ and }}.', start, end }: TemplateProblem,
  { place, cause }: { readonly place: SourcePlace | undefined; readonly cause?: unknown },
): BatonError {
  const details: ErrorDetails = { hint, ...(cause === undefined ? {} : { cause }) }
  const at = place === undefined ? {} : { place: { ...place, ...rangeIn(template, { start, end }, place) } }
  return new BatonError('PROMPT_SYNTAX', `the template cannot be rendered: ${message}`, { ...details, ...at })
}

function rangeIn(
  template: string,
  { start, end }: { readonly start: number | undefined; readonly end: number | undefined },
  { line = 1, column = 1 }: SourcePlace,
): Pick<SourcePlace, 'line' | 'column' | 'endLine' | 'endColumn'> {
  if (start === undefined) return { line }
  const from = positionOf(template, start)
  const to = positionOf(template, end ?? start + 1)
  const shift = (position: Position): number => (position.line === 0 ? column - 1 : 0) + position.column
  return { line: line + from.line, column: shift(from), endLine: line + to.line, endColumn: shift(to) }
}

interface Position {
  /** From 0. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length - 1, column: offset - before.lastIndexOf('\n') }
}

/** A name in a template that refers to the data with which it is rendered. */
interface TemplatePath {
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
function pathsIn(template: unknown): readonly TemplatePath[] {
  const found: TemplatePath[] = []

  function take({ data = false, depth = 0, parts = [], original }: AstNode, inner: number): void {
    const names = parts.map(String)
    const written = String(original)
    if (data) {
      if (names[0] === 'root') found.push({ parts: names.slice(1), written })
    } else if (depth >= inner && written !== closingBrace) found.push({ parts: names, written })
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
