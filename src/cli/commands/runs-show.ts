import { basename } from 'node:path'
import { unifiedDiff } from '../../base/unified-diff.ts'
import { omittedIn, viewParts, viewShows } from '../../history/part-view.ts'
import { pendingEffects } from '../../history/pending.ts'
import { readPlace } from '../../history/place-detail.ts'
import { compareRuns, type Difference, openSide } from '../../history/run-diff.ts'
import { readRunSummary } from '../../history/run-list.ts'
import { readTree } from '../../history/run-tree.ts'
import { findAnyRun } from '../../journal/find-run.ts'
import { summaryIn } from '../../journal/index-file.ts'
import { noMask } from '../../journal/secrets.ts'
import type { RunSummary } from '../../journal/summary.ts'
import { harmless } from '../../base/terminal-text.ts'
import { countOf } from '../../render/format.ts'
import {
  detailLines,
  omittedLine,
  partLines,
  restLine,
  isResumed,
  resumeLine,
  runHeader,
  type TreeOptions,
  uncertainLines,
} from '../../render/runs.ts'
import { paintDiff } from '../../render/style.ts'
import type { Flags } from '../command-specs.ts'
import type { RunsContext } from './runs.ts'
import { usageError } from '../command.ts'
import { openFileRecords, type RecordSource } from '../../journal/source.ts'

/** Reads `RUN:2`, iteration 2 of a run. Undefined for a whole run. */
export function iterationOf(word: string): { readonly run: string; readonly iteration: number } | undefined {
  const [, run = '', number = ''] = /^(.*):(\d+)$/.exec(word) ?? []
  return number === '' ? undefined : { run, iteration: Number(number) }
}

/** Limits without `--all`. `show`: parts of one part, and lines of one text. `diff`: lines of one difference. */
export const usualLines = { show: 40, diff: 60 } as const

/** `baton runs show RUN`: the run as a tree; with `--place` one part with its prompts and answers. */
export async function showRun(flags: Flags<'runs'>, context: RunsContext): Promise<number> {
  refuseSeveralViews(flags)
  const folder = findAnyRun(context.folder, flags.run[0] ?? '')
  const run = await readRunSummary(folder, { known: summaryIn(folder) })
  if (run === undefined) return 0
  if (flags.diff) return (await import('./runs-file-diffs.ts')).showFileDiffs(folder, flags, context)
  const lines = flags.all ? Number.POSITIVE_INFINITY : usualLines.show
  const source = openFileRecords(folder, { mask: noMask })
  try {
    const { paint, workspace } = context
    const shown = { folder, run, source, options: { paint, lines, workspace } }
    if (flags.agent !== undefined) {
      const { showAgent } = await import('./runs-agent.ts')
      await showAgent(flags.agent, { run: run.id, source, isJson: flags.json }, context)
      return 0
    }
    if (flags.timeline || flags.messages) {
      const { showTeams } = await import('./runs-team.ts')
      await showTeams({ run: run.id, source, lines }, flags, context)
      return 0
    }
    await (flags.place === undefined ? showWhole(shown, flags, context) : showPlace(shown, flags.place, context))
    return 0
  } finally {
    source.close()
  }
}

function refuseSeveralViews({ place, agent, diff, timeline, messages, format }: Flags<'runs'>): void {
  const given = Object.entries({ place, agent, diff, timeline, messages })
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name]) => `--${name}`)
  if (given.length > 1) {
    throw usageError(`${given.join(' and ')} cannot be combined`, 'Use only one of them.')
  }
  if (format === 'mermaid' && !timeline && !messages) {
    throw usageError('--format mermaid needs --timeline or --messages', 'It draws the team of a run.')
  }
}

interface Shown {
  readonly folder: string
  readonly run: RunSummary
  readonly source: RecordSource
  readonly options: TreeOptions
}

async function showWhole(
  { folder, run, source, options }: Shown,
  flags: Flags<'runs'>,
  { print, paint }: RunsContext,
): Promise<void> {
  const { root, damages, breaks } = await readTree(source, { most: options.lines, keepsAnswers: false })
  const isOpen = run.status !== 'done' && run.status !== 'skipped' && run.status !== 'running'
  const uncertain = isOpen ? await pendingEffects(folder) : []
  const { approvals, lines: waiting } = isOpen ? await waitingIn(folder, flags, paint) : { approvals: [], lines: [] }
  const parts = viewParts(root, { source, breaks })
  const omitted = omittedIn(root)
  const lines = () => [
    runHeader(run, options),
    ...partLines(parts, '', options),
    ...omittedLine({ omitted }, options),
    ...uncertainLines(
      uncertain.filter(({ kind }) => kind !== 'approval'),
      options,
    ),
    ...waiting,
    ...(damages === 0 ? [] : [paint('red', `${countOf(damages, 'damaged part')} of the journal not shown`)]),
    ...(isOpen && isResumed(run) ? [resumeLine(run.id, paint)] : []),
  ]
  print({ run, parts, omitted, shows: viewShows(root.shows, source), uncertain, approvals, damages }, () =>
    textOf(lines()),
  )
}

/** What a run waits for, with the commands that answer it. */
async function waitingIn(folder: string, flags: Flags<'runs'>, paint: RunsContext['paint']) {
  const [{ approvalsIn }, { waitingLines }, { withPlace }] = await Promise.all([
    import('../../history/waiting.ts'),
    import('../../render/approval.ts'),
    import('../with-place.ts'),
  ])
  const approvals = await approvalsIn(folder)
  const command = (words: string): string => `baton ${withPlace(words.replace('RUN', basename(folder)), flags)}`
  return { approvals, lines: approvals.length === 0 ? [] : ['', ...waitingLines(approvals, { paint, command })] }
}

async function showPlace(
  { folder, run, source, options }: Shown,
  place: string,
  { print }: RunsContext,
): Promise<void> {
  const view = await readPlace(source, place)
  if (view === undefined) {
    throw usageError(
      `--place ${place}: this run has no such part`,
      `See baton runs show ${basename(folder)}. Join the names of nested parts with /.`,
    )
  }
  const lines = () => [...partLines([view.part], '', options), ...detailLines(view.details, options)]
  print({ run: run.id, ...view }, () => textOf(lines()))
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

/** `baton runs diff A B`: exit code 1 if sources, prompts, answers, effects or host calls differ, like diff(1). */
export async function diffRuns(flags: Flags<'runs'>, context: RunsContext): Promise<number> {
  if (flags.run.some((one) => iterationOf(one) !== undefined)) {
    return (await import('./runs-iterations.ts')).diffIterations(flags, context)
  }
  const { io, folder, print, paint, workspace } = context
  const [first = '', second = ''] = flags.run
  const folders = [findAnyRun(folder, first), findAnyRun(folder, second)] as const
  const runs = await Promise.all(folders.map((one) => readRunSummary(one, { known: summaryIn(one) })))
  const [before, after] = runs as [RunSummary, RunSummary]
  print({ kind: 'runs', before, after }, () =>
    textOf([before, after].map((run) => runHeader(run, { paint, workspace }))),
  )

  const lines = flags.all ? Number.POSITIVE_INFINITY : usualLines.diff
  const sides = [await openSide(folders[0]), await openSide(folders[1])] as const
  let count = 0
  try {
    for (const difference of compareRuns(sides[0], sides[1])) {
      count += 1
      print(difference, () => differenceText(difference, { paint, lines }))
    }
  } finally {
    for (const { source } of sides) source.close()
  }
  if (count === 0 && !flags.json) io.out('no differences\n')
  return count === 0 ? 0 : 1
}

/** One difference of two runs: its title, then a unified diff of at most `lines` lines. Ends with a newline. */
export function differenceText(
  { kind, place, before, after }: Difference,
  { paint, lines }: Pick<TreeOptions, 'paint' | 'lines'>,
): string {
  const title = `${paint('bold', kind)} ${harmless(place)}`
  if (before === null || after === null) {
    const which = before === null ? 'second' : 'first'
    const detail = kind === 'part' || kind === 'call' ? `: ${harmless(before ?? after ?? '').split('\n')[0]}` : ''
    return `${title}: only in the ${which} run${detail}\n`
  }
  const all = changesBetween(before, after)
  return [
    title,
    ...paintDiff(all.slice(0, lines), paint),
    ...restLine(all.length - lines, 'more lines', paint),
    '',
  ].join('\n')
}

function changesBetween(before: string, after: string): readonly string[] {
  const isShort = !before.includes('\n') && !after.includes('\n')
  if (isShort) return [`-${before}`, `+${after}`]
  // without the file header, because the title already names the texts
  return unifiedDiff(before, after, { from: '', to: '' }).trimEnd().split('\n').slice(2)
}
