import { escapeGlob } from '../../base/glob-pattern.ts'
import { isAbsolute, join, resolve } from 'node:path'
import { isBatonError } from '../../base/error.ts'
import { homeFolder } from '../../base/home.ts'
import type { RunContext } from '../../event/context.ts'
import { packFolder } from '../../pack/find-pack.ts'
import { isPackPath, parsePackRef } from '../../pack/pack-ref.ts'

/**
 * The absolute path that a script means: `~/` is the home folder, absolute paths stay, `$tmp` is
 * the run's own folder, `namespace@name` a pack, and all others start from `base`, the workspace when left out. `.` and
 * `..` are worked out as text; whether it exists is not looked at.
 * Unlike AIPack, `logo@2x.png` is a file name: only `namespace@name` before a slash, a `$` or the end is a pack.
 * @throws BatonError AGENT_NOT_FOUND for a pack that is nowhere and a reference that is malformed
 */
export function resolvePath(path: string, context: RunContext, base = context.scope.folders.workspace): string {
  const named = slashed(path)
  const expanded = expandTilde(named)
  if (isAbsolute(expanded)) return resolve(expanded)
  const special = splitSpecial(named, context)
  return special === undefined ? resolve(base, named) : resolve(special.folder, special.rest)
}

/**
 * The same as `aip.path.resolve` gives it: a slash or `/.` at the end stays, as long as no `..` was worked out, and a
 * folder that is named by a word alone, or by nothing, has a slash.
 */
export function resolvedText(path: string, context: RunContext): string {
  const absolute = resolvePath(path, context)
  const named = tidyPath(path)
  if (named.split('/').includes('..') || absolute === '/') return absolute
  if (['', '~', '~/', '$tmp', '$tmp/'].includes(named)) return `${absolute}/`
  const keepsTail = !/^(?:~|\$tmp)\//.test(named) && !(isPackPath(named) && named.indexOf('/') === named.length - 1)
  const [tail = ''] = keepsTail ? (/(?:^|\/)\.$|\/$/.exec(named) ?? []) : []
  return tail === '.' ? `${absolute}/.` : absolute + tail
}

/** Backslashes separate names too, as in AIPack. */
function slashed(path: string): string {
  return path.replaceAll('\\', '/')
}

/** Does `work`; undefined when the pack it needs is nowhere, or what looks like one is none. */
export function unlessNoPack<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (isBatonError(error) && error.code === 'AGENT_NOT_FOUND') return undefined
    throw error
  }
}

/**
 * The same for a glob: what stands behind the pack or `$tmp` stays a glob, and characters of the folder that mean
 * something in globs are taken as they are. A leading `!` stays. A pack that is nowhere is a name like any other.
 */
export function resolveGlob(glob: string, context: RunContext): string {
  const negated = glob.startsWith('!') ? '!' : ''
  const path = slashed(glob.slice(negated.length))
  if (path === '~' || path.startsWith('~/')) return `${negated}${escapeGlob(homeFolder())}${path.slice(1)}`
  const special = unlessNoPack(() => splitSpecial(path, context))
  if (special === undefined) return negated + path
  return `${negated}${escapeGlob(special.folder)}${special.rest === '' ? '' : `/${special.rest}`}`
}

/** Paths whose first name is not that of a file: `$tmp` and packs. */
function splitSpecial(path: string, context: RunContext) {
  if (path === '$tmp' || path.startsWith('$tmp/')) {
    return { folder: temporaryFolder(context), rest: path.slice('$tmp/'.length) }
  }
  if (!isPackPath(path)) return undefined
  const ref = parsePackRef(path)
  const folder = packFolder(ref, { ...context.scope.folders, aipackBase: aipackBase(context) })
  return { folder, rest: ref.subPath ?? '' }
}

/** AIPack's own folder, which need not exist. */
export function aipackBase({ scope }: RunContext): string {
  return scope.folders.aipackBase ?? join(homeFolder(), '.aipack-base')
}

/** Where `$tmp` is: one folder for each run. Made by the first file that is written there. */
export function temporaryFolder({ scope }: RunContext): string {
  return join(scope.folders.workspace, '.aipack', '.session', scope.runId, 'tmp')
}

/** The path with the home folder in the place of a leading `~`. */
export function expandTilde(path: string): string {
  return path === '~' || path.startsWith('~/') ? homeFolder() + path.slice(1) : path
}

/** A path for scripts: absolute paths below the home folder begin with `~`. */
export function tildePath(path: string): string {
  const home = homeFolder()
  return isAbsolute(path) && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

/** The parts of a path as text, without looking at the disk. */
export interface PathParts {
  /** Undefined when there is nothing above: for `/` and the empty path. */
  readonly parent: string | undefined
  /** Last name; empty for `/`, `.` and `..`. */
  readonly name: string
  /** Name without its last extension; `.gitignore` has none. */
  readonly stem: string
  readonly ext: string
}

/** Splits a path. Slashes at its end do not count. */
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

/** Without slashes and `/.` at the end, as long as something is left. */
function withoutTail(path: string): string {
  let end = path.length
  for (;;) {
    if (end > 1 && path[end - 1] === '/') end -= 1
    else if (end > 1 && path[end - 1] === '.' && path[end - 2] === '/') end -= 1
    else return path.slice(0, end)
  }
}

/** With single slashes, none of them reversed, and without `.` in the middle; `./` in front and a slash at the end stay. */
export function tidyPath(path: string): string {
  return slashed(path).replaceAll(/\/(?:\.?\/)+/g, '/')
}

/** `part` below `base`; an absolute part replaces it. */
export function joinPath(base: string, part: string): string {
  const [folder, name] = [slashed(base), slashed(part)]
  if (name.startsWith('/') || folder === '') return tidyPath(name)
  return tidyPath(folder.endsWith('/') ? folder + name : `${folder}/${name}`)
}

/** The way from one path to another; undefined when there is none, from a relative to an absolute one for example. */
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
