import { displayPath, isInside, realPath } from '../../base/files.ts'
import type { RunContext } from '../../event/context.ts'
import { mayRead } from '../guard.ts'
import { statusAt } from '../workspace-reads.ts'

/** Where the next line runs, and what a model should know of it. */
export interface Settled {
  /** Absolute, links resolved; left out: where this one ran. */
  readonly directory?: string
  readonly remark?: string
}

/**
 * The folder for the next line, from what a shell says where it was in the end. It is looked at like any path that a model
 * names: one that the tool `read` would be refused, or that is no folder, is not taken.
 */
export function settleDirectory(said: string, before: string, context: RunContext): Settled {
  if (said === before || said === '' || said.includes('\0') || !said.startsWith('/')) return {}
  const { workspace } = context.scope.folders
  const shown = (path: string): string => JSON.stringify(displayPath(workspace, path))
  const stays = `the next command runs in ${shown(before)} again`
  const directory = realOf(said)
  if (directory === undefined)
    return { remark: `[${stays}: the folder it ended in is not there outside of its sandbox]` }
  if (directory === before) return {}
  if (!mayEnter(directory, context)) return { remark: `[${stays}: ${shown(directory)} is outside of what may be read]` }
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
