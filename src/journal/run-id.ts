import { basename, isAbsolute, join, resolve } from 'node:path'
import { realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { randomDigits } from '../base/random-name.ts'
import type { Environment } from './secrets.ts'

/**
 * A new run id: `20251121-231905-3fa2c1b07`, UTC. Sorts by time: the first three hex digits are milliseconds, and 24
 * random bits distinguish runs of the same millisecond.
 */
export function newRunId(now: Date): string {
  const iso = now.toISOString()
  const day = iso.slice(0, 10).replaceAll('-', '')
  const time = iso.slice(11, 19).replaceAll(':', '')
  const milliseconds = now.getUTCMilliseconds().toString(16).padStart(3, '0')
  return `${day}-${time}-${milliseconds}${randomDigits()}`
}

export interface RunsFolderOptions {
  readonly env: Environment
  /** The user's home folder, absolute. */
  readonly home: string
  /** The workspace folder, absolute. */
  readonly workspace: string
  /** `dir` of `[runs]`: replaces `<state>/baton/runs`; relative to the workspace, `~/` is the home folder. */
  readonly runsDir?: string | undefined
}

/**
 * Where the runs of a workspace are stored, each in a folder named by its id: `<runs>/<workspace id>`. Creates nothing.
 */
export function runsFolder({ env, home, workspace, runsDir }: RunsFolderOptions): string {
  const runs = runsDir === undefined ? join(stateFolder({ env, home }), 'runs') : givenRuns(runsDir, home, workspace)
  return join(runs, workspaceId(workspace))
}

/** Readable and unique: the folder's name and 12 hex digits of the hash of its real path. */
export function workspaceId(workspace: string): string {
  const path = realPath(workspace)
  const name = basename(path)
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 40)
  return `${name || 'root'}-${sha256(path).slice(0, 12)}`
}

/** Where this installation stores its state. Creates nothing. */
export function stateFolder({ env, home }: Pick<RunsFolderOptions, 'env' | 'home'>): string {
  const own = env['BATON_HOME']
  if (own !== undefined && own !== '') return join(resolve(own), 'state')
  const state = env['XDG_STATE_HOME']
  // the XDG specification says to ignore relative paths
  const base = state !== undefined && isAbsolute(state) ? state : join(home, '.local', 'state')
  return join(base, 'baton')
}

/** Where the state of the triggers of a workspace is kept. Creates nothing. */
export function triggersFolder(around: Pick<RunsFolderOptions, 'env' | 'home'>, workspace: string): string {
  return join(stateFolder(around), 'triggers', workspaceId(workspace))
}

/** In this folder: the process that follows the triggers of a workspace, while there is one. */
export const triggersOwner = 'owner.json'

function givenRuns(runsDir: string, home: string, workspace: string): string {
  return runsDir.startsWith('~/') ? join(home, runsDir.slice(2)) : resolve(workspace, runsDir)
}
