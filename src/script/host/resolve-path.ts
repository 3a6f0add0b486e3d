import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { RunContext } from '../../event/context.ts'
import { packFolder } from '../../pack/pack-path.ts'
import { isPackPath, parsePackRef } from '../../pack/pack-ref.ts'
import type { LuaTable } from './arguments.ts'
import { pathText } from './arguments.ts'

/** What of a run decides where a path leads. */
export type PathContext = Pick<RunContext, 'workspace' | 'runId' | 'places'>

/**
 * The absolute path that a script means (spec/aipack.md 3.5): `~/` is the home folder, absolute paths stay, `$tmp` is
 * the run's own folder, `namespace@name` a pack, and all others start from `base`, the workspace when left out. `.` and
 * `..` are worked out as text; whether it exists is not looked at.
 * Unlike AIPack, `logo@2x.png` is a file name: only `namespace@name` before a slash, a `$` or the end is a pack.
 * @throws BatonError AGENT_NOT_FOUND for a pack that is nowhere and a reference that is malformed
 */
export function resolvePath(path: string, context: PathContext, base = context.workspace): string {
  const expanded = expandTilde(path)
  if (isAbsolute(expanded)) return resolve(expanded)
  const special = splitSpecial(path, context)
  return special === undefined ? resolve(base, path) : resolve(special.folder, special.rest)
}

/**
 * The same for a glob: what stands behind the pack or `$tmp` stays a glob, and characters of the folder that mean
 * something in globs are taken as they are. A leading `!` stays.
 */
export function resolveGlob(glob: string, context: PathContext): string {
  const negated = glob.startsWith('!') ? '!' : ''
  const path = glob.slice(negated.length)
  if (path === '~' || path.startsWith('~/')) return `${negated}${escapeGlob(homedir())}${path.slice(1)}`
  const special = splitSpecial(path, context)
  if (special === undefined) return glob
  return `${negated}${escapeGlob(special.folder)}${special.rest === '' ? '' : `/${special.rest}`}`
}

interface SpecialPath {
  readonly folder: string
  /** Below the folder; may be empty. */
  readonly rest: string
}

/** Paths whose first name is not that of a file: `$tmp` and packs. */
function splitSpecial(path: string, context: PathContext): SpecialPath | undefined {
  if (path === '$tmp' || path.startsWith('$tmp/')) {
    return { folder: temporaryFolder(context), rest: path.slice('$tmp/'.length) }
  }
  if (!isPackPath(path)) return undefined
  const ref = parsePackRef(path)
  const { workspace, places } = context
  const known = places ?? { packRoots: [] }
  const folder = packFolder(ref, { ...known, workspace, aipackBase: aipackBase(context) })
  return { folder, rest: ref.subPath ?? '' }
}

/** AIPack's own folder, which need not exist. */
export function aipackBase({ places }: Pick<PathContext, 'places'>): string {
  return places?.aipackBase ?? join(homedir(), '.aipack-base')
}

/** Where `$tmp` is: one folder for each run. Made by the first file that is written there. */
export function temporaryFolder({ workspace, runId }: Pick<PathContext, 'workspace' | 'runId'>): string {
  return join(workspace, '.aipack', '.session', runId, 'tmp')
}

function escapeGlob(path: string): string {
  return path.replaceAll(/[\\*?[\]{},!]/g, String.raw`\$&`)
}

/** The path with the home folder in the place of a leading `~`. */
export function expandTilde(path: string): string {
  return path === '~' || path.startsWith('~/') ? homedir() + path.slice(1) : path
}

/** The folder that relative paths and globs start from: the option `base_dir`, or the workspace. */
export function baseFolder(options: LuaTable, context: PathContext, name: string): string {
  const given = options['base_dir']
  if (given === undefined || given === null) return context.workspace
  return resolvePath(pathText(given, name, 'the option base_dir'), context)
}

/** A path for scripts: absolute paths below the home folder begin with `~` (spec/aipack.md 3.5). */
export function tildePath(path: string): string {
  const home = homedir()
  return isAbsolute(path) && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
