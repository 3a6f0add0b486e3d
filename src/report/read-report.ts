import { basename } from 'node:path'
import { shellWord } from '../base/command.ts'
import { BatonError } from '../base/error.ts'
import { safeJson } from '../base/terminal-text.ts'
import { unappliedTrees } from '../history/unapplied-trees.ts'
import { failureOf } from '../history/recorded.ts'
import { findingsIn, reportOptions } from '../history/report.ts'
import { readRunSummary } from '../history/run-list.ts'
import { type RunView, withView } from '../history/run-view.ts'
import { chatPlaceOf } from '../journal/chat-place.ts'
import { readRunState } from '../journal/run-state.ts'
import { noMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'
import { plannedDiffs } from '../journal/planned-changes.ts'
import { isUnfinished } from '../journal/summary.ts'
import { isResumed } from '../render/runs.ts'
import { changesIn } from '../undo/changes.ts'
import { openContents } from '../undo/contents.ts'
import { fileDiffs } from '../undo/diff.ts'
import type { NextStep, Report, ReportChange } from './report.ts'

/** Where a report is read. */
export interface ReportPlace {
  readonly workspace: string
  /** The whole command line of `baton` words. */
  readonly command: (words: string) => string
}

/** The report of the run in a folder. Secrets are shown by name. */
export async function readRunReport(folder: string, { workspace, command }: ReportPlace): Promise<Report> {
  const id = basename(folder)
  const run = await readRunSummary(folder)
  if (run === undefined) throw new BatonError('USAGE', `run ${id} cannot be read`, { hint: 'See baton runs.' })
  const seen = await readRunState(folder)
  const hint = hintOf(folder, seen?.end)
  const planned = run.not_applied === true ? await plannedDiffs(folder) : undefined
  const { changes, ...findings } = await withView(folder, reportOptions, (view) => ({
    ...findingsIn(view, run, hint),
    changes: changesOf(folder, view, planned ?? unappliedTrees(view).map(({ diff }) => diff)),
  }))
  const chat = chatPlaceOf(seen?.start?.facts)
  const next = nextSteps({ ...findings, changes, chat: chat?.id }).map(({ what, command: words }) => ({
    what,
    command: command(words),
  }))
  return { ...findings, workspace, changes, next }
}

export type ReportFormat = 'html' | 'markdown' | 'json'

/** The text of a report that names `baton` as the command. For a thread of its own: a long run takes seconds. */
export async function reportText(folder: string, workspace: string, format: ReportFormat): Promise<string> {
  const report = await readRunReport(folder, { workspace, command: (words) => `baton ${words}` })
  if (format === 'json') return safeJson(report, 2)
  return format === 'html'
    ? (await import('./html.ts')).htmlReport(report)
    : (await import('./markdown.ts')).markdownReport(report)
}

/** What the error that ended a run recommends. */
function hintOf(
  folder: string,
  end: NonNullable<Awaited<ReturnType<typeof readRunState>>>['end'] | undefined,
): string | null {
  if (end === undefined) return null
  const source = openFileRecords(folder, { mask: noMask })
  try {
    return failureOf(end, source)?.hint ?? null
  } finally {
    source.close()
  }
}

/** The net changes with their line counts, and the diffs of those that were not made. A run whose contents cannot be read has none. */
function changesOf(folder: string, view: RunView, notMade: readonly string[]): readonly ReportChange[] {
  const made: ReportChange[] = []
  try {
    const contents = openContents(folder, noMask)
    for (const { path, kind, from, diff } of fileDiffs(changesIn(view, contents.hashOf), contents)) {
      made.push({ path, kind, ...(from === undefined ? {} : { from }), ...countLines(diff) })
    }
  } catch (error) {
    // a damaged record is counted in the report
    if (!(error instanceof BatonError)) throw error
  }
  for (const diff of notMade) {
    for (const part of diff.split(/^(?=diff --git )/m)) {
      const path = /^diff --git a\/.* b\/(.*)$/m.exec(part)?.[1]
      if (path !== undefined) made.push({ path, kind: 'not applied', ...countLines(part) })
    }
  }
  return made
}

function countLines(diff: string): Pick<ReportChange, 'added' | 'removed'> {
  const body = diff.slice(Math.max(0, diff.indexOf('\n@@')))
  if (!body.includes('\n@@'))
    return /^(?:Binary files|.* differ: )/m.test(diff) ? { added: null, removed: null } : { added: 0, removed: 0 }
  const lines = body.split('\n')
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length
  return { added: count('+'), removed: count('-') }
}

function nextSteps(
  report: Pick<Report, 'run' | 'waiting' | 'uncertain' | 'failures' | 'changes'> & {
    readonly chat: string | undefined
  },
): readonly NextStep[] {
  const { run, waiting, uncertain, failures, changes, chat } = report
  const { id, status } = run
  const steps: NextStep[] = []
  const add = (what: string, command: string): void => void steps.push({ what, command })
  if (waiting.length > 0) {
    const call = waiting.length === 1 ? '' : ' --all'
    add('approve', `approve ${id}${call}`)
    add('reject', `reject ${id}${call} --reason TEXT`)
  } else if (chat !== undefined) add('continue', `chat --resume ${chat}`)
  else if (isUnfinished(status) && isResumed(run)) {
    const choices = uncertain.filter(({ resume }) => resume === 'choice').map((one) => ` --uncertain ${one.id}=redo`)
    add('resume', `resume ${id}${choices.join('')}`)
  }
  if (run.not_applied === true) {
    add('see the changes', `runs show ${id} --diff`)
    add('apply', `apply ${id}`)
  }
  const failed = failures.find(({ place }) => place !== '')
  if (failed !== undefined) add('see the failure', `runs show ${id} --place ${shellWord(failed.place)}`)
  if (changes.some(({ kind }) => kind !== 'not applied')) {
    add('see the changes', `runs show ${id} --diff`)
    add('undo', `undo ${id}`)
  }
  if (steps.length === 0) add('see the parts', `runs show ${id}`)
  return steps
}
