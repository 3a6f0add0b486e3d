import { BatonError } from '../../base/error.ts'
import { part } from '../../event/place.ts'
import { appendToFile, copyFile, deleteEntry, makeFolder, moveEntry, saveFile } from '../../tool/workspace-files.ts'
import { fileStatus, readText } from '../../tool/workspace-reads.ts'
import { textThread } from './apart.ts'
import type { ActCall, Options } from './call.ts'
import type { LuaTable } from './arguments.ts'
import { infoOf } from './file-info.ts'
import { acting, type ModuleFunction, several } from './module.ts'
import { ensureSingleTrailingNewline, trimEnd, trimStart } from './text-lines.ts'

/** The functions of `aip.file` that change files. */
export const changeFunctions: { readonly [name: string]: ModuleFunction } = {
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
