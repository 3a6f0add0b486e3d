import { part } from '../../event/place.ts'
import { appendToFile, saveFile } from '../../tool/workspace-files.ts'
import { readBytes, readText } from '../../tool/workspace-reads.ts'
import { attemptAsync, passOn } from '../../journal/attempt.ts'
import type { LuaValue } from '../engine.ts'
import { isTable } from './arguments.ts'
import { converted } from './apart.ts'
import { type ActCall, type HostCall, Options } from './call.ts'
import { infoOf } from './file-info.ts'
import { parseJsonLines } from './json.ts'
import { jsonText } from './json-text.ts'
import { acting, type ModuleFunction, readingFile } from './module.ts'
import { joinPath, pathParts, tidyPath } from './resolve-path.ts'

/** The functions of `aip.file` for TOML, YAML, lines of JSON, HTML and Word documents. */
export const formatFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load_toml(path) → table`
   * Reads a TOML file; dates become strings. Invalid TOML is an error that names the file and line.
   */
  load_toml: loadingData('toml'),
  /**
   * `aip.file.load_yaml(path) → list` Reads a YAML file into a list of its documents, even if there is only one.
   * Invalid YAML is an error that names the file and line.
   */
  load_yaml: loadingData('yaml'),
  /**
   * `aip.file.load_ndjson(path) → list` Reads a file with one JSON value on each line; blank lines are skipped. The
   * JSON must be strict; an error names the line.
   */
  load_ndjson: readingFile((call) =>
    parseJsonLines(readText(call.file(0), call.context), `${call.name}: ${call.path(0)}`),
  ),
  /**
   * `aip.file.append_json_line(path, value) → FileInfo`
   * Appends one line with the value as JSON, keys sorted; creates the file if it is missing.
   */
  append_json_line: appendingJson(({ args }) => [args[1]]),
  /**
   * `aip.file.append_json_lines(path, values) → FileInfo`
   * Appends one line for each value of a list; an empty list still creates the file.
   */
  append_json_lines: appendingJson((call) => call.list(1, 'the values')),
  /**
   * `aip.file.load_html_as_slim(path) → string`
   * Reads an HTML file and removes invisible content, like `aip.html.slim`.
   */
  load_html_as_slim: acting((call) => converted('slim', [observedText(call)], call.section)),
  /**
   * `aip.file.load_html_as_md(path, {slim?}?) → string`
   * Reads an HTML file as Markdown. It is slimmed first, unless `slim` (or `trim`) is false.
   */
  load_html_as_md: acting(async (call) => {
    const options = call.options(1)
    const isSlim = options.flag(options.get('trim') === undefined ? 'slim' : 'trim', 'on')
    return markdownOf(call, { isSlim })
  }),
  /**
   * `aip.file.save_html_to_slim(path, dest?) → FileInfo` Saves an HTML file without invisible content, as
   * `<stem>-slim.html` next to it. `dest` is a different path, or a table with `base_dir`, `file_name` and `suffix`.
   */
  save_html_to_slim: converting({ extension: 'html', suffix: '-slim' }, (read) =>
    converted('slim', [observedText(read)], read.section),
  ),
  /**
   * `aip.file.save_html_to_md(path, dest?) → FileInfo` Saves an HTML file as Markdown, as `<stem>.md` next to it.
   * `dest` is a different path, or a table with `base_dir`, `file_name`, `suffix` and `slim`.
   */
  save_html_to_md: converting({ extension: 'md', suffix: '' }, (read, options) =>
    markdownOf(read, { isSlim: options.flag('slim', 'on') }),
  ),
  /**
   * `aip.file.load_docx_as_md(path) → string`
   * The text of a Word document as Markdown: headings (one level lower, the title is the first), lists, tables, links
   * and emphasis; images are dropped. It is an error if the file is missing, not a `.docx` file, damaged or too large.
   */
  load_docx_as_md: acting(docxMarkdown),
  /**
   * `aip.file.save_docx_to_md(path, dest?) → FileInfo` Writes the same to a file: next to the document with the
   * extension `md`, to the path `dest`, or to the path given by `{base_dir?, file_name?, suffix?}`.
   */
  save_docx_to_md: converting({ extension: 'md', suffix: '' }, docxMarkdown),
}

function loadingData(kind: 'toml' | 'yaml'): ModuleFunction {
  return acting((call): Promise<LuaValue> => {
    const source = { text: observedText(call), what: call.path(0), name: call.name }
    return converted(kind, [source], call.section)
  })
}

function appendingJson(valuesOf: (call: HostCall) => readonly LuaValue[]): ModuleFunction {
  return acting(
    (call) => {
      const path = call.path(0)
      const target = call.resolve(path)
      const lines = valuesOf(call).map((value) => `${call.attempt(() => jsonText(value))}\n`)
      appendToFile(target, lines.join(''), call)
      return infoOf(path, target, call.context)
    },
    { tables: 'data' },
  )
}

function observedText(call: ActCall): string {
  return call.observeFile(() => readText(call.file(0), call.context))
}

function markdownOf(call: ActCall, { isSlim }: { readonly isSlim: boolean }): Promise<string> {
  return converted(isSlim ? 'markdownOfSlim' : 'markdown', [observedText(call)], call.section)
}

/** Observes the Markdown, so that a replay does not need the document. */
async function docxMarkdown(call: ActCall): Promise<string> {
  const path = call.file(0)
  const read = await attemptAsync(async () => {
    const bytes = readBytes(path, call.context)
    return converted('markdownOfDocx', [bytes, call.shown(path)], call.section)
  })
  return call.observeFile(() => passOn(read))
}

/** How the name of a converted file is made. */
interface Target {
  readonly extension: string
  /** Follows the stem if the caller names no file, suffix or folder. */
  readonly suffix: string
}

/** Reading is recorded below the call, so that writing can use the place of the call itself. */
function converting(target: Target, convert: (read: ActCall, options: Options) => Promise<string>): ModuleFunction {
  return acting(async (call) => {
    const options = new Options(isTable(call.args[1]) ? call.args[1] : undefined, call.name)
    const path = destination(call, options, target)
    const file = call.resolve(path)
    saveFile(file, await convert(call.below(part('read')), options), call)
    return infoOf(path, file, call.context)
  })
}

/** Where to save, as the caller would write it: next to the source unless the second argument says otherwise. */
function destination(call: HostCall, options: Options, target: Target): string {
  const source = call.path(0)
  if (call.has(1) && !isTable(call.args[1])) return call.path(1, 'the destination')
  const { parent, stem } = pathParts(tidyPath(source))
  if (stem === '') throw call.error(`${source} is not the path of a file`)
  const folder = options.path('base_dir')
  const suffix = options.path('suffix') ?? (folder === undefined ? target.suffix : '')
  const file = options.path('file_name') ?? `${stem}${suffix}.${target.extension}`
  return joinPath(folder ?? parent ?? '', file)
}
