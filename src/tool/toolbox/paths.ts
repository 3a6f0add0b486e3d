import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import type { Permit, ToolSubject } from '../../event/permission.ts'
import type { Toolbox } from './kind.ts'

/** What a call is about that names a path: where its links lead. @throws the error of the system for links in a circle */
export function pathSubject(path: string, { baseDir }: Pick<Toolbox, 'baseDir'>): ToolSubject {
  return { kind: 'path', path: realPath(resolve(baseDir, path)) }
}

/**
 * The path that a call was permitted for (absolute, links resolved).
 * @throws BatonError OUTSIDE_WORKSPACE when it leads somewhere else by now
 */
export function permittedPath({ action }: Permit): string {
  if (action.kind !== 'tool' || action.subject?.kind !== 'path')
    throw new Error('the call was permitted without a path')
  const { path } = action.subject
  if (realPath(path) === path) return path
  throw new BatonError('OUTSIDE_WORKSPACE', `${path} leads somewhere else by now: a link was put in its path`)
}

/**
 * A path as a model is shown it, and may write it: from the base folder, or absolute. One with line breaks or other controls is
 * written as a JSON text, so that no name can pass for other lines.
 */
export function toolPath(path: string, { baseDir }: Pick<Toolbox, 'baseDir'>): string {
  return oneLine(displayPath(realPath(baseDir), path))
}

/** A name or path that stays on its line. */
export function oneLine(name: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(name) ? JSON.stringify(name) : name
}
