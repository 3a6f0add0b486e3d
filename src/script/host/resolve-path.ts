import { escapeGlob } from '../../base/glob-pattern.ts'
import { isAbsolute, join, resolve } from 'node:path'
import { isBatonError } from '../../base/error.ts'
import { homeFolder } from '../../base/home.ts'
import type { ContextWith } from '../../event/context.ts'
import { packFolder } from '../../pack/find-pack.ts'
import { isPackPath, parsePackRef } from '../../pack/pack-ref.ts'

/** What paths of scripts depend on. */
type PathContext = ContextWith<'folders' | 'runId', unknown>

/**
 * The absolute path for a path in a script: `~/` is the home folder, absolute paths are kept, `$tmp` is the run's own
 * folder, `namespace@name` a pack, and all others start from `base` (default: the workspace). `.` and `..` are resolved
 * as text; the path need not exist. Unlike AIPack, `logo@2x.png` is a file name: only `namespace@name` before a slash,
 * a `$` or the end is a pack.
 * @throws BatonError AGENT_NOT_FOUND for a pack that is not found and a malformed reference
 */
export function resolvePath(path: string, context: PathContext, base = context.scope.folders.workspace): string {
  const named = slashed(path)
  const expanded = expandTilde(named)
  if (isAbsolute(expanded)) return resolve(expanded)
  const special = splitSpecial(named, context)
  return special === undefined ? resolve(base, named) : resolve(special.folder, special.rest)
}

/**
 * The same as `aip.path.resolve` returns it: a trailing slash or `/.` is kept if no `..` was resolved, and `~`, `$tmp`
 * and the empty path get a trailing slash.
 */
export function resolvedText(path: string, context: PathContext): string {
  const absolute = resolvePath(path, context)
  const named = tidyPath(path)
  if (named.split('/').includes('..') || absolute === '/') return absolute
  if (['', '~', '~/', '$tmp', '$tmp/'].includes(named)) return `${absolute}/`
  const keepsTail = !/^(?:~|\$tmp)\//.test(named) && !(isPackPath(named) && named.indexOf('/') === named.length - 1)
  const [tail = ''] = keepsTail ? (/(?:^|\/)\.$|\/$/.exec(named) ?? []) : []
  return tail === '.' ? `${absolute}/.` : absolute + tail
}

/** Backslashes are separators too, as in AIPack. */
function slashed(path: string): string {
  return path.replaceAll('\\', '/')
}

/** Runs `work`; undefined if the pack it needs is not found, or the reference is malformed. */
export function unlessNoPack<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (isBatonError(error) && error.code === 'AGENT_NOT_FOUND') return undefined
    throw error
  }
}

/**
 * The same for a glob: the part after the pack or `$tmp` remains a glob, and glob characters in the folder are escaped.
 * A leading `!` is kept. A pack that is not found is treated as an ordinary name.
 */
export function resolveGlob(glob: string, context: PathContext): string {
  const negated = glob.startsWith('!') ? '!' : ''
  const path = slashed(glob.slice(negated.length))
  if (path === '~' || path.startsWith('~/')) return `${negated}${escapeGlob(homeFolder())}${path.slice(1)}`
  const special = unlessNoPack(() => splitSpecial(path, context))
  if (special === undefined) return negated + path
  return `${negated}${escapeGlob(special.folder)}${special.rest === '' ? '' : `/${special.rest}`}`
}

/** Paths whose first name does not name a file: `$tmp` and packs. */
function splitSpecial(path: string, context: PathContext) {
  if (path === '$tmp' || path.startsWith('$tmp/')) {
    return { folder: temporaryFolder(context), rest: path.slice('$tmp/'.length) }
  }
  if (!isPackPath(path)) return undefined
  const ref = parsePackRef(path)
  const folder = packFolder(ref, { ...context.scope.folders, aipackBase: aipackBase(context) })
  return { folder, rest: ref.subPath ?? '' }
}

/** AIPack's own folder, which need not exist. */
export function aipackBase({ scope }: PathContext): string {
  return scope.folders.aipackBase ?? join(homeFolder(), '.aipack-base')
}

/** The folder that `$tmp` names, one per run. Created when the first file is written there. */
export function temporaryFolder({ scope }: PathContext): string {
  return join(scope.folders.workspace, '.aipack', '.session', scope.runId, 'tmp')
}

/** The path with a leading `~` replaced by the home folder. */
export function expandTilde(path: string): string {
  return path === '~' || path.startsWith('~/') ? homeFolder() + path.slice(1) : path
}

/** A path for scripts: absolute paths below the home folder start with `~`. */
export function tildePath(path: string): string {
  const home = homeFolder()
  return isAbsolute(path) && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

/** The parts of a path as text, without accessing the disk. */
export interface PathParts {
  /** Undefined if there is no parent: for `/` and the empty path. */
  readonly parent: string | undefined
  /** Last name; empty for `/`, `.` and `..`. */
  readonly name: string
  /** Name without its last extension; `.gitignore` has none. */
  readonly stem: string
  readonly ext: string
}

/** Splits a path. Trailing slashes are ignored. */
export function pathParts(path: string): PathParts {
  const trimmed = withoutTail(path)
  const slash = trimmed.lastIndexOf('/')
  const last = trimmed.slice(slash + 1)
  const isName = last !== '.' && last !== '..'
  const dot = isName ? last.lastIndexOf('.') : -1
  return {
    parent: trimmed === '' || trimmed === '/' ? undefined : withoutTail(trimmed.slice(0, slash + 1)),
    name: isName ? last : '',
    stem: isName ? (dot > 0 ? last.slice(0, dot) : last) : '',
    ext: dot > 0 ? last.slice(dot + 1) : '',
  }
}

/** Without trailing slashes and `/.`, unless nothing would be left. */
function withoutTail(path: string): string {
  let end = path.length
  for (;;) {
    if (end > 1 && path[end - 1] === '/') end -= 1
    else if (end > 1 && path[end - 1] === '.' && path[end - 2] === '/') end -= 1
    else return path.slice(0, end)
  }
}

/** With single forward slashes and without `.` in the middle; a leading `./` and a trailing slash are kept. */
export function tidyPath(path: string): string {
  return slashed(path).replaceAll(/\/(?:\.?\/)+/g, '/')
}

/** `part` below `base`; an absolute part replaces it. */
export function joinPath(base: string, part: string): string {
  const [folder, name] = [slashed(base), slashed(part)]
  if (name.startsWith('/') || folder === '') return tidyPath(name)
  return tidyPath(folder.endsWith('/') ? folder + name : `${folder}/${name}`)
}

/** `path` relative to `base`; undefined if there is no relative path, for example if only the base is absolute. */
export function pathDifference(path: string, base: string): string | undefined {
  if (path.startsWith('/') !== base.startsWith('/')) return path.startsWith('/') ? tidyPath(path) : undefined
  const to = names(path)
  const from = names(base)
  const shared = from.findIndex((name, index) => name !== to[index])
  const common = shared === -1 ? from.length : shared
  const up = from.slice(common)
  if (up.includes('..')) return undefined
  return [...up.map(() => '..'), ...to.slice(common)].join('/')
}

function names(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}
