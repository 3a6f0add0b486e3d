import { basename, dirname, join } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import type { Access, ContextWith } from '../event/context.ts'
import type { Allow } from '../event/effects.ts'
import type { NewFileContent } from '../event/permission.ts'
import { closesFiles } from './tool-rules.ts'

/** What reading files takes of a run. */
export type ReadContext = ContextWith<'folders' | 'rights', Access & { readonly signal: AbortSignal }>

/**
 * The real path of what is to be changed, once that is allowed. Nothing on disk changes before this returns. `content`:
 * that of a file to be written.
 */
export function allowedPath(
  kind: 'read' | 'write' | 'delete',
  named: string,
  { context, allow }: FileWriter,
  content?: NewFileContent,
): string {
  const path = resolved(named, context)
  allow({ kind, path, named }, content)
  return path
}

/** Who wants to change files; `allow` is that of the gate. */
export interface FileWriter {
  readonly context: ReadContext
  readonly allow: Allow
}

/**
 * As `allowedPath`, for removing an entry of a folder: if the entry is a link, the link itself is removed, not its
 * target. Both must still be allowed, so that nothing that leads out of the workspace is touched.
 */
export function allowedEntry(named: string, asking: FileWriter): string {
  allowedPath('delete', named, asking)
  const path = join(resolved(dirname(named), asking.context), basename(named))
  asking.allow({ kind: 'delete', path, named })
  return path
}

/** The real path of something that may be read, links resolved. @throws BatonError OUTSIDE_WORKSPACE or FILE_FAILED */
export function readablePath(named: string, context: ReadContext): string {
  return allowedPath('read', named, { context, allow: allowOf(context) })
}

/** Whether the path may be read: always true, except for agents that are held to the capabilities of their pack. */
export function mayRead(named: string, context: ReadContext, allow: Allow = allowOf(context)): boolean {
  try {
    allowedPath('read', named, { context, allow })
    return true
  } catch {
    return false
  }
}

/** The files of a listing that may be read. Only packs, and rules for `read`, restrict a listing of the workspace. */
export function readableFiles<File extends { readonly absolute: string }>(
  files: readonly File[],
  { context, allow }: FileWriter,
): readonly File[] {
  const { packs, rules } = context.scope.rights
  if (packs.length === 0 && !closesFiles(rules)) return files
  return files.filter(({ absolute }) => mayRead(absolute, context, allow))
}

/** Checks the permission of a context outside of an effect, for operations that only read. */
export function allowOf({ services }: { readonly services: Access }): Allow {
  return (action, content) => {
    const verdict = services.permission.check(action, content)
    if (verdict.kind === 'allow') return
    if (verdict.kind === 'ask') throw new BatonError('NEEDS_INPUT', 'this needs approval, but nobody can be asked')
    const { reason, code, hint } = verdict
    throw new BatonError(code, reason, hint === undefined ? {} : { hint })
  }
}

function resolved(path: string, { scope }: Pick<ReadContext, 'scope'>): string {
  try {
    return realPath(path)
  } catch (error) {
    const reason = hasSystemCode(error, 'ELOOP') ? 'its links form a loop' : messageOf(error)
    const shown = displayPath(scope.folders.workspace, path)
    throw new BatonError('FILE_FAILED', `${shown} cannot be used: ${reason}`, { cause: error })
  }
}
