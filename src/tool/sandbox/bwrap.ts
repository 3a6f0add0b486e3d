import { dirname, join, relative, sep } from 'node:path'
import { isInside } from '../../base/files.ts'
import type { Command } from './boxed.ts'

/** What a box on Linux is made of. All paths are absolute, exist, and have their links resolved. */
export interface BoxPlan {
  readonly workspace: string
  /** Whether the workspace may be changed. */
  readonly canWrite: boolean
  /** Stay as they are inside the workspace: files and folders. */
  readonly kept: readonly string[]
  /** Cannot be read. */
  readonly hiddenFiles: readonly string[]
  readonly hiddenFolders: readonly string[]
  /** Folders that are empty and writable, and gone with the box. */
  readonly privateFolders: readonly string[]
  /** Can be read although they are in a private folder. */
  readonly shown: readonly string[]
  /** Can be read although they are in a hidden folder. */
  readonly opened: readonly string[]
  /** Files of the system that are not written, because the administrator could. */
  readonly keptSystemFiles: readonly string[]
  readonly tmpMb: number
  readonly fileMb: number
  /** Tasks that all programs of an ordinary user may have in the box; the administrator has no such limit. */
  readonly tasks?: number
  /** Files from outside, by where they are seen in the box. */
  readonly given: Readonly<Record<string, string>>
  /** What the shell of the box does before the command. */
  readonly before?: string
}

const mib = 1024 * 1024

/** The folder in the box with what it was given. */
export const givenFolder = '/run/baton'

/**
 * The arguments of `bwrap` for a command. The order matters: what comes later lies on what came before. Everything can be
 * read that the user can read, but what is hidden; nothing is written but the workspace and private folders.
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
    // a folder that something is mounted on cannot be renamed: a path that is kept stays the path of what is kept
    canWrite ? foldersBetween(workspace, kept).flatMap(mount('--bind')) : [],
    canWrite ? kept.flatMap(mount('--ro-bind')) : [],
    hide(plan, inside),
    // what it hides may have to hold a folder that is seen
    plan.hiddenFolders.flatMap((path) => ['--remount-ro', path]),
    Object.entries(plan.given).flatMap(([name, path]) => ['--ro-bind', path, join(givenFolder, name)]),
    ['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session'],
    ['--cap-drop', 'ALL', '--clearenv'],
    Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ['--chdir', cwd, '--', '/bin/sh', '-c', shellStart(plan), 'sh', command, ...args],
  ]
  return parts.flat()
}

/** Hidden folders can be passed through to what is seen below them, but not listed. */
function hide(
  { hiddenFolders, hiddenFiles }: Pick<BoxPlan, 'hiddenFolders' | 'hiddenFiles'>,
  where: (path: string) => boolean,
): readonly string[] {
  return [
    ...hiddenFolders.filter(where).flatMap((path) => ['--perms', '0111', '--tmpfs', path]),
    // a device on a file system without devices: it cannot be opened
    ...hiddenFiles.filter(where).flatMap((path) => ['--ro-bind', '/dev/null', path]),
  ]
}

/** The folders between a folder and paths below it, outermost first. */
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
 * Limits that a process gives itself, and its children inherit: no memory images, no larger files. The programs of a box
 * are the first that the system ends when its memory is used up.
 */
function shellStart({ fileMb, tasks, before }: Pick<BoxPlan, 'fileMb' | 'tasks' | 'before'>): string {
  // a block of ulimit is 512 bytes
  const limits = ['ulimit -c 0', `ulimit -f ${fileMb * 2048}`]
  // bash and dash name the limit differently
  if (tasks !== undefined) limits.push(`{ ulimit -u ${tasks} || ulimit -p ${tasks}; } 2>/dev/null`)
  return [
    'echo 1000 >/proc/self/oom_score_adj',
    ...limits,
    ...(before === undefined ? [] : [before]),
    'exec "$@"',
  ].join('\n')
}
