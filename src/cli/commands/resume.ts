import { resolve } from 'node:path'
import { displayPath } from '../../base/files.ts'
import { claimMessage } from '../../chat/claim-message.ts'
import { readValue } from '../../journal/cassette.ts'
import { findAnyRun } from '../../journal/find-run.ts'
import { readRunState } from '../../journal/run-state.ts'
import { unfinishedRun } from '../../journal/index-file.ts'
import { createMask } from '../../journal/secrets.ts'
import { invocationOf } from '../../run/record.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import { resumeRun } from '../../wiring/resume.ts'
import { createPerson } from '../approver.ts'
import { isAttended } from '../confirm.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { defined } from '../../base/json.ts'
import { type CommandIo, type Surroundings, surroundings } from '../io.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import { presentRun } from '../present-run.ts'
import { placeOfRun, workspaceRuns } from '../runs-folder.ts'

/** `baton resume RUN|--last`: resumes a run; returns its exit code. */
export async function resumeCommand(given: Flags<'resume'>, io: CommandIo): Promise<number> {
  const around = surroundings(given, io)
  const { env, home, cwd } = around
  const { from, force, useCurrent: usesCurrent, uncertain, repair } = given
  if (force && from === undefined) {
    throw usageError(
      '--force needs --from',
      'Name the iteration to start from, for example --from 2, or leave --force out.',
    )
  }
  const overrides = overridesOf(given)
  const runs = await workspaceRuns(given, around)
  const folder = await chosenRun(runs.folder, given)
  const { workspace, movedFrom, says } = await placeOfRun(folder, runs, around)
  if (says !== undefined && !given.json && given.level !== 'quiet') io.err(`${says}\n`)
  const moved = movedFrom === undefined ? undefined : { from: movedFrom, to: workspace }
  const flags = { ...given, ...(await startedWith(folder, given, around)) }
  if (flags.report !== undefined) (await import('../report-file.ts')).checkReport(flags.report, flags, around)
  const choices = {
    isAttended: isAttended(given, io),
    usesCurrent,
    uncertain,
    isUnattended: runs.settings.run?.unattended === true,
    repair,
    force,
    overrides,
    ...defined({ from, moved }),
  }
  const resume = async (): Promise<RunReport> => {
    const { release } = await claimMessage(folder, cwd)
    try {
      return await presentRun({ flags, around }, io, (listener, hold) => {
        const person = createPerson(flags, { ...io, cwd, hold })
        return resumeRun({ folder, env, home, signal: io.signal, ...choices, ...person }, listener)
      })
    } finally {
      release()
    }
  }
  if (flags.record === undefined) return (await resume()).exitCode
  const file = resolve(cwd, flags.record)
  const { checkCassettePlace, writeCassetteFile } = await import('../cassette-file.ts')
  checkCassettePlace(file, around)
  const { exitCode, stopReason } = await resume()
  if (stopReason !== 'cancelled') await writeCassetteFile(file, folder)
  return exitCode
}

/** The additional files that the run writes, and what it does about approvals: as given now, else as at its start. */
async function startedWith(
  folder: string,
  given: Flags<'resume'>,
  { cwd, env }: Surroundings,
): Promise<Pick<Flags<'resume'>, 'output' | 'record' | 'report' | 'onAsk'>> {
  const seen = await readRunState(folder)
  const mask = createMask(env, { names: Object.keys(env) })
  const facts = seen?.start && (await readValue(seen.start.facts, { folder, mask }).catch(() => undefined))
  const { output, record, report, onAsk } = invocationOf(facts) ?? {}
  const shown = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : displayPath(cwd, path)
  return {
    output: given.output ?? shown(output),
    record: given.record ?? shown(record),
    report: given.report ?? shown(report),
    onAsk: given.onAsk ?? onAsk,
  }
}

async function chosenRun(folder: string, { run, last }: Flags<'resume'>): Promise<string> {
  if (run !== undefined && last) throw usageError('--last and a run cannot be combined', 'Leave one of them out.')
  if (run !== undefined && run !== 'last') return findAnyRun(folder, run)
  if (run === undefined && !last) throw usageError('name a run, or use --last', 'See baton runs.')
  return unfinishedRun(folder)
}
