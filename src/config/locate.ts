import { lstatSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { namesIn } from '../base/entries.ts'
import { displayPath, realPath } from '../base/files.ts'
import { isPlaceholder } from '../base/placeholder.ts'
import { repositoryAt } from '../base/repository.ts'
import { type ReadLog, sourceExists } from '../base/reads.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What is read from the process to find config and packs. */
export interface Surroundings {
  readonly cwd: string
  readonly env: Environment
  readonly home: string
}

/** The workspace, and why folders below it or above are none although they have a mark. */
export interface LocatedWorkspace {
  /** Absolute, links resolved. */
  readonly workspace: string
  /** What makes it one; undefined if nothing does, so that it is the current folder. */
  readonly mark: string | undefined
  /** Marks that were passed over, nearest first. Absolute. */
  readonly passed: readonly { readonly path: string; readonly state: MarkState }[]
}

/**
 * The workspace: the nearest folder upward from `cwd` that contains `baton.toml`, `.baton/config.toml`, `.aipack/` or a
 * repository's `.git`; the search stops below the user's home and at a file-system boundary; else `cwd`. Marks of other
 * users do not count, except in `cwd` itself. Links are resolved.
 */
export function findWorkspace(around: Surroundings, reads?: ReadLog): string {
  return locateWorkspace(around, { reads }).workspace
}

/** See `findWorkspace`. `owners`: the users whose marks count, unless they are the usual ones. */
export function locateWorkspace(
  { cwd, env, home }: Surroundings,
  { reads, owners = markOwners(env) }: { readonly reads?: ReadLog | undefined; readonly owners?: MarkOwners } = {},
): LocatedWorkspace {
  const start = realPath(cwd)
  const top = realPath(home)
  const device = deviceOf(start)
  const passed: LocatedWorkspace['passed'][number][] = []
  for (let folder = start; folder !== top && deviceOf(folder) === device; folder = dirname(folder)) {
    for (const mark of workspaceMarks) {
      const state = stateOf({ folder, mark }, folder === start ? undefined : owners, reads)
      if (state.kind === 'mark') return { workspace: folder, mark, passed }
      if (state.kind !== 'none') passed.push({ path: join(folder, mark), state })
    }
    if (dirname(folder) === folder) break
  }
  return { workspace: start, mark: undefined, passed }
}

function stateOf(
  { folder, mark }: { readonly folder: string; readonly mark: WorkspaceMark },
  owners: MarkOwners,
  reads: ReadLog | undefined,
): MarkState {
  const path = join(folder, mark)
  // a resumed run works where it was started
  if (reads?.sources?.stored(path) !== undefined) return { kind: isThere(path, reads) ? 'mark' : 'none' }
  const state = markState(folder, mark, owners)
  if (state.kind === 'mark' || state.kind === 'none') sourceExists(path, reads)
  return state
}

/** Why marks that were passed over do not count, a sentence each; of those that belong to other users only. */
export function foreignMarks({ workspace, passed }: LocatedWorkspace): readonly string[] {
  return passed.flatMap(({ path, state }) =>
    state.kind === 'foreign'
      ? [
          `${dirname(path)} is not the workspace, because its ${basename(path)} belongs to another user (uid ${state.uid}); the workspace is ${workspace}`,
        ]
      : [],
  )
}

/** False for a placeholder, which only keeps a model's program from creating something there. */
function isThere(path: string, reads: ReadLog | undefined): boolean {
  return sourceExists(path, reads) && !isPlaceholder(path)
}

/** Also false for an empty folder: a placeholder is one while it is created or removed. */
function isFileThere(path: string, reads: ReadLog | undefined): boolean {
  return isThere(path, reads) && !isEmptyFolder(path)
}

function isEmptyFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true && namesIn(path).length === 0
}

function deviceOf(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.dev
}

/**
 * Why a folder must not be a writable workspace, however it was found: everything the user has would be in reach.
 * Undefined if it may be one.
 */
export function whyNoWorkspace(workspace: string, home: string): string | undefined {
  if (dirname(workspace) === workspace) return `${workspace} is the root folder, which cannot be a writable workspace`
  return workspace === realPath(home)
    ? `${workspace} is your home folder, which cannot be a writable workspace`
    : undefined
}

/** @throws BatonError USAGE for a folder that must not be a writable workspace */
export function refuseHome(workspace: string, home: string): void {
  const reason = whyNoWorkspace(workspace, home)
  if (reason === undefined) return
  throw new BatonError('USAGE', reason, {
    hint: 'Make a folder for the project and work there: cd FOLDER, or -C FOLDER.',
  })
}

/** The user's own config file, whether or not it exists: below `BATON_HOME`, else below the XDG config folder. */
export function userConfigFile(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(userFolder(around, { own: 'config', xdg: 'XDG_CONFIG_HOME', fallback: '.config' }), 'config.toml')
}

/** The servers of a workspace or pack, in a format that other programs read as well. */
export const mcpFileName = '.mcp.json'

/** The user's own servers in that format, next to the config file, whether or not the file exists. */
export function userMcpFile(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(dirname(userConfigFile(around)), 'mcp.json')
}

/** The workspace's file of servers, if any. */
export function workspaceMcpFile(workspace: string, reads?: ReadLog): string | undefined {
  const path = join(workspace, mcpFileName)
  return isFileThere(path, reads) ? path : undefined
}

/** Where the user keeps packs and other data: below `BATON_HOME`, else below the XDG data folder. Need not exist. */
export function userDataFolder(around: Pick<Surroundings, 'env' | 'home'>): string {
  return userFolder(around, { own: 'data', xdg: 'XDG_DATA_HOME', fallback: join('.local', 'share') })
}

/** The prices that the user has updated. Need not exist. */
export function userPricesFile(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(userDataFolder(around), 'prices', 'prices.json')
}

/** All folders in which Baton keeps user data: config, packs and trust, runs, compiled code. Need not exist. */
export function userFolders(around: Pick<Surroundings, 'env' | 'home'>): readonly string[] {
  return [
    dirname(userConfigFile(around)),
    userDataFolder(around),
    userFolder(around, { own: 'state', xdg: 'XDG_STATE_HOME', fallback: join('.local', 'state') }),
    userFolder(around, { own: 'cache', xdg: 'XDG_CACHE_HOME', fallback: '.cache' }),
  ]
}

function userFolder(
  { env, home }: Pick<Surroundings, 'env' | 'home'>,
  { own, xdg, fallback }: { readonly own: string; readonly xdg: string; readonly fallback: string },
): string {
  const { BATON_HOME: ownHome = '', [xdg]: folder = '' } = env
  if (ownHome !== '') return join(ownHome, own)
  // the XDG rules: a relative path is ignored
  return join(isAbsolute(folder) ? folder : join(home, fallback), 'baton')
}

/** The folder of AIPack's packs, support files and config. Need not exist. */
export function aipackBaseFolder({ home }: Pick<Surroundings, 'home'>): string {
  return join(home, '.aipack-base')
}

export interface AipackConfigFile {
  readonly path: string
  readonly kind: 'user' | 'workspace'
}

/** AIPack's config files, lowest precedence first. They need not exist. */
export function aipackConfigFiles(workspace: string, around: Pick<Surroundings, 'home'>): readonly AipackConfigFile[] {
  const base = aipackBaseFolder(around)
  return [
    { path: join(base, 'config-default.toml'), kind: 'user' },
    { path: join(base, 'config-user.toml'), kind: 'user' },
    { path: join(workspace, '.aipack', 'config.toml'), kind: 'workspace' },
  ]
}

/**
 * Every file that could be config for a run from here, whether or not it exists: the user's, AIPack's, and those of the
 * folders from `cwd` up to the workspace. Absolute.
 */
export function possibleConfigFiles(around: Surroundings): readonly string[] {
  const workspace = findWorkspace(around)
  const folders: string[] = []
  for (let folder = realPath(around.cwd); ; folder = dirname(folder)) {
    folders.push(folder)
    if (folder === workspace || dirname(folder) === folder) break
  }
  return [
    userConfigFile(around),
    userMcpFile(around),
    join(workspace, mcpFileName),
    ...aipackConfigFiles(workspace, around).map(({ path }) => path),
    ...folders.flatMap((folder) => [join(folder, 'baton.toml'), join(folder, '.baton', 'config.toml')]),
  ]
}

/**
 * The workspace's config file, if any.
 * @throws BatonError CONFIG_INVALID if it has two
 */
export function workspaceConfigFile(workspace: string, reads?: ReadLog): string | undefined {
  const possible = [join(workspace, 'baton.toml'), join(workspace, '.baton', 'config.toml')]
  const files = possible.filter((path) => isFileThere(path, reads))
  const [file, other] = files
  if (file === undefined || other === undefined) return file
  const names = files.map((path) => displayPath(workspace, path)).join(' and ')
  throw new BatonError('CONFIG_INVALID', `the workspace ${workspace} has two config files: ${names}`, {
    place: { file: other },
    hint: 'Keep one of them.',
  })
}

/** What makes a folder a workspace, relative to it. */
const workspaceMarks = ['baton.toml', join('.baton', 'config.toml'), '.aipack', '.git'] as const

type WorkspaceMark = (typeof workspaceMarks)[number]

/**
 * What an entry with the name of a mark is. `none`: missing, or a placeholder, which only keeps a model's program from
 * creating something there. `foreign`: it belongs to another user, who must not decide what is read here.
 */
type MarkState =
  | { readonly kind: 'mark' | 'none' | 'no repository' }
  | { readonly kind: 'foreign'; readonly uid: number }

/** The users whose marks count; undefined: those of all. */
type MarkOwners = ReadonlySet<number> | undefined

/** Looks at the mark of a folder. */
function markState(folder: string, mark: WorkspaceMark, owners: MarkOwners): MarkState {
  const path = join(folder, mark)
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined || isPlaceholder(path)) return { kind: 'none' }
    if (mark === 'baton.toml' && isEmptyFolder(path)) return { kind: 'none' }
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
