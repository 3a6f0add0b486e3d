import { decodeHtmlEntities } from '../../base/html-entities.ts'
import { messageOf } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import {
  argumentError,
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
  trim: (subject) => [trimStart(trimEnd(subject))],
  trim_start: (subject) => [trimStart(subject)],
  trim_end: (subject) => [trimEnd(subject)],
  truncate: (subject, [most, ellipsis], name) => [
    truncate(subject, integer(most, name, 'the length'), optionalText(ellipsis, name, 'the ellipsis') ?? ''),
  ],
  split_first: (subject, [separator], name) => splitAt(subject, text(separator, name, 'the separator'), 'first'),
  split_last: (subject, [separator], name) => splitAt(subject, text(separator, name, 'the separator'), 'last'),
  split_first_line: (subject, [line], name) => splitAtLine(subject, text(line, name, 'the separator'), 'first'),
  split_last_line: (subject, [line], name) => splitAtLine(subject, text(line, name, 'the separator'), 'last'),
  remove_first_line: (subject) => [removeFirstLines(subject, 1)],
  remove_first_lines: (subject, [count], name) => [removeFirstLines(subject, integer(count, name, 'the count'))],
  remove_last_line: (subject) => [removeLastLines(subject, 1)],
  remove_last_lines: (subject, [count], name) => [removeLastLines(subject, integer(count, name, 'the count'))],
  replace_markers: (subject, [sections], name) => [replaceAll(subject, sections, name)],
  ensure: (subject, [options], name) => [ensure(subject, options, name)],
  ensure_single_trailing_newline: (subject) => [ensureSingleTrailingNewline(subject)],
  ensure_single_ending_newline: (subject) => [ensureSingleTrailingNewline(subject)],
  escape_decode: (subject) => [decodeHtmlEntities(subject)],
  escape_decode_if_needed: (subject) => [subject.includes('&lt;') ? decodeHtmlEntities(subject) : subject],
  extract_line_blocks: (subject, [options], name) => lineBlocks(subject, options, name),
}

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
  const { blocks, rest } = extractLineBlocks(subject, prefix, most)
  return [blocks, textOption(table, 'extrude', name) === 'content' ? rest : undefined]
}
