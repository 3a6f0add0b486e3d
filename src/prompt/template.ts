import { BatonError, type ErrorDetails, messageOf, type SourcePlace } from '../base/error.ts'
import { isObject, type Json } from '../base/json.ts'
import {
  adaptTemplate,
  atTag,
  closingBrace,
  helperProblems,
  tagProblems,
  type TemplateProblem,
} from './template-tags.ts'

/** `place` is where the template begins, for errors: its first line, and the column on it when that is not 1. */
export type RenderTemplate = (template: string, data: Json, place?: SourcePlace) => string

export interface Templates {
  readonly render: RenderTemplate
  /** Everything that is wrong with a template, without rendering it, in the order it is written. */
  readonly problems: (template: string, place?: SourcePlace) => readonly BatonError[]
  /** Throws the first problem. */
  readonly check: (template: string, place?: SourcePlace) => void
}

/**
 * Loads Handlebars, made to behave like handlebars-rust without escaping, which AIPack's packs are written for
 * (docs/aipack.md "Prompts and answers"): nothing is escaped, what is missing is empty, an empty object is false, lists
 * and objects print as `[1, 2]` and `[object]`, and the comparison helpers exist.
 */
export async function loadTemplates(): Promise<Templates> {
  const { default: library } = await import('handlebars')
  const handlebars = library.create()
  const { template: link } = handlebars
  handlebars.template = (compiled) => link(printingOwnWay(compiled as CompiledTemplate))
  handlebars.registerHelper(helpers)
  const names = Object.keys(handlebars.helpers).filter((name) => !name.endsWith('Missing'))
  const compile = (adapted: string): void => void handlebars.precompile(adapted)

  function problems(template: string, place?: SourcePlace): readonly BatonError[] {
    const found = tagProblems(template)
    if (found.length > 0) return found.map((problem) => templateError(template, problem, { place }))
    const unparsable = failureOf(() => compile(adaptTemplate(template)))
    if (unparsable !== undefined) {
      return [templateError(template, placed(template, unparsable.error, compile), { place, cause: unparsable.error })]
    }
    return helperProblems(template, names).map((problem) => templateError(template, problem, { place }))
  }

  function check(template: string, place?: SourcePlace): void {
    const [first] = problems(template, place)
    if (first !== undefined) throw first
  }

  function render(template: string, data: Json, place?: SourcePlace): string {
    try {
      return handlebars.compile(adaptTemplate(template), { strict: false, noEscape: false })(data)
    } catch (error) {
      // the check has the better messages for mistakes in the template itself
      check(template, place)
      throw templateError(template, placed(template, error, compile), { place, cause: error })
    }
  }

  return { render, problems, check }
}

interface CompiledTemplate {
  readonly main: (container: { escapeExpression: (value: unknown) => string }, ...rest: readonly unknown[]) => string
}

/**
 * The function that prints values is shared by all environments of the library, those of a host program too. Each
 * template takes it from its own container, where it can be replaced before the template begins.
 */
function printingOwnWay(compiled: CompiledTemplate): CompiledTemplate {
  const { main } = compiled
  return {
    ...compiled,
    main(container, ...rest) {
      container.escapeExpression = printed
      return main(container, ...rest)
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

/** `Expecting 'ID', 'STRING', …, got 'CLOSE'` names tokens of a grammar that no author knows. */
function readable(message: string): string {
  const got = /, got '(\w+)'$/.exec(message)?.[1]
  if (got === undefined) return message
  return tokens[got] ?? 'the expression cannot be read'
}

const tokens: Readonly<Record<string, string>> = {
  CLOSE: 'the expression ends too early',
  INVERSE: '{{else}} or {{^}} is outside of a block',
  EOF: 'the text ends inside a block',
  INVALID: 'the expression contains an unexpected character',
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
  readonly fn: (context: unknown) => string
  readonly inverse: (context: unknown) => string
  readonly hash: { readonly [name: string]: unknown }
}

function block(this: unknown, value: unknown, options: HelperOptions): string {
  const given: unknown = typeof value === 'function' ? (value as (this: unknown) => unknown).call(this) : value
  const isShown = isTrue(given) || (given === 0 && options.hash['includeZero'] === true)
  return isShown ? options.fn(this) : options.inverse(this)
}

const helpers = {
  if: block,
  unless(this: unknown, value: unknown, options: HelperOptions): string {
    return block.call(this, value, { ...options, fn: options.inverse, inverse: options.fn })
  },
  eq: (left: unknown, right: unknown) => left === right,
  ne: (left: unknown, right: unknown) => left !== right,
  gt: (left: number, right: number) => left > right,
  gte: (left: number, right: number) => left >= right,
  lt: (left: number, right: number) => left < right,
  lte: (left: number, right: number) => left <= right,
  and: (...values: readonly unknown[]) => values.slice(0, -1).every(isTrue),
  or: (...values: readonly unknown[]) => values.slice(0, -1).some(isTrue),
  not: (value: unknown) => !isTrue(value),
  len: (value: unknown) =>
    Array.isArray(value) || typeof value === 'string' ? value.length : isObject(value) ? Object.keys(value).length : 0,
  raw(this: unknown, options: HelperOptions): string {
    return options.fn(this)
  },
  log: () => '',
  [closingBrace]: () => '}',
}

/**
 * The error for a problem of a template. `place` is where the template begins: its first line, and the column on it (1
 * when it has none).
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
