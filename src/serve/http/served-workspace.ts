import { join } from 'node:path'
import type { Settings } from '../../config/settings.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { createRunTotals, type RunTotals } from '../../history/run-totals.ts'
import { runIds } from '../../journal/find-run.ts'
import { runsFolder } from '../../journal/run-id.ts'
import type { RunOptions } from '../../library/options.ts'
import { Refusal } from '../refusal.ts'

/** The environment of a server, and the options shared by all runs it starts. */
export interface ServingPlace {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly shared: Required<Pick<RunOptions, 'overrides'>> & Pick<RunOptions, 'model'>
}

/** The workspace that is served. */
export interface ServedWorkspace extends ServingPlace {
  /** Absolute, with symbolic links resolved. */
  readonly workspace: string
  /** The folder with its runs. */
  readonly runs: string
  readonly settings: Settings
  /** Of its runs without a summary. */
  readonly totals: RunTotals
}

/** @throws BatonError for invalid config files */
export async function openServedWorkspace(place: ServingPlace): Promise<ServedWorkspace> {
  const { env, home, shared } = place
  const { workspace, settings } = await loadTargetConfig({ ...place, flags: { overrides: shared.overrides } })
  const runs = runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
  return { ...place, workspace, settings, runs, totals: createRunTotals() }
}

/**
 * The folder of a run. Only ids of existing runs become part of a path.
 * @throws Refusal 404
 */
export function folderOf({ runs }: Pick<ServedWorkspace, 'runs'>, id: string): string {
  if (runIds(runs).includes(id)) return join(runs, id)
  throw new Refusal(404, 'this workspace has no such run')
}
