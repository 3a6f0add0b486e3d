import { csvFunctions, formatFunctions } from './file-formats.ts'
import { fileHashFunctions } from './hash.ts'
import { acting, type HostModule, listing, type ModuleFunction, observing, readingFile, several } from './module.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { parseJsonc } from '../../base/json-text.ts'
import { allowOf, mayRead, readableFiles, readablePath } from '../../tool/guard.ts'
import {
  decodeText,
  fileStatus,
  type FileStatus,
  noteData,
  readBytes,
  readText,
  statusAt,
} from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import type { ActCall, HostCall, LuaTable, Options } from './call.ts'
import { fileInfo, fileRecord, fileStats, infoOf } from './file-info.ts'
import { withoutTopNull } from './json.ts'
import { headingPattern, type MarkdownSection, markdownSections, splitFirstSection } from './md.ts'
import { resolveGlob, resolvePath } from './resolve-path.ts'
import { compareBytes } from '../../base/byte-order.ts'
import { buildFolders, globOrder, type ListedFile, listFiles, listSteps } from '../../base/glob.ts'
import { literalGlob } from '../../base/literal-glob.ts'
import type { Steps } from '../../base/concurrency.ts'
import type { ReadList } from '../../base/reads.ts'
import type { RunContext } from '../../event/context.ts'
import { part } from '../../event/place.ts'
import { appendToFile, copyFile, deleteEntry, makeFolder, moveEntry, saveFile } from '../../tool/workspace-files.ts'
import { textThread } from './worker-call.ts'
import { ensureSingleTrailingNewline, trimEnd, trimStart } from './text-lines.ts'

/** The functions of `aip.file` that read one file. */
const readFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load(path, {base_dir?}?) → FileRecord`
   * Reads a text file; `path` in the result is as given. A file that is missing or not UTF-8 is an error.
   */
  load: readingFile((call) => {
    const given = call.path(0)
    const absolute = call.noted(resolvePath(given, call.context, call.baseFolder(call.options(1))))
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
  line_spans: readingFile((call) => lineSpans(readBytes(call.source(0), call.context))),
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
    const bytes = readBytes(call.source(0), call.context)
    if (to > bytes.length) throw call.error(`the end ${to} is past the ${bytes.length} bytes of ${given}`)
    return decodeText(bytes.subarray(from, to), `the span ${from} to ${to} of ${given}`)
  }),
}

function textOf(call: HostCall): string {
  return readText(call.source(0), call.context)
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

/** The functions of `aip.file` that take globs. */
const listFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.list(globs, {base_dir?, absolute?}?) → FileInfo[]`
   * The files that match one of the globs (a string or a list; a leading `!` excludes), ordered by the last glob that
   * matches (here `*` crosses `/`, as in `aip.path.sort_by_globs`), then by path. Globs may be absolute or start with
   * `~/`; files outside the base folder get absolute paths. Build folders such as `node_modules`, `target` and `.git`
   * are skipped unless a glob names them.
   */
  list: listing(function* (call) {
    return yield* each(yield* find(call), ({ path, absolute }) => fileInfo(path, statusAt(absolute)))
  }),
  /**
   * `aip.file.list_load(globs, {base_dir?, absolute?}?) → FileRecord[]`
   * Like `aip.file.list`, with the content of each file. A file that is not UTF-8 is an error.
   */
  list_load: listing(loadRecords),
  /**
   * `aip.file.first(globs, {base_dir?, absolute?}?) → FileInfo?`
   * The first file that matches, nil if there is none. Only `.git` is skipped.
   */
  first: listing(function* (call) {
    const [file] = yield* find(call, { skipFolders: ['.git'] })
    return file === undefined ? undefined : fileInfo(file.path, statusAt(file.absolute))
  }),
  /**
   * `aip.file.stats(globs?, {base_dir?, absolute?}?) → FileStats?`
   * Number, total size, and first and last times of the files that match: zeros if there are none, nil for nil.
   */
  stats: listing(function* (call) {
    if (call.args[0] === undefined) return undefined
    const found = yield* each(yield* find(call), ({ absolute }) => statusAt(absolute))
    return fileStats(found.filter((status): status is FileStatus => status !== undefined))
  }),
}

/** The files that match the globs, as FileRecords. */
export function* loadRecords(call: HostCall): Steps<readonly LuaTable[]> {
  return yield* each(yield* find(call, { reads: 'content' }), ({ path, absolute }) =>
    fileRecord(path, statusAt(absolute), readText(absolute, call.context)),
  )
}

function* each<T>(files: readonly ListedFile[], work: (file: ListedFile) => T): Steps<T[]> {
  const results: T[] = []
  for (const file of files) {
    yield
    results.push(work(file))
  }
  return results
}

/** `path` is as scripts see it: relative to the base folder, unless `absolute` is set or the file is outside it. */
function* find(
  call: HostCall,
  { skipFolders = buildFolders, reads = 'names' }: { skipFolders?: readonly string[]; reads?: ReadList['reads'] } = {},
): Steps<readonly ListedFile[]> {
  const { context } = call
  const { scope, services } = context
  const options = call.options(1)
  const baseDir = readablePath(call.baseFolder(options), context)
  const wantsAbsolute = options.flag('absolute')
  const globs = call.textList(0, 'the globs').map((glob) => literalGlob(resolveGlob(glob, context), baseDir))
  services.reads?.ready?.()
  const listed = yield* listSteps(globs, {
    baseDir,
    root: scope.folders.workspace,
    allows: (real) => services.permission.check({ kind: 'read', path: real, named: real }).kind === 'allow',
    skipFolders,
  })
  // the names of files that the agent may not read stay hidden
  const files = readableFiles(listed, { context, allow: allowOf(context) })
  noteList({ globs, baseDir, skipFolders, reads }, files, context)
  return inOrder(wantsAbsolute ? files.map((file) => ({ ...file, path: file.absolute })) : files, globs)
}

/** Reports a list for watching: as a list if it is all in the workspace, otherwise the files of it that are. */
function noteList(list: Omit<ReadList, 'root' | 'found'>, files: readonly ListedFile[], context: RunContext): void {
  const { reads } = context.services
  if (reads === undefined) return
  const root = context.scope.folders.workspace
  try {
    // looked up in the way in which a watch session compares it later, without the permission of the agent
    const found = listFiles(list.globs, { ...list, root }).map(({ absolute }) => absolute)
    reads.list({ ...list, root, found })
  } catch {
    if (list.reads === 'content') for (const { absolute } of files) noteData(absolute, context)
  }
}

/** By the last glob that matches the shown path, otherwise by the glob that found it; then by path. */
function inOrder(files: readonly ListedFile[], globs: readonly string[]): readonly ListedFile[] {
  const rankOf = globOrder(globs)
  return files
    .map((file) => ({ file, rank: Math.max(rankOf(file.path, 'last'), file.glob) }))
    .toSorted((a, b) => a.rank - b.rank || compareBytes(a.file.path, b.file.path))
    .map(({ file }) => file)
}

/** The functions of `aip.file` that change files. */
const changeFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.save(path, content, {trim_start?, trim_end?, single_trailing_newline?}?) → FileInfo` Writes a file,
   * replacing an existing one, and creates missing parent folders. The options are applied to the content in this
   * order.
   */
  save: acting((call) => {
    const target = call.file(0)
    saveFile(target, shaped(call.content(1, 'the content'), call.options(2)), call)
    return infoOf(target, target, call.context)
  }),
  /**
   * `aip.file.append(path, content) → FileInfo`
   * Appends to a file; creates the file and its parent folders if they are missing.
   */
  append: acting((call) => {
    const target = call.file(0)
    appendToFile(target, call.content(1, 'the content'), call)
    return infoOf(target, target, call.context)
  }),
  /**
   * `aip.file.copy(source, destination, {overwrite?}?) → FileInfo`
   * Copies a file. It is an error if the source is missing, or if the destination exists and `overwrite` is not true.
   */
  copy: acting((call) => transfer(call, copyFile)),
  /**
   * `aip.file.move(source, destination, {overwrite?}?) → FileInfo` Moves a file or folder. It is an error if the source
   * is missing, or if the destination exists and `overwrite` is not true.
   */
  move: acting((call) => transfer(call, moveEntry)),
  /**
   * `aip.file.delete(path) → boolean`
   * Deletes a file, a link or a folder with everything in it, without using the trash. false if nothing exists at the
   * path.
   */
  delete: acting((call) => deleteEntry(call.file(0), call)),
  /**
   * `aip.file.ensure_exists(path, content?, {content_when_empty?}?) → FileInfo`
   * Writes the content if the file is missing; with `content_when_empty` also if it contains only whitespace.
   */
  ensure_exists: acting((call) => {
    const target = call.file(0)
    const initial = call.has(1) ? call.content(1, 'the content') : ''
    const whenEmpty = call.options(2).flag('content_when_empty')
    const isNeeded = call.observeBefore(() => {
      const status = fileStatus(target, call.context)
      if (status === undefined) return true
      return status.kind === 'file' && whenEmpty && trimEnd(readText(target, call.context)) === ''
    })
    if (isNeeded) saveFile(target, initial, call)
    return infoOf(call.path(0), target, call.context)
  }),
  /**
   * `aip.file.ensure_dir(path) → boolean`
   * Creates a folder and its parents: true if it was created, false if it already existed. A file at the path is an
   * error.
   */
  ensure_dir: acting((call) => makeFolder(call.file(0), call)),
  /**
   * `aip.file.save_changes(path, changes) → FileInfo, {changed_count, failed_changes?}`
   * Applies blocks of `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE` lines to a file, each replacing the first
   * occurrence of its search text; without any such line, the text is the whole new content. Blocks whose search text
   * is not found, or that several lines `=======` could divide, are listed in `failed_changes`; malformed blocks are an
   * error.
   */
  save_changes: acting(async (call) => {
    const path = call.path(0)
    const changes = call.text(1, 'the changes')
    const target = call.resolve(path)
    const thread = await textThread(call.section)
    const { effects } = call.context.services
    const present = effects.observe([...call.at, part('read')], { name: call.name, args: [path] }, () =>
      fileStatus(target, call.context) === undefined ? undefined : readText(target, call.context),
    )
    const { content, changedCount, failures } = await thread.work('applySearchReplace', present ?? '', changes)
    if (present === undefined && changedCount === 0) {
      throw new BatonError('FILE_FAILED', `there is no file ${call.shown(target)} to change`)
    }
    saveFile(target, content, call)
    const failed = failures.map(({ search, replace, reason }) => ({ search, replace, reason }))
    const info = { changed_count: changedCount, ...(failed.length === 0 ? {} : { failed_changes: failed }) }
    return several(infoOf(path, target, call.context), info)
  }),
}

function transfer(call: ActCall, work: typeof copyFile): LuaTable {
  const destination = call.file(1, 'the destination')
  const overwrite = call.options(2).flag('overwrite')
  work({ source: call.file(0, 'the source'), destination, overwrite }, call)
  return infoOf(call.path(1), destination, call.context)
}

/** Applied in this order: trim the start, trim the end, end with exactly one newline. Bytes are left unchanged. */
function shaped(data: string | Uint8Array, options: Options): string | Uint8Array {
  if (typeof data !== 'string') return data
  let text = data
  if (options.flag('trim_start')) text = trimStart(text)
  if (options.flag('trim_end')) text = trimEnd(text)
  if (options.flag('single_trailing_newline')) text = ensureSingleTrailingNewline(text)
  return text
}

/** `aip.file`. Every access is guarded (tool/guard.ts). */
export const fileModule: HostModule = {
  name: 'aip.file',
  functions: {
    ...readFunctions,
    ...listFunctions,
    ...changeFunctions,
    ...csvFunctions,
    ...formatFunctions,
    ...fileHashFunctions,
  },
}
