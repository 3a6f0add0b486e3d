import { dirname, join, relative, sep } from 'node:path'
import { isInside } from '../../base/files.ts'
import type { Command } from './boxed-command.ts'

/** What a sandbox on Linux is built from. All paths are absolute and exist, with links resolved. */
export interface BoxPlan {
  readonly workspace: string
  /** Whether the workspace is writable. */
  readonly canWrite: boolean
  /** Files and folders in the workspace that are read-only. */
  readonly kept: readonly string[]
  /** Not readable. */
  readonly hiddenFiles: readonly string[]
  readonly hiddenFolders: readonly string[]
  /** Empty, writable folders that are discarded with the sandbox. */
  readonly privateFolders: readonly string[]
  /** Readable although they are in a private folder. */
  readonly shown: readonly string[]
  /** Readable although they are in a hidden folder. */
  readonly opened: readonly string[]
  /** System files that are made read-only, because root could write them. */
  readonly keptSystemFiles: readonly string[]
  readonly tmpMb: number
  readonly fileMb: number
  /** Limit of tasks for all programs of an ordinary user in the sandbox; root is not subject to it. */
  readonly tasks?: number
  /** Files from outside, by their names in the sandbox. */
  readonly given: Readonly<Record<string, string>>
  /** Shell commands that run in the sandbox before the command. */
  readonly before?: string
}

const mib = 1024 * 1024

/** The folder in the sandbox that holds `given`. */
export const inputFolder = '/run/baton'

/**
 * The arguments of `bwrap` for a command. The order matters: later mounts cover earlier ones. Everything the user can
 * read is readable, except what is hidden; only the workspace and private folders are writable.
 */
export function bwrapArguments({ command, args, cwd, environment }: Command, plan: BoxPlan): readonly string[] {
  const { workspace, canWrite, kept } = plan
  const outside = (path: string): boolean => !isInside(workspace, path)
  const inside = (path: string): boolean => isInside(workspace, path)
  const mount = (kind: string) => (path: string) => [kind, path, path]
  const size = (megabytes: number): readonly string[] => ['--size', String(Math.ceil(megabytes) * mib)]
  const parts: readonly (readonly string[])[] = [
    ['--ro-bind', '/', '/', '--dev', '/dev', ...size(plan.tmpMb / 4), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ['--proc', '/proc', ...plan.keptSystemFiles.flatMap(mount('--ro-bind'))],
    plan.privateFolders.flatMap((path) => ['--perms', '1777', ...size(plan.tmpMb), '--tmpfs', path]),
    plan.shown.flatMap(mount('--ro-bind')),
    hide(plan, outside),
    plan.opened.flatMap(mount('--ro-bind')),
    [canWrite ? '--bind' : '--ro-bind', workspace, workspace],
    // a mount point cannot be renamed, so a protected path keeps referring to the same entry
    canWrite ? foldersBetween(workspace, kept).flatMap(mount('--bind')) : [],
    canWrite ? kept.flatMap(mount('--ro-bind')) : [],
    hide(plan, inside),
    // only now: a visible folder may have had to be mounted inside a hidden one
    plan.hiddenFolders.flatMap((path) => ['--remount-ro', path]),
    Object.entries(plan.given).flatMap(([name, path]) => ['--ro-bind', path, join(inputFolder, name)]),
    ['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session'],
    ['--cap-drop', 'ALL', '--clearenv'],
    Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ['--chdir', cwd, '--', '/bin/sh', '-c', shellStart(plan), 'sh', command, ...args],
  ]
  return parts.flat()
}

/** Hidden folders can be traversed to the visible folders below them, but not listed. */
function hide(
  { hiddenFolders, hiddenFiles }: Pick<BoxPlan, 'hiddenFolders' | 'hiddenFiles'>,
  where: (path: string) => boolean,
): readonly string[] {
  return [
    ...hiddenFolders.filter(where).flatMap((path) => ['--perms', '0111', '--tmpfs', path]),
    // a device on a nodev file system: it cannot be opened
    ...hiddenFiles.filter(where).flatMap((path) => ['--ro-bind', '/dev/null', path]),
  ]
}

/** The folders between a folder and the paths below it, outermost first. */
function foldersBetween(workspace: string, paths: readonly string[]): readonly string[] {
  const folders = paths.flatMap((path) => {
    const steps = relative(workspace, dirname(path))
      .split(sep)
      .filter((step) => step !== '')
    return steps.map((_, at) => join(workspace, ...steps.slice(0, at + 1)))
  })
  const isKept = (folder: string): boolean => paths.some((path) => isInside(path, folder))
  return [...new Set(folders)].filter((folder) => !isKept(folder)).toSorted((a, b) => a.length - b.length)
}

/**
 * Limits that a process sets for itself and its children inherit: no core dumps, no larger files. The programs of a
 * sandbox are the first that the OOM killer ends.
 */
function shellStart({ fileMb, tasks, before }: Pick<BoxPlan, 'fileMb' | 'tasks' | 'before'>): string {
  // ulimit counts in blocks of 512 bytes
  const limits = ['ulimit -c 0', `ulimit -f ${fileMb * 2048}`]
  // bash and dash use different letters for this limit
  if (tasks !== undefined) limits.push(`{ ulimit -u ${tasks} || ulimit -p ${tasks}; } 2>/dev/null`)
  return [
    'echo 1000 >/proc/self/oom_score_adj',
    ...limits,
    ...(before === undefined ? [] : [before]),
    'exec "$@"',
  ].join('\n')
}
