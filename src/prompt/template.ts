import { BatonError, messageOf, type SourcePlace } from '../base/error.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import { adaptTemplate, closingBrace } from './template-text.ts'

/** `place` is where the first line of the template is written, for errors. */
export type RenderTemplate = (template: string, data: JsonObject, place?: SourcePlace) => string

export interface Templates {
  readonly render: RenderTemplate
  /** Parses without rendering; throws what `render` would throw for the template itself. */
  readonly check: (template: string, place?: SourcePlace) => void
}

/**
 * Loads Handlebars, made to behave like handlebars-rust without escaping, which AIPack's packs are written for
 * (spec/aipack.md 2.5): nothing is escaped, what is missing is empty, an empty object is false, lists and objects print
 * as `[1, 2]` and `[object]`, and the comparison helpers exist.
 */
export async function loadTemplates(): Promise<Templates> {
  const { default: library } = await import('handlebars')
  const handlebars = library.create()
  // the library has one function for printing values, shared by all its instances; this package owns its copy
  library.Utils.escapeExpression = printed as typeof library.Utils.escapeExpression
  handlebars.registerHelper(helpers)

  return {
    render: (template, data, place) =>
      located(place, () => handlebars.compile(adaptTemplate(template), { strict: false, noEscape: false })(data)),
    check: (template, place) => located(place, () => void handlebars.precompile(adaptTemplate(template))),
  }
}

/** Handlebars says "Parse error on line 2:", a picture of the place, and what it expected. */
function located<T>(place: SourcePlace | undefined, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const lines = messageOf(error).split('\n')
    const line = /\bon line (\d+)/.exec(lines[0] ?? '')?.[1] ?? /- (\d+):\d+$/.exec(lines[0] ?? '')?.[1]
    const what = lines.length > 1 ? (lines.at(-1) ?? '') : (lines[0] ?? '').replace(/ - \d+:\d+$/, '')
    throw new BatonError('PROMPT_SYNTAX', `the template cannot be rendered: ${what}`, {
      hint: 'Check the expressions between {{ and }}.',
      cause: error,
      ...(place === undefined ? {} : { place: moved(place, Number(line ?? 1)) }),
    })
  }
}

function moved(place: SourcePlace, line: number): SourcePlace {
  const lines = (place.text ?? '').trimEnd().split('\n').length
  return { ...place, line: Math.min((place.line ?? 1) + line - 1, Math.max(lines, place.line ?? 1)) }
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
