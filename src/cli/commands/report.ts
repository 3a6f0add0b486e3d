import { findAnyRun } from '../../journal/find-run.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, jsonLine, openWorkplace } from '../io.ts'
import { addToStepSummary, readReport, reportTarget, reportText, writeReport } from '../report-file.ts'
import { workspaceRuns } from '../runs-folder.ts'

/** Rows of a table without `--all`. */
const defaultRows = 40

/** `baton report [RUN]`: what a run did, for somebody who was not there. Returns the exit code. */
export async function reportCommand(flags: Flags<'report'>, io: CommandIo): Promise<number> {
  const { run = 'last', format, output, all, json } = flags
  if (json && format !== undefined && format !== 'json') {
    throw usageError(`--json and --format ${format} cannot be combined`, 'Leave one of them out.')
  }
  const workplace = openWorkplace(flags, io)
  const around = { ...workplace, cwd: workplace.cwd }
  const { folder, workspace } = await workspaceRuns(flags, workplace)
  const given = json ? 'json' : format
  const target = output === undefined ? undefined : reportTarget(output, { around, flag: '--output', format: given })
  const report = await readReport(findAnyRun(folder, run), { flags, workspace })
  if (target !== undefined) await writeReport(target, report)
  else if (json) io.out(jsonLine(report))
  else
    io.out(await reportText(report, format ?? 'text', { paint: workplace.paint, lines: all ? Infinity : defaultRows }))
  const { GITHUB_STEP_SUMMARY: summary } = workplace.env
  const problem = summary ? await addToStepSummary(summary, report) : undefined
  if (problem !== undefined) workplace.note(`${problem}\n`)
  return 0
}
