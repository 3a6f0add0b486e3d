import { buildFolders, listSteps, type ListedFile } from '../../base/glob.ts'
import { finishSteps, type Steps } from '../../base/steps.ts'
import { guard, mayRead } from '../../tool/guard.ts'
import { readText, statusAt, type FileStatus } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { flagOption, type LuaTable, optionsTable, textList } from './arguments.ts'
import { fileInfo, fileRecord, fileStats } from './file-info.ts'
import type { ModuleFunction, Section } from './module.ts'
import { baseFolder, resolveGlob } from './resolve-path.ts'

/** The functions of `aip.file` that take globs (spec/aipack.md 6.2, 6.3, vectors 52 and 53). */
export const listFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.list(globs, {base_dir?, absolute?}?) → FileInfo[]`
   * The files that match one of the globs (a string or a list; `!` in front excludes), ordered by glob, then by path.
   * Globs may be absolute or begin with `~/`; files that are not below the base folder have absolute paths. Build folders
   * such as `node_modules`, `target` and `.git` are left out unless a glob names them.
   */
  list: listing(function* ([globs, options], section) {
    const files = yield* find(globs, options, { section, name: 'aip.file.list' })
    return yield* each(files, ({ path, absolute }) => fileInfo(path, statusAt(absolute)))
  }),
  /**
   * `aip.file.list_load(globs, {base_dir?, absolute?}?) → FileRecord[]`
   * As `aip.file.list`, with the content of each file. A file that is not UTF-8 is an error.
   */
  list_load: listing(([globs, options], section) => loadSteps(globs, options, { section, name: 'aip.file.list_load' })),
  /**
   * `aip.file.first(globs, {base_dir?, absolute?}?) → FileInfo?`
   * The first file that matches, nil when there is none. Only `.git` is left out.
   */
  first: listing(function* ([globs, options], section) {
    const search = { section, name: 'aip.file.first', skipFolders: ['.git'] }
    const [file] = yield* find(globs, options, search)
    return file === undefined ? undefined : fileInfo(file.path, statusAt(file.absolute))
  }),
  /**
   * `aip.file.stats(globs?, {base_dir?, absolute?}?) → FileStats?`
   * Number, total size and first and last times of the files that match: zeros when there are none, nil for nil.
   */
  stats: listing(function* ([globs, options], section) {
    if (globs === undefined) return undefined
    const files = yield* find(globs, options, { section, name: 'aip.file.stats' })
    const found = yield* each(files, ({ absolute }) => statusAt(absolute))
    return fileStats(found.filter((status): status is FileStatus => status !== undefined))
  }),
}

/** A function that lists files in steps, so that a listing of very many can be stopped. */
export function listing(work: (args: readonly LuaValue[], section: Section) => Steps<LuaValue>): ModuleFunction {
  const steps = function* (args: readonly LuaValue[], section: Section): Steps<readonly LuaValue[]> {
    return [yield* work(args, section)]
  }
  return { effect: 'observe', steps, call: (args, section) => finishSteps(steps(args, section)) }
}

/** The files that globs find as FileRecords. */
export function* loadSteps(globs: LuaValue, options: LuaValue, search: Search): Steps<readonly LuaTable[]> {
  const { context } = search.section
  const files = yield* find(globs, options, search)
  return yield* each(files, ({ path, absolute }) => fileRecord(path, statusAt(absolute), readText(absolute, context)))
}

function* each<T>(files: readonly FoundFile[], work: (file: FoundFile) => T): Steps<T[]> {
  const results: T[] = []
  for (const file of files) {
    yield
    results.push(work(file))
  }
  return results
}

export interface Search {
  readonly section: Section
  readonly name: string
  readonly skipFolders?: readonly string[]
}

type FoundFile = Pick<ListedFile, 'path' | 'absolute'>

/** `path` is as scripts see it: relative to the base folder unless `absolute` is asked for or it lies elsewhere. */
function* find(
  globs: LuaValue,
  options: LuaValue,
  { section, name, skipFolders = buildFolders }: Search,
): Steps<readonly FoundFile[]> {
  const { context } = section
  const table = optionsTable(options, name)
  const baseDir = guard('read', baseFolder(table, context, name), context)
  const wantsAbsolute = flagOption(table, 'absolute', name)
  const listed = yield* listSteps(
    textList(globs, name, 'the globs').map((glob) => resolveGlob(glob, context)),
    {
      baseDir,
      root: context.workspace,
      allows: (real) => context.policy.check({ kind: 'read', path: real }).kind === 'allow',
      skipFolders,
    },
  )
  // agents that may not read everything do not see the names of the rest
  const files = context.rights === undefined ? listed : listed.filter(({ absolute }) => mayRead(absolute, context))
  return wantsAbsolute ? files.map(({ absolute }) => ({ path: absolute, absolute })) : files
}
