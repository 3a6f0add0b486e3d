import { statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import type { ReadLog } from '../base/reads.ts'
import { sourceExists } from '../base/source-reader.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where a run starts from; nothing else of the process is read. */
export interface Surroundings {
  readonly cwd: string
  readonly env: Environment
  /** The user's home folder. */
  readonly home: string
}

const workspaceMarks = ['baton.toml', join('.baton', 'config.toml'), '.aipack', '.git']

/**
 * The workspace: the nearest folder upward from `cwd` that holds `baton.toml`, `.baton/config.toml`, `.aipack/` or
 * `.git`; the search stops below the user's home and at a file-system boundary; else `cwd`. Links are resolved
 * (DESIGN 3).
 */
export function findWorkspace({ cwd, home }: Pick<Surroundings, 'cwd' | 'home'>, reads?: ReadLog): string {
  const start = realPath(cwd)
  const top = realPath(home)
  const device = deviceOf(start)
  for (let folder = start; folder !== top && deviceOf(folder) === device; folder = dirname(folder)) {
    if (workspaceMarks.some((mark) => sourceExists(join(folder, mark), reads))) return folder
    if (dirname(folder) === folder) break
  }
  return start
}

function deviceOf(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.dev
}

/** The user's own config file, whether it exists or not: below `BATON_HOME`, else below the XDG config folder. */
export function userConfigFile({ env, home }: Pick<Surroundings, 'env' | 'home'>): string {
  const own = env['BATON_HOME']
  if (own !== undefined && own !== '') return join(own, 'config', 'config.toml')
  const xdg = env['XDG_CONFIG_HOME']
  // the XDG rules: a relative path is to be ignored
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, '.config')
  return join(base, 'baton', 'config.toml')
}

/** Where the user keeps packs and other data: below `BATON_HOME`, else below the XDG data folder. Need not exist. */
export function userDataFolder({ env, home }: Pick<Surroundings, 'env' | 'home'>): string {
  const own = env['BATON_HOME']
  if (own !== undefined && own !== '') return join(own, 'data')
  const xdg = env['XDG_DATA_HOME']
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, '.local', 'share')
  return join(base, 'baton')
}

/** The folder AIPack keeps its packs, support files and config in (spec/aipack.md 3.4). Need not exist. */
export function aipackBaseFolder({ home }: Pick<Surroundings, 'home'>): string {
  return join(home, '.aipack-base')
}

/** AIPack's config files, lowest first (spec/aipack.md 4.1). They need not exist. */
export function aipackConfigFiles(workspace: string, around: Pick<Surroundings, 'home'>): AipackConfigFiles {
  const base = aipackBaseFolder(around)
  return {
    user: [join(base, 'config-default.toml'), join(base, 'config-user.toml')],
    workspace: [join(workspace, '.aipack', 'config.toml')],
  }
}

/**
 * Every file that could be config for a run from here, whether it exists or not: the user's, AIPack's, and those of the
 * folders from `cwd` up to the workspace. Absolute.
 */
export function possibleConfigFiles(around: Surroundings): readonly string[] {
  const workspace = findWorkspace(around)
  const aipack = aipackConfigFiles(workspace, around)
  const folders: string[] = []
  for (let folder = realPath(around.cwd); ; folder = dirname(folder)) {
    folders.push(folder)
    if (folder === workspace || dirname(folder) === folder) break
  }
  return [
    userConfigFile(around),
    ...aipack.user,
    ...aipack.workspace,
    ...folders.flatMap((folder) => [join(folder, 'baton.toml'), join(folder, '.baton', 'config.toml')]),
  ]
}

export interface AipackConfigFiles {
  readonly user: readonly string[]
  readonly workspace: readonly string[]
}

/**
 * The workspace's config file, undefined when it has none.
 * @throws BatonError CONFIG_INVALID when it has two
 */
export function workspaceConfigFile(workspace: string, reads?: ReadLog): string | undefined {
  const possible = [join(workspace, 'baton.toml'), join(workspace, '.baton', 'config.toml')]
  const files = possible.filter((path) => sourceExists(path, reads))
  const [file, other] = files
  if (file === undefined || other === undefined) return file
  const names = files.map((path) => displayPath(workspace, path)).join(' and ')
  throw new BatonError('CONFIG_INVALID', `the workspace ${workspace} has two config files: ${names}`, {
    place: { file: other },
    hint: 'Keep one of them.',
  })
}
