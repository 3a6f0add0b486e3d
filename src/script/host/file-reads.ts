import { messageOf } from '../../base/error.ts'
import { parseJsonc } from '../../base/json-text.ts'
import { mayRead } from '../../tool/guard.ts'
import { decodeText, fileStatus, readBytes, readText, statusAt } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import type { HostCall } from './call.ts'
import { fileInfo, fileRecord } from './file-info.ts'
import { withoutTopNull } from './json.ts'
import { headingPattern, type MarkdownSection, markdownSections, splitFirstSection } from './markdown.ts'
import { type ModuleFunction, observing, readingFile } from './module.ts'
import { resolvePath } from './resolve-path.ts'

/** The functions of `aip.file` that read one file. */
export const readFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load(path, {base_dir?}?) → FileRecord`
   * Reads a text file; `path` in the result is as given. A file that is missing or not UTF-8 is an error.
   */
  load: readingFile((call) => {
    const given = call.path(0)
    const absolute = resolvePath(given, call.context, call.baseFolder(call.options(1)))
    const text = readText(absolute, call.context)
    return fileRecord(given, fileStatus(absolute, call.context), text)
  }),
  /**
   * `aip.file.exists(path) → boolean` Whether a file or folder exists at the path. Never raises an error for a path:
   * false if it may not be read or names a missing pack.
   */
  exists: observing(pathExists),
  /**
   * `aip.file.info(path?) → FileInfo?`
   * Name, size and times of a file without its content. nil for nil, a blank path, a missing file and a folder.
   */
  info: observing((call) => {
    const given = call.optionalText(0)
    if (given === undefined || given.trim() === '') return undefined
    const status = fileStatus(call.file(0), call.context)
    return status?.kind === 'file' ? fileInfo(given, status) : undefined
  }),
  /**
   * `aip.file.load_json(path) → any` Reads a JSON file like `aip.json.parse`: comments and trailing commas are allowed,
   * an empty file is nil. Invalid JSON is an error that names the file.
   */
  load_json: readingFile((call) => {
    try {
      return withoutTopNull(parseJsonc(textOf(call)))
    } catch (error) {
      throw error instanceof Error && error.name === 'JsonSyntaxError'
        ? call.error(`${call.path(0)} is not JSON: ${messageOf(error)}`)
        : error
    }
  }),
  /**
   * `aip.file.load_md_sections(path, headings?) → MdSection[]` The sections of a Markdown file. Without `headings`, or
   * with an empty list, each heading starts its own section. With them (a string or a list such as `"## Name"`, exact
   * in level and case), a section includes its deeper headings, and `""` is the text before the first heading.
   */
  load_md_sections: readingFile((call) => {
    const text = textOf(call)
    const headings = call.has(1) ? call.textList(1, 'the headings') : []
    const patterns = headings.map((heading) => {
      const pattern = headingPattern(heading)
      if (pattern !== undefined) return pattern
      throw call.error(`"${heading}" is not a Markdown heading such as "## Name"`)
    })
    return markdownSections(text, patterns).map(sectionTable)
  }),
  /**
   * `aip.file.load_md_split_first(path) → {before, first, after}` Splits a Markdown file at its first heading: `first`
   * is its section (nil if there is none), `after` the rest; `before` is always `""`.
   */
  load_md_split_first: readingFile((call) => {
    const { first, after } = splitFirstSection(textOf(call))
    return { before: '', first: first === undefined ? undefined : sectionTable(first), after }
  }),
  /**
   * `aip.file.line_spans(path) → [start, end][]`
   * The start and end of each line, as byte offsets from 0 for `read_span`, without the line breaks.
   */
  line_spans: readingFile((call) => lineSpans(readBytes(call.file(0), call.context))),
  /**
   * `aip.file.read_span(path, start, end) → string` The text between two byte offsets from 0, the end excluded. Offsets
   * that are negative, reversed or past the end of the file, and a span that splits a character, are errors.
   */
  read_span: readingFile((call) => {
    const given = call.path(0)
    const from = call.integer(1, 'the start')
    const to = call.integer(2, 'the end')
    if (from < 0 || to < 0) throw call.error('the start and the end must not be negative')
    if (to < from) throw call.error(`the end ${to} is before the start ${from}`)
    const bytes = readBytes(call.file(0), call.context)
    if (to > bytes.length) throw call.error(`the end ${to} is past the ${bytes.length} bytes of ${given}`)
    return decodeText(bytes.subarray(from, to), `the span ${from} to ${to} of ${given}`)
  }),
}

function textOf(call: HostCall): string {
  return readText(call.file(0), call.context)
}

/** Never an error: a path that cannot be resolved or may not be read does not exist for a script. Folders count. */
export function pathExists(call: HostCall): boolean {
  const path = call.path(0)
  try {
    const absolute = call.resolve(path)
    return mayRead(absolute, call.context) && statusAt(absolute) !== undefined
  } catch {
    return false
  }
}

/** Byte offsets of each line, without its `\n` or `\r\n`. */
function lineSpans(bytes: Buffer): readonly (readonly [number, number])[] {
  const spans: [number, number][] = []
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(10, start)
    const stop = newline === -1 ? bytes.length : newline
    spans.push([start, newline > start && bytes[stop - 1] === 13 ? stop - 1 : stop])
    start = stop + 1
  }
  return spans
}

function sectionTable({ heading, headingRaw, content }: MarkdownSection): LuaValue {
  return {
    _type: 'MdSection',
    content,
    heading_raw: headingRaw,
    heading_content: heading?.line ?? '',
    heading_level: heading?.level ?? 0,
    heading_name: heading?.name ?? '',
  }
}
