import { isFolder } from '../../base/entries.ts'
import { existsSync, statSync } from 'node:fs'
import { isInside, realPath } from '../../base/files.ts'
import type { RunContext } from '../../event/context.ts'
import type { SandboxRights } from '../../event/sandbox-rights.ts'
import { gitPlaces } from '../protected/git-places.ts'
import { placesInside } from '../protected/places-inside.ts'
import type { BoxPlan } from './bwrap.ts'
import { hostSockets } from './host-sockets.ts'
import { findKeyFiles } from './key-files.ts'
import { keysAtHome, keysOfSystem } from './key-places.ts'

/** Whether a folder (absolute, links resolved) can be seen in a box: with the same things in it, or as its own. */
export function isSeen(folder: string, { workspace, hiddenFolders, privateFolders, opened }: Places): boolean {
  if (isInside(workspace, folder) || isInside(folder, workspace) || privateFolders.includes(folder)) return true
  if (opened.some((path) => isInside(path, folder))) return true
  return ![...hiddenFolders, ...privateFolders].some((path) => isInside(path, folder))
}

/** What is the same for all boxes of this machine. */
export function boxFolders(): Pick<BoxPlan, 'privateFolders' | 'keptSystemFiles'> {
  // a profile of macOS gives nothing a place of its own
  if (process.platform === 'darwin') return { privateFolders: [], keptSystemFiles: [] }
  return {
    privateFolders: presentPlaces(['/tmp', '/var/tmp', '/run']),
    keptSystemFiles: ['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus', '/proc/fs'].filter(existsSync),
  }
}

/** The parts of a plan that depend on what is on the disk. */
type Places = Omit<BoxPlan, 'given' | 'tmpMb' | 'fileMb' | 'tasks' | 'before'>

export interface Planned {
  readonly places: Places
  /** Protected names that are not there, and must not be made. Absolute. */
  readonly missing: readonly string[]
  /** What a person should know of the box. */
  readonly warnings: readonly string[]
}

/** Looks at the disk for what a box must keep, hide and show: `needed` in private folders, `opened` in hidden ones. */
export async function planBox(
  { mode }: Pick<SandboxRights, 'mode'>,
  { needed, opened }: Readonly<Record<'needed' | 'opened', readonly string[]>>,
  { scope, services }: RunContext,
): Promise<Planned> {
  const { folders, openedChanges: allow = [] } = scope
  const workspace = realPath(folders.workspace)
  const { privateFolders, keptSystemFiles } = boxFolders()
  const isPrivate = (path: string): boolean =>
    !isInside(workspace, path) && privateFolders.some((folder) => isInside(folder, path))
  const seen = (paths: readonly string[]): readonly string[] => presentPlaces(paths).filter((path) => !isPrivate(path))

  const { keyFiles, deciding, isCut } = await findKeyFiles(workspace)
  const { present, missing, link } = placesInside(workspace, { executed: services.sources.executed(), allow })
  const isInWorkspace = (path: string): boolean => path !== workspace && isInside(workspace, path)
  const keys = seen([
    ...keysAtHome(services.env['HOME']),
    ...keysOfSystem(),
    ...(folders.ownFolders ?? []),
    ...hostSockets(),
    // a link to a folder hides nothing of it
    ...keyFiles.filter((path) => !isFolder(path)),
  ])
  const hiddenInside = outermost(keys.filter(isInWorkspace))
  const hidden = [...outermost(keys.filter((path) => !isInside(workspace, path))), ...hiddenInside]
  const kept = outermost([...present, ...presentPlaces(deciding)].filter(isInWorkspace))
  const isClosed = folders.closed !== undefined || scope.dry === 'changes'
  const canWrite = mode !== 'read-only' && !isClosed && link === undefined
  const repository = gitPlaces(workspace)?.own ?? []
  return {
    places: {
      workspace,
      canWrite,
      kept: kept.filter((path) => !hiddenInside.some((folder) => isInside(folder, path))),
      hiddenFiles: hidden.filter((path) => !isFolder(path)),
      hiddenFolders: hidden.filter(isFolder),
      opened: presentPlaces(opened).filter((path) => hidden.some((folder) => isInside(folder, path))),
      privateFolders,
      keptSystemFiles,
      shown: outermost(presentPlaces([...repository, ...needed]).filter(isPrivate)),
    },
    missing: canWrite ? missing : [],
    warnings: [
      ...(isCut ? [`${workspace} holds too much to be looked through: not all of its .env files are hidden`] : []),
      ...(link !== undefined && mode !== 'read-only'
        ? [`${link} is a link, which cannot be protected where it is: programs of models only read the workspace`]
        : []),
    ],
  }
}

/** Paths with their links resolved, of those that are there. */
function presentPlaces(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap((path) => presentPlace(path) ?? []))]
}

/** Undefined for what is not there, which most are, may not be looked at, or leads nowhere. */
function presentPlace(path: string): string | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : realPath(path)
  } catch {
    return undefined
  }
}

/** Without what is in another of them. */
function outermost(paths: readonly string[]): readonly string[] {
  const sorted = [...new Set(paths)].toSorted((a, b) => a.length - b.length)
  return sorted.filter((path, at) => !sorted.slice(0, at).some((other) => isInside(other, path)))
}
