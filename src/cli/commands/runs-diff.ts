import { openSide, compareRuns } from '../../history/run-diff.ts'
import { readRunSummary } from '../../history/run-list.ts'
import { findRun } from '../../journal/find-run.ts'
import { summaryIn } from '../../journal/index-file.ts'
import type { RunSummary } from '../../journal/summary.ts'
import { differenceText } from '../../render/run-diff.ts'
import { runHeader } from '../../render/run-tree.ts'
import { expectWords, type RunsContext, type RunsFlags } from './runs.ts'

/** Lines of one difference that are shown without `--all`. */
const usualLines = 60

/** `baton runs diff A B`: exit code 1 when sources, prompts, answers, effects or host calls differ, like diff(1). */
export async function diffRunsCommand(flags: RunsFlags, context: RunsContext): Promise<number> {
  expectWords(flags, { least: 2, most: 2, shape: 'A B' })
  const { io, paint, workspace } = context
  const folders = [findRun(context.folder, flags.runs[0] ?? ''), findRun(context.folder, flags.runs[1] ?? '')] as const
  const runs = await Promise.all(folders.map((folder) => readRunSummary(folder, { known: summaryIn(folder) })))
  const [before, after] = runs as [RunSummary, RunSummary]
  if (flags.json) io.out(`${JSON.stringify({ kind: 'runs', before, after })}\n`)
  else for (const run of [before, after]) io.out(`${runHeader(run, { paint, workspace })}\n`)

  const lines = flags.all ? Number.POSITIVE_INFINITY : usualLines
  const sides = [await openSide(folders[0]), await openSide(folders[1])] as const
  let count = 0
  try {
    for (const difference of compareRuns(sides[0], sides[1])) {
      count += 1
      io.out(flags.json ? `${JSON.stringify(difference)}\n` : differenceText(difference, { paint, lines }))
    }
  } finally {
    for (const { source } of sides) source.close()
  }
  if (count === 0 && !flags.json) io.out('no differences\n')
  return count === 0 ? 0 : 1
}
