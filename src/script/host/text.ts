import { decodeHtmlEntities } from '../../base/html-entities.ts'
import { messageOf } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import {
  argumentError,
  extrudeOption,
  flagOption,
  integer,
  isTable,
  list,
  luaTypeName,
  optionalText,
  optionsTable,
  text,
  textOption,
} from './arguments.ts'
import { formatSize } from './format-size.ts'
import type { HostModule, ModuleFunction } from './module.ts'
import { ensureSingleTrailingNewline, trimEnd, trimStart } from './text-trim.ts'
import { extractLineBlocks, removeFirstLines, removeLastLines, replaceMarkers, splitAtLine } from './text-lines.ts'

type Values = readonly LuaValue[]
type TextWork = (subject: string, rest: Values, name: string) => Values

/** A function of a text and more arguments. Nil as text gives nil (spec/aipack.md 6.0, vector 41). */
function onText(name: string, work: TextWork): ModuleFunction {
  const full = `aip.text.${name}`
  return {
    effect: 'pure',
    call: ([subject, ...rest]) => {
      const found = optionalText(subject, full)
      return found === undefined ? [undefined] : work(found, rest, full)
    },
  }
}

const works: { readonly [name: string]: TextWork } = {
  /**
   * `aip.text.trim(text?) → string?`
   * Without white space at the start and at the end. As for all of `aip.text`, nil gives nil, and anything but a string
   * is an error.
   */
  trim: (subject) => [trimStart(trimEnd(subject))],
  /**
   * `aip.text.trim_start(text?) → string?`
   * Without white space at the start.
   */
  trim_start: (subject) => [trimStart(subject)],
  /**
   * `aip.text.trim_end(text?) → string?`
   * Without white space at the end.
   */
  trim_end: (subject) => [trimEnd(subject)],
  /**
   * `aip.text.truncate(text?, max, ellipsis?) → string?`
   * At most `max` characters, the ellipsis included, which stands only where something was cut off.
   */
  truncate: (subject, [most, ellipsis], name) => [
    truncate(subject, integer(most, name, 'the length'), optionalText(ellipsis, name, 'the ellipsis') ?? ''),
  ],
  /**
   * `aip.text.split_first(text?, separator) → string?, string?`
   * The text before and behind the first separator. Without one: the text and nil.
   */
  split_first: (subject, [separator], name) => splitAt(subject, text(separator, name, 'the separator'), 'first'),
  /**
   * `aip.text.split_last(text?, separator) → string?, string?`
   * The same at the last separator.
   */
  split_last: (subject, [separator], name) => splitAt(subject, text(separator, name, 'the separator'), 'last'),
  /**
   * `aip.text.split_first_line(text?, line) → string?, string?`
   * Splits at the first line that is equal to `line`; the line breaks around it are dropped. Without one: the text and
   * nil.
   */
  split_first_line: (subject, [line], name) => splitAtLine(subject, text(line, name, 'the separator'), 'first'),
  /**
   * `aip.text.split_last_line(text?, line) → string?, string?`
   * The same at the last such line.
   */
  split_last_line: (subject, [line], name) => splitAtLine(subject, text(line, name, 'the separator'), 'last'),
  /**
   * `aip.text.remove_first_line(text?) → string?`
   * Without the first line; `""` when there is but one.
   */
  remove_first_line: (subject) => [removeFirstLines(subject, 1)],
  /**
   * `aip.text.remove_first_lines(text?, count) → string?`
   * Without the first lines; `""` when there are not more.
   */
  remove_first_lines: (subject, [count], name) => [removeFirstLines(subject, integer(count, name, 'the count'))],
  /**
   * `aip.text.remove_last_line(text?) → string?`
   * Without the last line; `""` when there is but one.
   */
  remove_last_line: (subject) => [removeLastLines(subject, 1)],
  /**
   * `aip.text.remove_last_lines(text?, count) → string?`
   * Without the last lines; `""` when there are not more.
   */
  remove_last_lines: (subject, [count], name) => [removeLastLines(subject, integer(count, name, 'the count'))],
  /**
   * `aip.text.replace_markers(text?, sections) → string?`
   * Replaces the regions from a line with `<<START>>` to one with `<<END>>` by the sections in turn: texts, or tables
   * with `content`. Another number of sections than regions is an error.
   */
  replace_markers: (subject, [sections], name) => [replaceAll(subject, sections, name)],
  /**
   * `aip.text.ensure(text?, {prefix?, suffix?}) → string?`
   * Adds a prefix and a suffix where the text does not have them yet. Other options are an error.
   */
  ensure: (subject, [options], name) => [ensure(subject, options, name)],
  /**
   * `aip.text.ensure_single_trailing_newline(text?) → string?`
   * With one line break at the end, neither none nor several; `""` becomes a line break.
   */
  ensure_single_trailing_newline: (subject) => [ensureSingleTrailingNewline(subject)],
  /**
   * `aip.text.ensure_single_ending_newline(text?) → string?`
   * Another name of `ensure_single_trailing_newline`.
   */
  ensure_single_ending_newline: (subject) => [ensureSingleTrailingNewline(subject)],
  /**
   * `aip.text.escape_decode(text?) → string?`
   * With HTML entities such as `&lt;` written out.
   */
  escape_decode: (subject) => [decodeHtmlEntities(subject)],
  /**
   * `aip.text.escape_decode_if_needed(text?) → string?`
   * The same, but only for a text in which `&lt;` occurs.
   */
  escape_decode_if_needed: (subject) => [subject.includes('&lt;') ? decodeHtmlEntities(subject) : subject],
  /**
   * `aip.text.extract_line_blocks(text?, {starts_with, extrude?, first?}) → string[]?, string?`
   * Lines that follow one another and begin with `starts_with` form a block; `first` limits how many are taken. With
   * `extrude = "content"` the second value is the text without them.
   */
  extract_line_blocks: (subject, [options], name) => lineBlocks(subject, options, name),
}

/**
 * `aip.text.format_size(bytes?, options?) → string?`
 * A size for people, right-aligned in 9 characters, by powers of 1000: `  1.50 KB`. `options` is the lowest unit,
 * `B` (as any other text), `KB`, `MB`, `GB` or `TB`, or `{lowest_unit?, trim?}`. nil for nil.
 */
const formatSizeFunction: ModuleFunction = {
  effect: 'pure',
  call: ([bytes, options]) => {
    const name = 'aip.text.format_size'
    if (bytes === undefined) return [undefined]
    if (typeof bytes !== 'number' && typeof bytes !== 'bigint') {
      throw argumentError(name, `the size must be a number, but was ${luaTypeName(bytes)}`)
    }
    if (typeof options === 'string') return [formatSize(Number(bytes), { lowestUnit: options })]
    const table = optionsTable(options, name)
    const lowestUnit = textOption(table, 'lowest_unit', name)
    const size = formatSize(Number(bytes), lowestUnit === undefined ? {} : { lowestUnit })
    return [flagOption(table, 'trim', name) ? size.trim() : size]
  },
}

/** `aip.text`: 20 functions over text (spec/aipack.md 6.2, vectors 32 to 43). */
export const textModule: HostModule = {
  name: 'aip.text',
  functions: {
    ...Object.fromEntries(Object.entries(works).map(([name, work]) => [name, onText(name, work)])),
    format_size: formatSizeFunction,
  },
}

function splitAt(subject: string, separator: string, which: 'first' | 'last'): Values {
  const at = which === 'first' ? subject.indexOf(separator) : subject.lastIndexOf(separator)
  return at === -1 ? [subject, undefined] : [subject.slice(0, at), subject.slice(at + separator.length)]
}

/** At most `most` characters including the ellipsis. A character is a code point. */
function truncate(subject: string, most: number, ellipsis: string): string {
  const limit = Math.max(0, most)
  if (subject.length <= limit) return subject
  const characters = Array.from(subject)
  if (characters.length <= limit) return subject
  const tail = Array.from(ellipsis).slice(0, limit)
  return [...characters.slice(0, limit - tail.length), ...tail].join('')
}

function ensure(subject: string, options: LuaValue, name: string): string {
  if (options === undefined) throw argumentError(name, 'the options must be a table with prefix, suffix or both')
  const table = optionsTable(options, name)
  const unknown = Object.keys(table).find((key) => key !== 'prefix' && key !== 'suffix')
  if (unknown !== undefined) throw argumentError(name, `there is no option "${unknown}"; there are prefix and suffix`)
  const prefix = textOption(table, 'prefix', name) ?? ''
  const suffix = textOption(table, 'suffix', name) ?? ''
  return (subject.startsWith(prefix) ? '' : prefix) + subject + (subject.endsWith(suffix) ? '' : suffix)
}

/** Sections are texts or tables with the text as `content`. */
function replaceAll(subject: string, sections: LuaValue, name: string): string {
  const items = typeof sections === 'string' ? [sections] : list(sections, name, 'the sections')
  const texts = items.map((item, index) => {
    const inner = isTable(item) && !Array.isArray(item) ? optionsTable(item, name)['content'] : item
    return text(inner, name, `section ${index + 1}`)
  })
  try {
    return replaceMarkers(subject, texts)
  } catch (error) {
    throw argumentError(name, messageOf(error))
  }
}

function lineBlocks(subject: string, options: LuaValue, name: string): Values {
  const table = optionsTable(options, name)
  const prefix = textOption(table, 'starts_with', name)
  if (prefix === undefined) throw argumentError(name, 'the option starts_with is missing')
  const first = table['first']
  const most = first === undefined || first === null ? undefined : integer(first, name, 'the option first')
  const wantsRest = extrudeOption(table, name)
  const { blocks, rest } = extractLineBlocks(subject, prefix, most)
  return [blocks, wantsRest ? rest : undefined]
}
