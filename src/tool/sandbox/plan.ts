import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { entryStatus, isFolder } from '../../base/entries.ts'
import { BatonError } from '../../base/error.ts'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import { homeFolder } from '../../base/home.ts'
import type { SandboxRights } from '../../event/sandbox-rights.ts'
import { gitPlaces } from '../protected/git-places.ts'
import type { BoxContext } from './boxed-command.ts'
import type { BoxPlan } from './bwrap.ts'
import { findKeyFiles, keysAtHome, keysOfSystem } from './key-files.ts'
import { compileGlobs } from '../../base/glob.ts'
import { isPlaceholder } from '../../base/placeholder.ts'
import { protectedNames } from '../protected/places.ts'

/**
 * Whether a folder (absolute, links resolved) is visible in the sandbox, with the same content or as a private folder.
 */
export function isSeen(folder: string, { workspace, hiddenFolders, privateFolders, opened }: Places): boolean {
  if (isInside(workspace, folder)) {
    return !hiddenFolders.some((path) => isInside(workspace, path) && isInside(path, folder))
  }
  if (isInside(folder, workspace) || privateFolders.includes(folder)) return true
  if (opened.some((path) => isInside(path, folder))) return true
  return ![...hiddenFolders, ...privateFolders].some((path) => isInside(path, folder))
}

/** What is the same for all sandboxes on this machine. */
export function boxFolders(): Pick<BoxPlan, 'privateFolders' | 'keptSystemFiles'> {
  // a macOS profile cannot provide private folders
  if (process.platform === 'darwin') return { privateFolders: [], keptSystemFiles: [] }
  return {
    privateFolders: presentPlaces(['/tmp', '/var/tmp', '/run']),
    keptSystemFiles: ['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus', '/proc/fs'].filter(existsSync),
  }
}

/** The parts of a plan that depend on the disk. */
type Places = Omit<BoxPlan, 'given' | 'tmpMb' | 'fileMb' | 'tasks' | 'before'>

export interface Planned {
  readonly places: Places
  /** Protected names that do not exist and must not be created. Absolute. */
  readonly missing: readonly string[]
  readonly warnings: readonly string[]
}

/**
 * Determines from the disk what a sandbox must protect, hide and show: `needed` in private folders, `opened` in hidden
 * ones.
 */
export async function planBox(
  { mode }: Pick<SandboxRights, 'mode'>,
  { needed, opened }: Readonly<Record<'needed' | 'opened', readonly string[]>>,
  { scope, services }: BoxContext,
): Promise<Planned> {
  const { folders, openedChanges: allow = [] } = scope
  const workspace = realPath(folders.workspace)
  const { privateFolders, keptSystemFiles } = boxFolders()
  const isPrivate = (path: string): boolean =>
    !isInside(workspace, path) && privateFolders.some((folder) => isInside(folder, path))
  const seen = (paths: readonly string[]): readonly string[] => presentPlaces(paths).filter((path) => !isPrivate(path))

  const {
    hiddenFiles: keyFiles,
    hiddenFolders: keyFolders,
    deciding,
    isReadOnly,
  } = await findKeyFiles(workspace, scope.rights.rules)
  const { present, missing, link } = placesInside(workspace, { executed: services.sources.executed(), allow })
  const isInWorkspace = (path: string): boolean => path !== workspace && isInside(workspace, path)
  const keys = seen([
    ...keysAtHome(services.env['HOME']),
    ...keysOfSystem(),
    ...(folders.ownFolders ?? []),
    ...hiddenSockets(seen(hostSockets()), [workspace, homeFolder(services.env['HOME'])]),
    // hiding a link to a folder would not hide its content
    ...keyFiles.filter((path) => !isFolder(path)),
    ...keyFolders,
  ])
  const hiddenInside = outermost(keys.filter(isInWorkspace))
  const hidden = [...outermost(keys.filter((path) => !isInside(workspace, path))), ...hiddenInside]
  const kept = outermost([...present, ...presentPlaces(deciding)].filter(isInWorkspace))
  const isClosed = folders.closed !== undefined || scope.dry === 'changes'
  const canWrite = mode !== 'read-only' && !isClosed && link === undefined && !isReadOnly
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
      ...(isReadOnly && mode !== 'read-only'
        ? [`${workspace} has too many files that decide what is run: programs started by models can only read it`]
        : []),
      ...(link !== undefined && mode !== 'read-only'
        ? [`${link} is a link, which cannot be protected: programs started by models can only read the workspace`]
        : []),
    ],
  }
}

/** The cost of a hidden file grows with their number, unlike that of a hidden folder. */
const mostSockets = 200

/**
 * Sockets to hide, or their folders if there are too many. `shown`: folders that must stay visible.
 * @throws BatonError SANDBOX if a socket can be hidden in neither way
 */
export function hiddenSockets(sockets: readonly string[], shown: readonly string[]): readonly string[] {
  const folders = new Set(sockets.slice(mostSockets).map((path) => dirname(path)))
  for (const folder of folders) {
    const isOfSystem = folder.split(sep).length < 3
    if (!isOfSystem && !shown.some((path) => isInside(folder, path))) continue
    throw new BatonError(
      'SANDBOX',
      `sockets in ${folder} cannot be hidden in the sandbox: there are too many of them`,
      {
        hint: 'End programs that listen on sockets there.',
      },
    )
  }
  return [...sockets.slice(0, mostSockets), ...folders]
}

/** The existing paths, with links resolved. */
function presentPlaces(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap((path) => presentPlace(path) ?? []))]
}

/** Undefined if it does not exist (most do not), is not accessible, or is a broken link. */
function presentPlace(path: string): string | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : realPath(path)
  } catch {
    return undefined
  }
}

/** Without the paths that are inside another one. */
function outermost(paths: readonly string[]): readonly string[] {
  const sorted = [...new Set(paths)].toSorted((a, b) => a.length - b.length)
  return sorted.filter((path, at) => !sorted.slice(0, at).some((other) => isInside(other, path)))
}

/**
 * Sockets that programs outside listen on, and sockets mounted into this container: a read-only file system does not
 * prevent connecting to them. Absolute.
 */
function hostSockets(): readonly string[] {
  const listening = linesOf('/proc/net/unix').map((line) => /^\S+: (?:\S+ +){6}(\/.*)$/.exec(line)?.[1])
  const mounted = linesOf('/proc/self/mountinfo').map((line) => unescaped(line.split(' ')[4]))
  const paths = new Set([...listening, ...mounted].filter((path) => path !== undefined))
  return [...paths].filter(isSocket)
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** The kernel escapes spaces and backslashes in paths as octal. */
function unescaped(path: string | undefined): string | undefined {
  return path?.replaceAll(/\\([0-7]{3})/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 8)))
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket()
  } catch {
    return false
  }
}

/** The protected places of a workspace as paths, for a sandbox that cannot check each change. Absolute. */
interface PlacesInside {
  /** Those that exist. */
  readonly present: readonly string[]
  /** Those that do not exist and that models must not create. Only names directly in the workspace. */
  readonly missing: readonly string[]
  /** A protected name that is a link, which cannot be protected by a mount. */
  readonly link?: string
}

/**
 * `executed`: what the run executes, or would. `allow`: globs relative to the workspace, `[changes] allow` of the user.
 */
function placesInside(
  workspace: string,
  { executed, allow }: { readonly executed: readonly string[]; readonly allow: readonly string[] },
): PlacesInside {
  const root = realPath(workspace)
  const opened = compileGlobs(allow)
  const names = protectedNames.map((name) => join(root, name))
  const git = gitPlaces(root)
  const byConfig = (git?.named ?? []).filter((path) => !opened.matches(displayPath(root, path)))
  const isBelow = (path: string): boolean => path !== root && isInside(root, path)
  const present = [...names, ...(git?.own ?? []), ...byConfig, ...executed.map(realPath)].filter(
    (path) => isBelow(path) && kindOf(path) !== 'missing',
  )
  const link = names.find((path) => kindOf(path) === 'link')
  return {
    present: [...new Set(present)],
    missing: names.filter((path) => kindOf(path) === 'missing'),
    ...(link === undefined ? {} : { link }),
  }
}

function kindOf(path: string): 'missing' | 'link' | 'entry' {
  const status = entryStatus(path)
  if (status === undefined || (status.isDirectory() && isPlaceholder(path))) return 'missing'
  return status.isSymbolicLink() ? 'link' : 'entry'
}
