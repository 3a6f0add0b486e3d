import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import type { LuaTable } from './arguments.ts'
import { pathText } from './arguments.ts'

const packReference = /^[A-Za-z_][\w-]*@[A-Za-z_][\w-]*(?:\$(?:base|workspace))?(?:\/|$)/

/**
 * The absolute path that a script means (spec/aipack.md 3.5): `~/` is the home folder, absolute paths stay, all others
 * start from `base`. `.` and `..` are worked out as text; whether it exists is not looked at.
 * Unlike AIPack, `logo@2x.png` is a file name: only `namespace@name` before a slash or the end is a pack.
 * @throws BatonError NOT_AVAILABLE for pack references and `$tmp`
 */
export function resolvePath(path: string, base: string): string {
  const expanded = expandTilde(path)
  if (isAbsolute(expanded)) return resolve(expanded)
  refuseWhatComesLater(path)
  return resolve(base, path)
}

/** The path with the home folder in the place of a leading `~`. */
export function expandTilde(path: string): string {
  return path === '~' || path.startsWith('~/') ? homedir() + path.slice(1) : path
}

/**
 * Refuses the paths and globs that this version has no folders for.
 * @throws BatonError NOT_AVAILABLE
 */
export function refuseWhatComesLater(path: string): void {
  if (packReference.test(path)) {
    throw new BatonError('NOT_AVAILABLE', `pack references such as "${path}" are not available in this version`, {
      hint: 'Name the file by its path; a path that holds an @ is written ./like@this.',
    })
  }
  if (path === '$tmp' || path.startsWith('$tmp/')) {
    throw new BatonError('NOT_AVAILABLE', `"${path}": the folder $tmp is not available in this version`, {
      hint: 'Use a folder inside the workspace.',
    })
  }
}

/** The folder that relative paths and globs start from: the option `base_dir`, or the workspace. */
export function baseFolder(options: LuaTable, workspace: string, name: string): string {
  const given = options['base_dir']
  if (given === undefined || given === null) return workspace
  return resolvePath(pathText(given, name, 'the option base_dir'), workspace)
}

/** A path for scripts: absolute paths below the home folder begin with `~` (spec/aipack.md 3.5). */
export function tildePath(path: string): string {
  const home = homedir()
  return isAbsolute(path) && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
