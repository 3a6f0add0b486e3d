import { buildFolders, listFiles } from '../../base/glob.ts'
import { guard, mayRead } from '../../tool/guard.ts'
import { readText, statusAt, type FileStatus } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { flagOption, optionsTable, textList } from './arguments.ts'
import { fileInfo, fileRecord, fileStats } from './file-info.ts'
import type { ModuleFunction, Section } from './module.ts'
import { baseFolder, resolveGlob } from './resolve-path.ts'

/** The functions of `aip.file` that take globs (spec/aipack.md 6.2, 6.3, vectors 52 and 53). */
export const listFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.list(globs, {base_dir?, absolute?}?) → FileInfo[]`
   * The files that match one of the globs (a string or a list; `!` in front excludes), ordered by glob, then by path.
   * Build folders such as `node_modules`, `target` and `.git` are left out unless a glob names them.
   */
  list: {
    effect: 'observe',
    call: ([globs, options], section) => {
      const files = find(globs, options, { section, name: 'aip.file.list' })
      return [files.map(({ path, status }) => fileInfo(path, status))]
    },
  },
  /**
   * `aip.file.list_load(globs, {base_dir?, absolute?}?) → FileRecord[]`
   * As `aip.file.list`, with the content of each file. A file that is not UTF-8 is an error.
   */
  list_load: {
    effect: 'observe',
    call: ([globs, options], section) => {
      const files = find(globs, options, { section, name: 'aip.file.list_load' })
      return [files.map(({ path, absolute, status }) => fileRecord(path, status, readText(absolute, section.context)))]
    },
  },
  /**
   * `aip.file.first(globs, {base_dir?, absolute?}?) → FileInfo?`
   * The first file that matches, nil when there is none. Only `.git` is left out.
   */
  first: {
    effect: 'observe',
    call: ([globs, options], section) => {
      const search = { section, name: 'aip.file.first', skipFolders: ['.git'] }
      const [file] = find(globs, options, search)
      return [file === undefined ? undefined : fileInfo(file.path, file.status)]
    },
  },
  /**
   * `aip.file.stats(globs?, {base_dir?, absolute?}?) → FileStats?`
   * Number, total size and first and last times of the files that match: zeros when there are none, nil for nil.
   */
  stats: {
    effect: 'observe',
    call: ([globs, options], section) => {
      if (globs === undefined) return [undefined]
      const files = find(globs, options, { section, name: 'aip.file.stats' })
      return [fileStats(files.flatMap(({ status }) => status ?? []))]
    },
  },
}

interface Search {
  readonly section: Section
  readonly name: string
  readonly skipFolders?: readonly string[]
}

interface FoundFile {
  /** As scripts see it: relative to the base folder unless `absolute` is asked for or it lies elsewhere. */
  readonly path: string
  readonly absolute: string
  readonly status: FileStatus | undefined
}

function find(globs: LuaValue, options: LuaValue, { section, name, skipFolders = buildFolders }: Search): FoundFile[] {
  const { context } = section
  const table = optionsTable(options, name)
  const baseDir = guard('read', baseFolder(table, context, name), context)
  const listed = listFiles(
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
  const wantsAbsolute = flagOption(table, 'absolute', name)
  return files.map(({ path, absolute }) => ({
    path: wantsAbsolute ? absolute : path,
    absolute,
    status: statusAt(absolute),
  }))
}
