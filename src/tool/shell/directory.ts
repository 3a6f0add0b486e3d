import { displayPath, isInside, realPath } from '../../base/files.ts'
import type { RunContext } from '../../event/context.ts'
import { mayRead } from '../guard.ts'
import { statusAt } from '../workspace-reads.ts'

/** Where the next line runs, and what to tell the model about it. */
export interface Settled {
  /** Absolute, links resolved. If omitted, the directory does not change. */
  readonly directory?: string
  readonly remark?: string
}

/**
 * The folder for the next line, from the final working directory that a shell reports. It is checked like any path a
 * model names: it is not used if the tool `read` would be refused there, or if it is not a folder.
 */
export function settleDirectory(said: string, before: string, context: RunContext): Settled {
  if (said === before || said === '' || said.includes('\0') || !said.startsWith('/')) return {}
  const { workspace } = context.scope.folders
  const shown = (path: string): string => JSON.stringify(displayPath(workspace, path))
  const stays = `the next command runs in ${shown(before)} again`
  const directory = realOf(said)
  if (directory === undefined)
    return { remark: `[${stays}: the folder it ended in does not exist outside its sandbox]` }
  if (directory === before) return {}
  if (!mayEnter(directory, context)) return { remark: `[${stays}: ${shown(directory)} may not be read]` }
  return { directory, remark: `[the next command runs in ${shown(directory)}]` }
}

function realOf(path: string): string | undefined {
  try {
    const real = realPath(path)
    return statusAt(real)?.kind === 'folder' ? real : undefined
  } catch {
    return undefined
  }
}

/** Whether commands may run in a folder (absolute, links resolved). */
export function mayEnter(directory: string, context: RunContext): boolean {
  const { scope, services } = context
  if (!mayRead(directory, context)) return false
  if (isInside(scope.folders.workspace, directory)) return true
  const subject = { kind: 'path', path: directory } as const
  return services.permission.check({ kind: 'tool', tool: 'read', input: null, subject }).kind === 'allow'
}
