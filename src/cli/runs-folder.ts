import { loadTargetConfig } from '../config/target-config.ts'
import { runsFolder } from '../journal/run-id.ts'
import { surroundings } from './environment.ts'
import type { CommandIo } from './io.ts'
import type { GlobalFlags } from './options.ts'

/** Where the runs of the workspace of a command are kept. */
export async function runsFolderOf(flags: GlobalFlags, io: CommandIo): Promise<string> {
  const { cwd, env } = surroundings(flags, io)
  const { home } = io
  const { workspace, settings } = await loadTargetConfig({ cwd, env, home, flags: { overrides: flags.config } })
  return runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
}
