import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { isFolder, namesIn } from '../base/entries.ts'
import { BatonError } from '../base/error.ts'
import { isInside } from '../base/files.ts'
import { isObject, type Json } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import { readValue } from '../journal/cassette.ts'
import { runIds } from '../journal/find-run.ts'
import { readRunState } from '../journal/run-state.ts'
import { runsFolder } from '../journal/run-id.ts'
import { createMask } from '../journal/secrets.ts'
import type { GlobalFlags } from './command.ts'
import type { Surroundings } from './io.ts'

/** The workspace of a command, and the folder with its runs. */
export interface WorkspaceRuns {
  readonly workspace: string
  readonly folder: string
  readonly settings: Settings
}

export async function workspaceRuns(
  { config }: Pick<GlobalFlags, 'config'>,
  { cwd, env, home }: Surroundings,
): Promise<WorkspaceRuns> {
  const { workspace, settings } = await loadTargetConfig({ cwd, env, home, flags: { overrides: config } })
  return { workspace, settings, folder: runsFolder({ env, home, workspace, runsDir: settings.runs.dir }) }
}

/** Where the files of a run are now. */
export interface RunPlace {
  readonly workspace: string
  /** The workspace it was recorded in, if that no longer exists: the files were moved to the present one. */
  readonly movedFrom?: string
  /** What to tell the user, if it is not simply the present workspace. */
  readonly says?: string
}

/**
 * The workspace that a run was recorded in. If it no longer exists, the project was moved, and the present workspace
 * takes its place, provided that it has the file that was run, if that was a file of the workspace.
 * @throws BatonError USAGE if it cannot be said where the files are
 */
export async function placeOfRun(
  run: string,
  { workspace, folder }: WorkspaceRuns,
  { env }: Pick<Surroundings, 'env'>,
): Promise<RunPlace> {
  if (dirname(run) === folder) return { workspace }
  const id = basename(run)
  const start = await startOf(run, env)
  if (start === undefined) {
    throw new BatonError('USAGE', `run ${id} belongs to another workspace, and its record does not say to which`, {
      hint: 'Start the command in the folder of the project (-C FOLDER).',
    })
  }
  const { workspace: recorded } = start
  if (recorded === workspace) return { workspace }
  if (isFolder(recorded)) return { workspace: recorded, says: `run ${id} belongs to ${recorded}` }
  const was = `run ${id} was recorded in ${recorded}, which no longer exists`
  if (start.file === undefined || isMovedTo(workspace, start)) {
    return { workspace, movedFrom: recorded, says: `${was}; its files are now those of ${workspace}` }
  }
  throw new BatonError('USAGE', `${was}, and ${workspace} has no ${start.file}`, {
    hint: 'Start the command in the folder to which the project was moved (-C FOLDER).',
  })
}

/** The newest run of each workspace that no longer exists and whose files seem to be in the present one. */
export async function movedRuns(
  { workspace, folder }: WorkspaceRuns,
  { env }: Pick<Surroundings, 'env'>,
): Promise<readonly { readonly id: string; readonly workspace: string }[]> {
  const found: { readonly id: string; readonly workspace: string }[] = []
  for (const name of namesIn(dirname(folder))) {
    const [id] = runIds(join(dirname(folder), name))
    const start = id === undefined ? undefined : await startOf(join(dirname(folder), name, id), env)
    if (id === undefined || start === undefined || isFolder(start.workspace)) continue
    if (isMovedTo(workspace, start)) found.push({ id, workspace: start.workspace })
  }
  return found
}

interface RunStart {
  /** Absolute. */
  readonly workspace: string
  /** The file that was run, relative to it; undefined if it was not one of the workspace. */
  readonly file: string | undefined
}

/** For an undo, that of the run it undid; for an apply, that of its dry run. */
async function startOf(run: string, env: Surroundings['env']): Promise<RunStart | undefined> {
  const start = (await readRunState(run))?.start
  const mask = createMask(env, { names: Object.keys(env) })
  const read = (field: Json | undefined): Promise<unknown> =>
    readValue(field, { folder: run, mask }).catch(() => undefined)
  const [facts, file] = [await read(start?.facts), await read(start?.file)]
  if (!isObject(facts) || typeof facts['workspace'] !== 'string' || typeof file !== 'string') return undefined
  const { workspace, undoes, applies, text } = facts
  const other = undoes ?? applies
  if (typeof other === 'string') return startOf(join(dirname(run), other), env)
  const isOfWorkspace = typeof text !== 'string' && isInside(workspace, resolve(workspace, file))
  return { workspace, file: isOfWorkspace ? relative(workspace, resolve(workspace, file)) : undefined }
}

function isMovedTo(workspace: string, { file }: RunStart): boolean {
  return file !== undefined && existsSync(join(workspace, file))
}
