import { resolve } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { BatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { realName } from '../../base/real-name.ts'
import type { Action, Permit, ToolSubject, Verdict } from '../../event/permission.ts'
import type { Toolbox, ToolCall } from './kind.ts'
import { mayRead } from '../guard.ts'
import type { ToolName } from './rows.ts'

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

const strictness: readonly Verdict['kind'][] = ['allow', 'ask', 'deny']

/**
 * Whether a call may show a path (absolute, without links) that it found below the permitted one: not if a rule for
 * this tool or for `read` is stricter about it. Otherwise the call would bypass the rules for `read`.
 */
export function visibleTo(
  tool: ToolName,
  { context, permit }: Pick<ToolCall, 'context' | 'permit'>,
): (path: string) => boolean {
  const { permission } = context.services
  const { packs } = context.scope.rights
  const { action } = permit
  const root = action.kind === 'tool' && action.subject?.kind === 'path' ? action.subject.path : undefined
  const permitted = rank(root)

  function rank(path: string | undefined): number {
    const asked: Action = { kind: 'tool', tool, input: null, ...(path && { subject: { kind: 'path', path } }) }
    return strictness.indexOf(permission.check(asked).kind)
  }

  return (path) => rank(path) <= permitted && (packs.length === 0 || mayRead(path, context))
}
