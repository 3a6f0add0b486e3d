import { firstIndexOf, lastIndexOf } from '../../base/find-text.ts'
import { type HostCall, keyedTable, luaTypeName, Options, text } from './call.ts'
import { type HostModule, type ModuleFunction, pure, several } from './module.ts'
import {
  ensureSingleTrailingNewline,
  extractLineBlocks,
  formatSize,
  removeFirstLines,
  removeLastLines,
  replaceMarkers,
  splitAtLine,
  trimEnd,
  trimStart,
} from './text-lines.ts'

/** `aip.text`. */
export const textModule: HostModule = {
  name: 'aip.text',
  functions: {
    /**
     * `aip.text.trim(text?) → string?` Without leading and trailing whitespace. As for all of `aip.text`, nil returns
     * nil, and anything but a string is an error.
     */
    trim: onText((subject) => trimStart(trimEnd(subject))),
    /** `aip.text.trim_start(text?) → string?` Without leading whitespace. */
    trim_start: onText(trimStart),
    /** `aip.text.trim_end(text?) → string?` Without trailing whitespace. */
    trim_end: onText(trimEnd),
    /**
     * `aip.text.truncate(text?, max, ellipsis?) → string?`
     * At most `max` characters, including the ellipsis, which is added only if the text was cut.
     */
    truncate: onText((subject, call) =>
      truncate(subject, call.integer(1, 'the length'), call.optionalTextOrNumber(2, 'the ellipsis') ?? ''),
    ),
    /**
     * `aip.text.split_first(text?, separator) → string?, string?`
     * The text before and after the first separator. Without a separator: the text and nil.
     */
    split_first: onText((subject, call) => splitAt(subject, call.text(1, 'the separator'), 'first')),
    /** `aip.text.split_last(text?, separator) → string?, string?` The same at the last separator. */
    split_last: onText((subject, call) => splitAt(subject, call.text(1, 'the separator'), 'last')),
    /**
     * `aip.text.split_first_line(text?, line) → string?, string?` Splits at the first line equal to `line`; the line
     * breaks around it are dropped. Without such a line: the text and nil.
     */
    split_first_line: onText((subject, call) =>
      several(...splitAtLine(subject, call.text(1, 'the separator'), 'first')),
    ),
    /** `aip.text.split_last_line(text?, line) → string?, string?` The same at the last such line. */
    split_last_line: onText((subject, call) => several(...splitAtLine(subject, call.text(1, 'the separator'), 'last'))),
    /** `aip.text.remove_first_line(text?) → string?` Without the first line; `""` if there is only one. */
    remove_first_line: onText((subject) => removeFirstLines(subject, 1)),
    /**
     * `aip.text.remove_first_lines(text?, count) → string?` Without the first `count` lines; `""` if nothing is left.
     */
    remove_first_lines: onText((subject, call) => removeFirstLines(subject, call.integer(1, 'the count'))),
    /** `aip.text.remove_last_line(text?) → string?` Without the last line; `""` if there is only one. */
    remove_last_line: onText((subject) => removeLastLines(subject, 1)),
    /**
     * `aip.text.remove_last_lines(text?, count) → string?` Without the last `count` lines; `""` if nothing is left.
     */
    remove_last_lines: onText((subject, call) => removeLastLines(subject, call.integer(1, 'the count'))),
    /**
     * `aip.text.replace_markers(text?, sections) → string?`
     * Replaces the regions from a line with `<<START>>` to one with `<<END>>` with the sections, in order: strings, or
     * tables with `content`. The number of sections must equal the number of regions.
     */
    replace_markers: onText((subject, call) => {
      const sections = sectionTexts(call)
      return call.attempt(() => replaceMarkers(subject, sections))
    }),
    /**
     * `aip.text.ensure(text?, {prefix?, suffix?}) → string?`
     * Adds the prefix and the suffix if the text does not have them yet. Other options are an error.
     */
    ensure: onText(ensure),
    /**
     * `aip.text.ensure_single_trailing_newline(text?) → string?`
     * With exactly one line break at the end; `""` becomes a line break.
     */
    ensure_single_trailing_newline: onText(ensureSingleTrailingNewline),
    /** `aip.text.ensure_single_ending_newline(text?) → string?` Alias of `ensure_single_trailing_newline`. */
    ensure_single_ending_newline: onText(ensureSingleTrailingNewline),
    /** `aip.text.escape_decode(text?) → string?` With HTML entities such as `&lt;` decoded. */
    escape_decode: onText((subject) => (subject.includes('&') ? decoded(subject) : subject)),
    /** `aip.text.escape_decode_if_needed(text?) → string?` The same, but only if the text contains `&lt;`. */
    escape_decode_if_needed: onText((subject) => (subject.includes('&lt;') ? decoded(subject) : subject)),
    /**
     * `aip.text.extract_line_blocks(text?, {starts_with, extrude?, first?}) → string[]?, string?`
     * Consecutive lines that start with `starts_with` form a block; `first` limits the number of blocks. With
     * `extrude = "content"` the second value is the text without them.
     */
    extract_line_blocks: onText(lineBlocks),
    /**
     * `aip.text.format_size(bytes?, options?) → string?`
     * A human-readable size, right-aligned in 9 characters, in powers of 1000: `  1.50 KB`. `options` is the lowest
     * unit, `B` (also for any other string), `KB`, `MB`, `GB` or `TB`, or `{lowest_unit?, trim?}`. nil for nil.
     */
    format_size: pure((call) => {
      const [bytes, given] = call.args
      if (bytes === undefined) return undefined
      if (typeof bytes !== 'number' && typeof bytes !== 'bigint') {
        throw call.error(`the size must be a number, but was ${luaTypeName(bytes)}`)
      }
      const options = new Options(typeof given === 'string' ? { lowest_unit: given } : given, call.name)
      const size = formatSize(Number(bytes), options.text('lowest_unit'))
      return options.flag('trim') ? size.trim() : size
    }),
  },
}

/** A function of a text and more arguments. If the text is nil, it returns nil. */
function onText(work: (subject: string, call: HostCall) => ReturnType<Parameters<typeof pure>[0]>): ModuleFunction {
  return pure((call) => {
    const subject = call.optionalText(0)
    return subject === undefined ? undefined : work(subject, call)
  })
}

/** HTML has many entity names: they are loaded for the first text that may contain one. */
async function decoded(subject: string): Promise<string> {
  const { decodeHtmlEntities } = await import('../../base/html-entities.ts')
  return decodeHtmlEntities(subject)
}

function splitAt(subject: string, separator: string, which: 'first' | 'last') {
  const at = (which === 'first' ? firstIndexOf : lastIndexOf)(subject, separator)
  return at === -1 ? several(subject, undefined) : several(subject.slice(0, at), subject.slice(at + separator.length))
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

function ensure(subject: string, call: HostCall): string {
  if (call.args[1] === undefined) throw call.error('the options must be a table with prefix, suffix or both')
  const options = call.options(1)
  const unknown = Object.keys(options.table).find((key) => key !== 'prefix' && key !== 'suffix')
  if (unknown !== undefined) throw call.error(`there is no option "${unknown}"; the options are prefix and suffix`)
  const prefix = options.text('prefix') ?? ''
  const suffix = options.text('suffix') ?? ''
  return (subject.startsWith(prefix) ? '' : prefix) + subject + (subject.endsWith(suffix) ? '' : suffix)
}

/** Sections are texts or tables with the text as `content`. */
function sectionTexts(call: HostCall): readonly string[] {
  const [, sections] = call.args
  const items = typeof sections === 'string' ? [sections] : call.list(1, 'the sections')
  return items.map((item, index) => {
    const table = Array.isArray(item) ? undefined : keyedTable(item)
    return text(table === undefined ? item : table['content'], call.name, `section ${index + 1}`)
  })
}

function lineBlocks(subject: string, call: HostCall) {
  const options = call.options(1)
  const prefix = options.text('starts_with')
  if (prefix === undefined) throw call.error('the option starts_with is missing')
  const most = options.integer('first')
  const wantsRest = options.extrude()
  const { blocks, rest } = extractLineBlocks(subject, prefix, most)
  return several(blocks, wantsRest ? rest : undefined)
}
