import { compareBytes } from '../../base/byte-order.ts'
import { buildFolders, globOrder, listSteps, type ListedFile } from '../../base/glob.ts'
import { literalGlob } from '../../base/literal-glob.ts'
import type { Steps } from '../../base/concurrency.ts'
import { allowOf, readableFiles, readablePath } from '../../tool/guard.ts'
import { readText, statusAt, type FileStatus } from '../../tool/workspace-reads.ts'
import type { LuaTable } from './arguments.ts'
import type { HostCall } from './call.ts'
import { fileInfo, fileRecord, fileStats } from './file-info.ts'
import { listing, type ModuleFunction } from './module.ts'
import { resolveGlob } from './resolve-path.ts'

/** The functions of `aip.file` that take globs. */
export const listFunctions: { readonly [name: string]: ModuleFunction } = {
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
    const [file] = yield* find(call, ['.git'])
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
  return yield* each(yield* find(call), ({ path, absolute }) =>
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
function* find(call: HostCall, skipFolders = buildFolders): Steps<readonly ListedFile[]> {
  const { context } = call
  const { scope, services } = context
  const options = call.options(1)
  const baseDir = readablePath(call.baseFolder(options), context)
  const wantsAbsolute = options.flag('absolute')
  const globs = call.textList(0, 'the globs').map((glob) => literalGlob(resolveGlob(glob, context), baseDir))
  const listed = yield* listSteps(globs, {
    baseDir,
    root: scope.folders.workspace,
    allows: (real) => services.permission.check({ kind: 'read', path: real, named: real }).kind === 'allow',
    skipFolders,
  })
  // the names of files that the agent may not read stay hidden
  const files = readableFiles(listed, { context, allow: allowOf(context) })
  return inOrder(wantsAbsolute ? files.map((file) => ({ ...file, path: file.absolute })) : files, globs)
}

/** By the last glob that matches the shown path, otherwise by the glob that found it; then by path. */
function inOrder(files: readonly ListedFile[], globs: readonly string[]): readonly ListedFile[] {
  const rankOf = globOrder(globs)
  return files
    .map((file) => ({ file, rank: Math.max(rankOf(file.path, 'last'), file.glob) }))
    .toSorted((a, b) => a.rank - b.rank || compareBytes(a.file.path, b.file.path))
    .map(({ file }) => file)
}
