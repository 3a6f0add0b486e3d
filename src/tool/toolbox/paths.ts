import { modelText } from '../../base/model-text.ts'
import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { realName } from '../../base/real-name.ts'
import type { Permit, ToolSubject } from '../../event/permission.ts'
import type { Toolbox } from './kind.ts'

/**
 * The permission subject of a call that names a path, as it is on disk (`realName`), with links resolved.
 * @throws the system error for a link cycle
 */
export function pathSubject(path: string, { baseDir }: Pick<Toolbox, 'baseDir'>): ToolSubject {
  return { kind: 'path', path: realPath(realName(resolve(baseDir, path))) }
}

/**
 * The path that a call was permitted for (absolute, links resolved).
 * @throws BatonError OUTSIDE_WORKSPACE if it now leads somewhere else
 */
export function permittedPath({ action }: Permit): string {
  if (action.kind !== 'tool' || action.subject?.kind !== 'path')
    throw new Error('the call was permitted without a path')
  const { path } = action.subject
  if (realPath(path) === path) return path
  throw new BatonError('OUTSIDE_WORKSPACE', modelText`${path} now leads somewhere else: a link was put in its path`)
}

/**
 * A path as models see and write it: from the base folder, or absolute. A path with line breaks or other control
 * characters is written as a JSON string, so that a name cannot imitate further lines.
 */
export function toolPath(path: string, { baseDir }: Pick<Toolbox, 'baseDir'>): string {
  return oneLine(displayPath(realPath(baseDir), path))
}

/** A name or path on a single line. */
export function oneLine(name: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(name) ? JSON.stringify(name) : name
}
