import { basename, dirname, join } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import type { RunContext } from '../event/context.ts'
import type { Allow } from '../event/effects.ts'
import type { NewFileContent } from '../event/permission.ts'

/**
 * The real path of what is to be changed, once that is allowed. Nothing on disk is changed before this returns. `content`: of
 * a file that is written.
 */
export function allowedPath(
  kind: 'read' | 'write' | 'delete',
  named: string,
  { context, allow }: Asking,
  content?: NewFileContent,
): string {
  const path = resolved(named, context)
  allow({ kind, path, named }, content)
  return path
}

/** Who asks for a change of files: `allow` is that of the gate. */
export interface Asking {
  readonly context: RunContext
  readonly allow: Allow
}

/**
 * As `allowedPath`, for what removes an entry of a folder: when the entry is a link, the link is meant, not what it leads
 * to. Still both must be allowed, so that nothing that leads out is touched.
 */
export function allowedEntry(named: string, asking: Asking): string {
  allowedPath('delete', named, asking)
  const path = join(resolved(dirname(named), asking.context), basename(named))
  asking.allow({ kind: 'delete', path, named })
  return path
}

/** The real path of something that may be read, links resolved. @throws BatonError OUTSIDE_WORKSPACE, or FILE_FAILED */
export function readablePath(named: string, context: RunContext): string {
  return allowedPath('read', named, { context, allow: allowOf(context) })
}

/** True when the path may be read: always, but for agents that are held to the capabilities of their pack. */
export function mayRead(named: string, context: RunContext, allow: Allow = allowOf(context)): boolean {
  try {
    allowedPath('read', named, { context, allow })
    return true
  } catch {
    return false
  }
}

/** The files of a listing that may be read. Nobody but a pack is kept from files that a listing of the workspace finds. */
export function readableFiles<File extends { readonly absolute: string }>(
  files: readonly File[],
  { context, allow }: Asking,
): readonly File[] {
  if (context.scope.rights.packs.length === 0) return files
  return files.filter(({ absolute }) => mayRead(absolute, context, allow))
}

/** Asks the permission of a context, outside of an effect: for what only looks. */
export function allowOf({ services }: RunContext): Allow {
  return (action, content) => {
    const verdict = services.permission.check(action, content)
    if (verdict.kind === 'allow') return
    if (verdict.kind === 'ask') throw new BatonError('NEEDS_INPUT', 'this needs an approval, and nobody can be asked')
    const { reason, code, hint } = verdict
    throw new BatonError(code, reason, hint === undefined ? {} : { hint })
  }
}

function resolved(path: string, { scope }: RunContext): string {
  try {
    return realPath(path)
  } catch (error) {
    const reason = hasSystemCode(error, 'ELOOP') ? 'its links lead in a circle' : messageOf(error)
    const shown = displayPath(scope.folders.workspace, path)
    throw new BatonError('FILE_FAILED', `${shown} cannot be used: ${reason}`, { cause: error })
  }
}
