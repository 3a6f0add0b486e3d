import { BatonError } from '../../base/error.ts'
import { listRuns } from '../../history/run-list.ts'
import type { RunSummary } from '../../journal/summary.ts'
import { runTable } from '../../render/run-table.ts'
import { expectWords, type RunsContext, type RunsFlags } from './runs.ts'
import { fitsFlags } from './runs-filter.ts'

const usualLimit = 20

/** `baton runs`: a table, the newest first; with `--json` one summary a line, with `--ids` one id. */
export async function listRunsCommand(flags: RunsFlags, context: RunsContext): Promise<number> {
  expectWords(flags, { least: 0, most: 0, shape: '' })
  const { io, folder, paint, workspace } = context
  const limit = limitOf(flags.limit)
  const fits = fitsFlags(flags, context)
  // one more than is shown tells whether there are more
  const listed = listRuns(folder, { limit: flags.json || flags.ids ? limit : limit + 1, fits })
  if (flags.json || flags.ids) {
    for await (const run of listed) io.out(`${flags.json ? JSON.stringify(run) : run.id}\n`)
    return 0
  }
  const runs: RunSummary[] = []
  for await (const run of listed) runs.push(run)
  const width = io.outIsTerminal ? io.columns() : Number.POSITIVE_INFINITY
  if (runs.length > 0) io.out(runTable(runs.slice(0, limit), { paint, width, workspace }))
  const isQuiet = flags.level === 'quiet'
  if (runs.length === 0 && !isQuiet) io.err(`${isFiltered(flags) ? 'no run fits' : 'no runs of this workspace yet'}\n`)
  if (runs.length > limit && !isQuiet) io.err('there are more: -n 0 lists all\n')
  return 0
}

function isFiltered({ file, status }: RunsFlags): boolean {
  return file !== undefined || status !== undefined
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return usualLimit
  if (/^\d{1,9}$/.test(text)) return Number(text) || Number.POSITIVE_INFINITY
  throw new BatonError('USAGE', `--limit ${text} is not a number`, { hint: 'Write for example -n 50; 0 lists all.' })
}
