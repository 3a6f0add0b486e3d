import type { Place } from '../../event/effects.ts'
import { trimEnd, trimStart, ensureSingleTrailingNewline } from './text-trim.ts'
import {
  appendToFile,
  copyFile,
  deleteEntry,
  makeFolder,
  moveEntry,
  saveFile,
  type FileCall,
} from '../../tool/workspace-files.ts'
import { fileStatus, readText } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { content, flagOption, type LuaTable, optionsTable, pathText } from './arguments.ts'
import { fileInfo } from './file-info.ts'
import type { ModuleFunction, Section } from './module.ts'
import { resolvePath } from './resolve-path.ts'

/** The functions of `aip.file` that change files (spec/aipack.md 6.2, vectors 48 to 50). */
export const changeFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.save(path, content, {trim_start?, trim_end?, single_trailing_newline?}?) → FileInfo`
   * Writes a file and makes the folders above it; what was there is replaced. The options shape the content in this
   * order.
   */
  save: acting('save', ([path, data, options], call) => {
    const target = call.resolve(path)
    saveFile(target, shaped(content(data, call.name, 'the content'), optionsTable(options, call.name), call.name), call)
    return infoOf(target, call)
  }),
  /**
   * `aip.file.append(path, content) → FileInfo`
   * Adds to the end of a file, which is made when it is missing, with the folders above it.
   */
  append: acting('append', ([path, data], call) => {
    const target = call.resolve(path)
    appendToFile(target, content(data, call.name, 'the content'), call)
    return infoOf(target, call)
  }),
  /**
   * `aip.file.copy(source, destination, {overwrite?}?) → FileInfo`
   * Copies a file. A missing source is an error, and so is a destination that exists, unless `overwrite` is true.
   */
  copy: acting('copy', (args, call) => transfer(args, call, copyFile)),
  /**
   * `aip.file.move(source, destination, {overwrite?}?) → FileInfo`
   * Moves a file or folder. A missing source is an error, and so is a destination that exists, unless `overwrite` is
   * true.
   */
  move: acting('move', (args, call) => transfer(args, call, moveEntry)),
  /**
   * `aip.file.delete(path) → boolean`
   * Deletes a file, a link or a folder with all in it; it does not go to the trash. false when there is nothing.
   */
  delete: acting('delete', ([path], call) => deleteEntry(call.resolve(path), call)),
  /**
   * `aip.file.ensure_exists(path, content?, {content_when_empty?}?) → FileInfo`
   * Writes the content when the file is missing; with `content_when_empty` also when it holds nothing but white space.
   */
  ensure_exists: acting('ensure_exists', ([path, data, options], call) => {
    const target = call.resolve(path)
    const initial = data === undefined || data === null ? '' : content(data, call.name, 'the content')
    const whenEmpty = flagOption(optionsTable(options, call.name), 'content_when_empty', call.name)
    if (isMissing(target, call, { whenEmpty })) saveFile(target, initial, call)
    return fileInfo(pathText(path, call.name), fileStatus(target, call.context))
  }),
  /**
   * `aip.file.ensure_dir(path) → boolean`
   * Makes a folder and those above it: true when it was made, false when it was there. A file in its place is an error.
   */
  ensure_dir: acting('ensure_dir', ([path], call) => makeFolder(call.resolve(path), call)),
}

interface ChangeCall extends FileCall {
  /** The function, for messages. */
  readonly name: string
  readonly resolve: (path: LuaValue, what?: string) => string
}

type Changing = (args: readonly LuaValue[], call: ChangeCall) => LuaValue

function acting(name: string, change: Changing): ModuleFunction {
  const full = `aip.file.${name}`
  return { effect: 'act', call: (args, section, at) => [change(args, changeCall(full, section, at))] }
}

function changeCall(name: string, { context }: Section, at: Place): ChangeCall {
  return { name, context, at, resolve: (path, what) => resolvePath(pathText(path, name, what), context) }
}

function infoOf(path: string, { context }: ChangeCall): LuaTable {
  return fileInfo(path, fileStatus(path, context))
}

function transfer(
  [source, destination, options]: readonly LuaValue[],
  call: ChangeCall,
  work: typeof copyFile,
): LuaTable {
  const target = call.resolve(destination, 'the destination')
  const overwrite = flagOption(optionsTable(options, call.name), 'overwrite', call.name)
  work({ source: call.resolve(source, 'the source'), destination: target, overwrite }, call)
  return fileInfo(pathText(destination, call.name), fileStatus(target, call.context))
}

/** In this order: without white space at the start, at the end, with one newline at the end. Bytes stay as they are. */
function shaped(data: string | Uint8Array, options: LuaTable, name: string): string | Uint8Array {
  if (typeof data !== 'string') return data
  let text = data
  if (flagOption(options, 'trim_start', name)) text = trimStart(text)
  if (flagOption(options, 'trim_end', name)) text = trimEnd(text)
  if (flagOption(options, 'single_trailing_newline', name)) text = ensureSingleTrailingNewline(text)
  return text
}

function isMissing(path: string, { context }: ChangeCall, { whenEmpty }: { readonly whenEmpty: boolean }): boolean {
  const status = fileStatus(path, context)
  if (status === undefined) return true
  return whenEmpty && status.kind === 'file' && trimEnd(readText(path, context)) === ''
}
