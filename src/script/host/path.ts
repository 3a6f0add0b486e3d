import { compareBytes } from '../../base/byte-order.ts'
import { compileGlobs, globOrder } from '../../base/glob.ts'
import { mayRead } from '../../tool/guard.ts'
import { type FileStatus, statusAt } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { type HostCall, isLarge, keyedTable, luaTypeName, Options, textList } from './call.ts'
import { fileInfo } from './file-info.ts'
import { pathExists } from './file.ts'
import { type HostModule, type ModuleFunction, observing, pure, several, slow } from './module.ts'
import { expandTilde, joinPath, pathDifference, pathParts, resolvedText, tidyPath } from './resolve-path.ts'

/** `aip.path`: paths as text, plus three functions that look at the disk. */
export const pathModule: HostModule = {
  name: 'aip.path',
  functions: {
    /**
     * `aip.path.parse(path?) → FileInfo?`
     * Splits a path into `dir`, `name`, `stem` and `ext`, without accessing the disk. nil for nil.
     */
    parse: pure((call) => {
      const given = call.optionalText(0)
      return given === undefined ? undefined : fileInfo(given)
    }),
    /** `aip.path.split(path) → parent, name` The folder and the name of a path; the folder is `""` if there is none. */
    split: pure((call) => {
      const { parent, name } = pathParts(tidyPath(call.text(0)))
      return several(parent ?? '', name)
    }),
    /** `aip.path.parent(path) → string?` The folder of a path: `""` for a bare name, nil for `/` and `""`. */
    parent: pure((call) => pathParts(call.text(0)).parent),
    /**
     * `aip.path.join(base, ...parts) → string` Joins a path. The items of a list are joined with `/`; separate
     * arguments are concatenated without a separator. The result is joined to the base.
     */
    join: pure((call) => {
      const [, ...parts] = call.args
      const joined = parts.map((part, index) => textList(part, call.name, `part ${index + 1}`).join('/')).join('')
      return joinPath(call.text(0, 'the base'), joined)
    }),
    /**
     * `aip.path.diff(path, base) → string`
     * The path relative to the base, with `..` where needed; `""` if there is no relative path.
     */
    diff: pure((call) => {
      const [path, base] = [call.text(0), call.text(1, 'the base')].map((given) => expandTilde(tidyPath(given)))
      return pathDifference(path ?? '', base ?? '') ?? ''
    }),
    /**
     * `aip.path.resolve(path) → string` The absolute form of a path: `~/`, `$tmp` and `namespace@pack` are resolved;
     * other paths are relative to the workspace. A trailing slash is kept. A pack that is not found is an error.
     */
    resolve: pure((call) => resolvedText(call.path(0), call.context)),
    /** `aip.path.exists(path) → boolean` Whether a file or folder exists at the path, like `aip.file.exists`. */
    exists: observing(pathExists),
    /** `aip.path.is_file(path) → boolean` Whether the path is a file; false if it may not be read. */
    is_file: existsAs('file'),
    /** `aip.path.is_dir(path) → boolean` Whether the path is a folder; false if it may not be read. */
    is_dir: existsAs('folder'),
    /**
     * `aip.path.matches_glob(path?, globs) → boolean?` Whether one of the globs (a string or a list) matches the path;
     * `*` does not cross `/`, and a leading `!` has no special meaning. nil for nil, false for an empty list.
     */
    matches_glob: slow(
      (call) => {
        const given = call.optionalText(0)
        if (given === undefined) return undefined
        const globs = call.textList(1, 'the globs').map((glob) => glob.replace(/^!/, '\\!'))
        return compileGlobs(globs).matches(given)
      },
      { isSlow },
    ),
    /**
     * `aip.path.sort_by_globs(files, globs, options?) → list` Orders paths, or tables with a `path`, by the glob they
     * match, then by path; here `*` crosses `/`. `options` is true to use the last matching glob instead of the first,
     * `"start"` or `"end"` for where files without a match go, or a table `{end_weighted?, no_match_position?}`.
     */
    sort_by_globs: slow(sortByGlobs, { isSlow }),
  },
}

/** Every path is matched against every glob. */
function isSlow(args: readonly LuaValue[]): boolean {
  return isLarge(args, 8192)
}

/** A path that an agent may not read, because its pack does not name it, counts as neither a file nor a folder. */
function existsAs(kind: FileStatus['kind']): ModuleFunction {
  return observing((call) => {
    const absolute = call.file(0)
    return mayRead(absolute, call.context) && statusAt(absolute)?.kind === kind
  })
}

function sortByGlobs(call: HostCall): readonly LuaValue[] {
  const items = call.list(0, 'the files')
  const rankOf = globOrder(call.textList(1, 'the globs'))
  const { weight, unmatched } = sortOptions(call)
  const ranked = items.map((item, index) => {
    const path = keyedTable(item)?.['path'] ?? item
    if (typeof path !== 'string') throw call.error(`file ${index + 1} must be a string or a table with a path`)
    return { item, path, rank: rankOf(path, weight) }
  })
  const others = ranked.filter(({ rank }) => rank === -1)
  const matched = ranked.filter(({ rank }) => rank !== -1)
  const sorted = matched.toSorted((a, b) => a.rank - b.rank || compareBytes(a.path, b.path))
  return (unmatched === 'start' ? [...others, ...sorted] : [...sorted, ...others]).map(({ item }) => item)
}

interface SortOptions {
  /** Whether the last matching glob decides the position, not the first. */
  readonly weight: 'first' | 'last'
  readonly unmatched: 'start' | 'end'
}

function sortOptions(call: HostCall): SortOptions {
  const [, , value] = call.args
  if (typeof value === 'boolean') return { weight: value ? 'last' : 'first', unmatched: 'end' }
  if (typeof value === 'string') return { weight: 'first', unmatched: position(value, call) }
  const table = call.has(2) ? keyedTable(value) : {}
  if (table === undefined) {
    throw call.error(`the options must be true, false, "start", "end" or a table, but were ${luaTypeName(value)}`)
  }
  const options = new Options(table, call.name)
  const unmatched = options.text('no_match_position')
  return {
    weight: options.get('end_weighted') === true ? 'last' : 'first',
    unmatched: unmatched === undefined ? 'end' : position(unmatched, call),
  }
}

function position(value: string, call: HostCall): 'start' | 'end' {
  if (value === 'start' || value === 'end') return value
  throw call.error(`files without a match go to "start" or "end", not to "${value}"`)
}
