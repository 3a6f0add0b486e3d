import { join } from 'node:path'
import { findRun, runIds } from '../../journal/find-run.ts'
import { glance } from '../../journal/glance.ts'
import { resumeRun } from '../../wiring/resume.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { defined } from '../../base/json.ts'
import { type CommandIo, surroundings } from '../io.ts'
import { overridesOf, presentRun } from '../present-run.ts'
import { workspaceRuns } from '../runs-folder.ts'

/** `baton resume RUN|--last`: resumes a run; returns its exit code. */
export async function resumeCommand(flags: Flags<'resume'>, io: CommandIo): Promise<number> {
  const around = surroundings(flags, io)
  const { env, home } = around
  const { from, useCurrent: usesCurrent, uncertain, repair } = flags
  const overrides = overridesOf(flags)
  const runs = await workspaceRuns(flags, around)
  const folder = await chosenRun(runs.folder, flags)
  const choices = { usesCurrent, uncertain, repair, overrides, ...defined({ from }) }
  const report = await presentRun({ flags, around }, io, (listener) =>
    resumeRun({ folder, env, home, signal: io.signal, ...choices }, listener),
  )
  return report.exitCode
}

async function chosenRun(folder: string, { run, last }: Flags<'resume'>): Promise<string> {
  if (run !== undefined && last) throw usageError('--last and a run are both given', 'Leave one of them out.')
  if (run !== undefined && run !== 'last') return findRun(folder, run)
  if (run === undefined && !last) throw usageError('name a run, or use --last', 'See baton runs.')
  for (const id of runIds(folder)) {
    const seen = await glance(join(folder, id))
    if (seen !== undefined && seen.end?.exit !== 0) return join(folder, id)
  }
  throw usageError('no run of this workspace can be resumed', 'See baton runs.')
}
