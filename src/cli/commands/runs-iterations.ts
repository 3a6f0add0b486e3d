import { basename } from 'node:path'
import { runGit } from '../../base/git.ts'
import { harmless } from '../../base/terminal-text.ts'
import { findAnyRun } from '../../journal/find-run.ts'
import { iterationFacts } from '../../history/iteration.ts'
import { compareWithin, type DiffSide, openSide } from '../../history/run-diff.ts'
import { findPart } from '../../history/run-tree.ts'
import { countOf } from '../../render/format.ts'
import { paintDiff } from '../../render/style.ts'
import { usageError } from '../command.ts'
import type { Flags } from '../command-specs.ts'
import type { RunsContext } from './runs.ts'
import { differenceText, iterationOf, usualLines } from './runs-show.ts'

interface Side extends DiffSide {
  readonly run: string
  readonly within: string
  /** The git tree with its files. */
  readonly state: string | undefined
}

/**
 * `baton runs diff RUN:0 RUN:2`: compares two iterations: the files after them, if a git repository has them, then
 * prompts and answers. Exit code 1 if anything differs, like diff(1).
 */
export async function diffIterations(flags: Flags<'runs'>, context: RunsContext): Promise<number> {
  const { io, print, paint, folder } = context
  const [first = '', second = ''] = flags.run
  const lines = flags.all ? Number.POSITIVE_INFINITY : usualLines.diff
  const before = await openIteration(first, folder)
  try {
    const after = await openIteration(second, folder)
    try {
      const files = await fileDifference(before, after, context)
      if (files !== undefined) {
        print({ kind: 'files', before: before.within, after: after.within, diff: files }, () =>
          textOfDiff(files, { paint, lines }),
        )
      }
      let count = files === undefined ? 0 : 1
      for (const difference of compareWithin(before, after) ?? []) {
        // commands, commits and times always differ
        if (!['prompt', 'answer', 'part'].includes(difference.kind)) continue
        count += 1
        print(difference, () => differenceText(difference, { paint, lines }))
      }
      if (count === 0 && !flags.json) io.out('no differences\n')
      return count === 0 ? 0 : 1
    } finally {
      after.source.close()
    }
  } finally {
    before.source.close()
  }
}

async function openIteration(word: string, folder: string): Promise<Side> {
  const asked = iterationOf(word)
  if (asked === undefined) {
    throw usageError(`${word} is not an iteration`, 'Compare two runs (A B), or two iterations (RUN:0 RUN:2).')
  }
  const path = findAnyRun(folder, asked.run)
  const side = await openSide(path)
  const within = `iteration/${asked.iteration}`
  const part = findPart(side.tree.root, within)
  if (part === undefined) {
    side.source.close()
    throw usageError(`run ${basename(path)} has no ${within}`, `See baton runs show ${basename(path)}.`)
  }
  return { ...side, run: basename(path), within, state: iterationFacts(part, side.source)?.state }
}

/** The output of git diff; undefined if nothing differs, or the repository does not have both states. */
async function fileDifference(
  before: Side,
  after: Side,
  { workspace, env, io }: RunsContext,
): Promise<string | undefined> {
  if (before.state === undefined || after.state === undefined || before.state === after.state) return undefined
  const args = ['diff', '--no-ext-diff', '--no-textconv', '--no-color', before.state, after.state]
  const place = { cwd: workspace, env, timeLimitMs: 60_000, maxOutputBytes: 64 * 1024 * 1024 }
  const { end, stdout } = await runGit({ ...place, args }, io.signal)
  return end.kind === 'exited' && end.code === 0 && stdout.text !== '' ? stdout.text : undefined
}

function textOfDiff(
  diff: string,
  { paint, lines }: Pick<Parameters<typeof differenceText>[1], 'paint' | 'lines'>,
): string {
  const all = harmless(diff).trimEnd().split('\n')
  const more = all.length - lines
  return `${[...paintDiff(all.slice(0, lines), paint), ...(more > 0 ? [`… ${countOf(more, 'more line')} (--all)`] : [])].join('\n')}\n`
}
