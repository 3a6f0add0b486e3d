import { compareBytes } from '../../base/byte-order.ts'
import { compileGlobs } from '../../base/glob.ts'
import { mayRead } from '../../tool/guard.ts'
import { statusAt, type FileStatus } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import {
  argumentError,
  isTable,
  list,
  type LuaTable,
  luaTypeName,
  optionalText,
  pathText,
  text,
  textList,
} from './arguments.ts'
import { fileInfo } from './file-info.ts'
import { pathExists } from './file-reads.ts'
import type { HostModule, ModuleFunction, Section } from './module.ts'
import { joinPath, pathDifference, pathParts, tidyPath } from './path-parts.ts'
import { expandTilde, resolvePath } from './resolve-path.ts'

type Values = readonly LuaValue[]

/** `aip.path` (spec/aipack.md 6.2, vectors 44 to 47 and 51): paths as text, and three questions to the disk. */
export const pathModule: HostModule = {
  name: 'aip.path',
  functions: {
    /**
     * `aip.path.parse(path?) → FileInfo?`
     * Takes a path apart: `dir`, `name`, `stem`, `ext`. The disk is not looked at. nil for nil.
     */
    parse: pure('parse', ([path], name) => {
      const given = optionalText(path, name)
      return [given === undefined ? undefined : fileInfo(given)]
    }),
    /**
     * `aip.path.split(path) → parent, name`
     * The folder and the name of a path; the folder is `""` when there is none.
     */
    split: pure('split', ([path], name) => {
      const parts = pathParts(tidyPath(text(path, name)))
      return [parts.parent ?? '', parts.name]
    }),
    /**
     * `aip.path.parent(path) → string?`
     * The folder of a path: `""` for a name alone, nil for `/` and `""`.
     */
    parent: pure('parent', ([path], name) => [pathParts(text(path, name)).parent]),
    /**
     * `aip.path.join(base, ...parts) → string`
     * Joins a path. The items of a list are joined by `/`; separate arguments are put together without anything
     * between, and the result is joined to the base.
     */
    join: pure('join', ([base, ...parts], name) => {
      const joined = parts.map((part, index) => textList(part, name, `part ${index + 1}`).join('/')).join('')
      return [joinPath(text(base, name, 'the base'), joined)]
    }),
    /**
     * `aip.path.diff(path, base) → string`
     * The path as it is seen from the base, with `..` where needed; `""` when there is no such way.
     */
    diff: pure('diff', ([path, base], name) => [
      pathDifference(expandTilde(text(path, name)), expandTilde(text(base, name, 'the base'))) ?? '',
    ]),
    /**
     * `aip.path.resolve(path) → string`
     * The absolute path that a path stands for: `~/`, `$tmp` and `namespace@pack` are worked out, others start in the
     * workspace. A pack that is nowhere is an error.
     */
    resolve: { effect: 'pure', call: ([path], section) => [resolveGiven(path, section, 'aip.path.resolve')] },
    /**
     * `aip.path.exists(path) → boolean`
     * Whether something stands at the path, as `aip.file.exists`.
     */
    exists: {
      effect: 'observe',
      call: ([path], section) => [pathExists(pathText(path, 'aip.path.exists'), section)],
    },
    /**
     * `aip.path.is_file(path) → boolean`
     * Whether a file stands at the path; false for what may not be read.
     */
    is_file: asking('is_file', 'file'),
    /**
     * `aip.path.is_dir(path) → boolean`
     * Whether a folder stands at the path; false for what may not be read.
     */
    is_dir: asking('is_dir', 'folder'),
    /**
     * `aip.path.matches_glob(path?, globs) → boolean?`
     * Whether one of the globs (a string or a list) matches the path; `*` does not cross `/`. nil for nil, false for an
     * empty list.
     */
    matches_glob: pure('matches_glob', ([path, globs], name) => {
      const given = optionalText(path, name)
      return [given === undefined ? undefined : compileGlobs(textList(globs, name, 'the globs')).matches(given)]
    }),
    /**
     * `aip.path.sort_by_globs(files, globs, options?) → list`
     * Orders paths, or tables with a `path`, by the glob they match, then by path. `options` is true when a later glob
     * that matches too wins, `"start"` or `"end"` for where files without a match go, or a table `{end_weighted?,
     * no_match_position?}`.
     */
    sort_by_globs: pure('sort_by_globs', ([items, globs, options], name) => [
      sortByGlobs(list(items, name, 'the files'), textList(globs, name, 'the globs'), sortOptions(options, name)),
    ]),
  },
}

function pure(name: string, work: (args: Values, name: string) => Values): ModuleFunction {
  const full = `aip.path.${name}`
  return { effect: 'pure', call: (args) => work(args, full) }
}

function resolveGiven(path: LuaValue, { context }: Section, name: string): string {
  return resolvePath(pathText(path, name), context)
}

/** What an agent may not read, because its pack does not name it, is neither a file nor a folder for it. */
function asking(name: string, kind: FileStatus['kind']): ModuleFunction {
  return {
    effect: 'observe',
    call: ([path], section) => {
      const absolute = resolveGiven(path, section, `aip.path.${name}`)
      return [mayRead(absolute, section.context) && statusAt(absolute)?.kind === kind]
    },
  }
}

interface SortOptions {
  /** Whether a later glob that matches too wins the position. */
  readonly weight: 'first' | 'last'
  readonly unmatched: 'start' | 'end'
}

function sortOptions(value: LuaValue, name: string): SortOptions {
  if (value === undefined || value === null) return { weight: 'first', unmatched: 'end' }
  if (typeof value === 'boolean') return { weight: value ? 'last' : 'first', unmatched: 'end' }
  if (typeof value === 'string') return { weight: 'first', unmatched: position(value, name) }
  if (!isTable(value)) {
    throw argumentError(
      name,
      `the options must be true, false, "start", "end" or a table, but were ${luaTypeName(value)}`,
    )
  }
  const table = Array.isArray(value) ? {} : (value as LuaTable)
  const unmatched = table['no_match_position']
  return {
    weight: table['end_weighted'] === true ? 'last' : 'first',
    unmatched: unmatched === undefined || unmatched === null ? 'end' : position(text(unmatched, name), name),
  }
}

function position(value: string, name: string): 'start' | 'end' {
  if (value === 'start' || value === 'end') return value
  throw argumentError(name, `files without a match go to "start" or "end", not to "${value}"`)
}

function sortByGlobs(items: Values, globs: readonly string[], { weight, unmatched }: SortOptions): Values {
  const matcher = compileGlobs(globs)
  const ranked = items.map((item, index) => {
    const path = pathOf(item, index)
    return { item, path, rank: matcher.indexOf(path, weight) }
  })
  const others = ranked.filter(({ rank }) => rank === -1).map(({ item }) => item)
  const sorted = ranked
    .filter(({ rank }) => rank !== -1)
    .toSorted((a, b) => a.rank - b.rank || compareBytes(a.path, b.path))
    .map(({ item }) => item)
  return unmatched === 'start' ? [...others, ...sorted] : [...sorted, ...others]
}

function pathOf(item: LuaValue, index: number): string {
  const path = isTable(item) && !Array.isArray(item) ? (item as LuaTable)['path'] : item
  if (typeof path === 'string') return path
  throw argumentError('aip.path.sort_by_globs', `file ${index + 1} must be a string or a table with a path`)
}
