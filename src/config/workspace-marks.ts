import { lstatSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isHeldPlace } from '../base/held-place.ts'
import { repositoryAt } from '../base/repository.ts'
import type { Environment } from './locate.ts'

/** What makes a folder a workspace, relative to it. */
export const workspaceMarks = ['baton.toml', join('.baton', 'config.toml'), '.aipack', '.git'] as const

export type WorkspaceMark = (typeof workspaceMarks)[number]

/**
 * What an entry with the name of a mark is. `none`: missing, or a placeholder, which only keeps a model's program from
 * creating something there. `foreign`: it belongs to another user, who must not decide what is read here.
 */
export type MarkState =
  | { readonly kind: 'mark' | 'none' | 'no repository' }
  | { readonly kind: 'foreign'; readonly uid: number }

/** The users whose marks count; undefined: those of all. */
export type MarkOwners = ReadonlySet<number> | undefined

/** Looks at the mark of a folder. */
export function markState(folder: string, mark: WorkspaceMark, owners: MarkOwners): MarkState {
  const path = join(folder, mark)
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined || isHeldPlace(path)) return { kind: 'none' }
    const data = mark === '.git' ? repositoryAt(path) : path
    if (data === undefined) return { kind: 'no repository' }
    // with a folder on the way, such as .baton, and the folder that a .git file names
    const parts = [path, dirname(path), data].filter((part) => part !== folder)
    const uids = parts.flatMap((part) => [lstatSync(part).uid, statSync(part).uid])
    const uid = owners && uids.find((one) => !owners.has(one))
    return uid === undefined ? { kind: 'mark' } : { kind: 'foreign', uid }
  } catch {
    // the path leads through a file, or cannot be read
    return { kind: 'none' }
  }
}

/**
 * The users whose marks count: the one who runs this and, for root, the one who has become root by sudo. Git has the
 * same rule for repositories. Undefined on systems where files have no owner.
 */
export function markOwners(env: Environment): MarkOwners {
  const uid = process.getuid?.()
  if (uid === undefined) return undefined
  const { SUDO_UID: sudoer = '' } = env
  return new Set(uid === 0 && /^\d+$/.test(sudoer) ? [uid, Number(sudoer)] : [uid])
}
