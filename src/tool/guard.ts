import { basename, dirname, join } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { leavingLink } from '../base/link.ts'
import type { RunContext } from '../event/context.ts'
import type { Action } from '../event/policy.ts'

type Guarded = Pick<RunContext, 'workspace' | 'policy'>

/**
 * Asks the policy whether the path (absolute) may be used so, links resolved, and gives the real path to use. Nothing on
 * disk is changed before this returns.
 * @throws BatonError OUTSIDE_WORKSPACE, or FILE_FAILED when the path lies inside but is protected
 */
export function guard(kind: Action['kind'], path: string, context: Guarded): string {
  const real = resolved(path, context)
  refuseDenied({ kind, path: real }, path, context)
  return real
}

function resolved(path: string, { workspace }: Guarded): string {
  try {
    return realPath(path)
  } catch (error) {
    const reason = hasSystemCode(error, 'ELOOP') ? 'its links lead in a circle' : messageOf(error)
    throw new BatonError('FILE_FAILED', `${displayPath(workspace, path)} cannot be used: ${reason}`, { cause: error })
  }
}

/**
 * As `guard`, for what removes an entry of a folder: when the entry is a link, the link is meant, not what it leads to.
 * Still both must be allowed, so that nothing that leads out is touched.
 */
export function guardEntry(path: string, context: Guarded): string {
  guard('delete', path, context)
  const entry = join(resolved(dirname(path), context), basename(path))
  refuseDenied({ kind: 'delete', path: entry }, path, context)
  return entry
}

/** True when the path may be read: always, but for agents that are held to the capabilities of their pack. */
export function mayRead(path: string, context: Guarded): boolean {
  try {
    guard('read', path, context)
    return true
  } catch {
    return false
  }
}

/** `path` is what the script named, `action.path` where it really is. */
function refuseDenied(action: Action, path: string, { workspace, policy }: Guarded): void {
  const verdict = policy.check(action)
  if (verdict.kind === 'allow') return
  const shown = displayPath(workspace, path)
  const reason = verdict.kind === 'deny' ? verdict.reason : `${shown} needs an approval, and no one can be asked`
  if (isInside(workspace, action.path)) throw new BatonError('FILE_FAILED', reason, { hint: 'Use another path.' })

  const { kind } = action
  const isOwn = (real: string): boolean => kind !== 'read' && isInside(workspace, real)
  const link = leavingLink(path, (real) => isOwn(real) || policy.check({ kind, path: real }).kind === 'allow')
  const message =
    link === undefined
      ? reason
      : `${shown} leads outside the workspace through the link ${displayPath(workspace, link)}`
  throw new BatonError('OUTSIDE_WORKSPACE', message, {
    hint: kind === 'read' ? capabilityHint : `Agents change files only below ${workspace}.`,
  })
}

/** The error for what the pack of an agent was not granted. `what` names the function that was called. */
export function notGranted(what: string, reason: string): BatonError {
  return new BatonError('UNTRUSTED', `${what}: ${reason}`, {
    hint: capabilityHint,
  })
}

const capabilityHint =
  'What its agents may do stands in [capabilities] of its pack.toml, and is agreed to when it is installed.'
