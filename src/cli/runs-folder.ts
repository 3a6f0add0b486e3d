import type { Settings } from '../config/settings.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import { runsFolder } from '../journal/run-id.ts'
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
