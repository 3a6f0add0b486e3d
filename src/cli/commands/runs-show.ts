import { basename } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { findRun } from '../../journal/find-run.ts'
import { omittedIn, viewParts, viewShows } from '../../history/part-view.ts'
import { pendingEffects } from '../../history/pending.ts'
import { findPart, viewPlace } from '../../history/place-detail.ts'
import { readRunSummary } from '../../history/run-list.ts'
import { readTree } from '../../history/run-tree.ts'
import { openFileRecords } from '../../journal/file-records.ts'
import { summaryIn } from '../../journal/index-file.ts'
import type { RecordSource } from '../../journal/run-index.ts'
import { noMask } from '../../journal/secrets.ts'
import type { RunSummary } from '../../journal/summary.ts'
import { detailLines, partLines, runHeader, type TreeOptions, uncertainLines } from '../../render/run-tree.ts'
import { expectWords, type RunsContext, type RunsFlags } from './runs.ts'

/** Parts of one part, and lines of one text, that are shown without `--all`. */
const usualLines = 40

/** `baton runs show RUN`: the run as a tree; with `--place` one part with its prompts and answers. */
export async function showRunCommand(flags: RunsFlags, context: RunsContext): Promise<number> {
  expectWords(flags, { least: 1, most: 1, shape: 'RUN' })
  const folder = findRun(context.folder, flags.runs[0] ?? '')
  const run = await readRunSummary(folder, { known: summaryIn(folder) })
  if (run === undefined) return 0
  const lines = flags.all ? Number.POSITIVE_INFINITY : usualLines
  const source = openFileRecords(folder, { mask: noMask })
  try {
    const { paint, workspace } = context
    const shown = { folder, run, source, options: { paint, lines, workspace } }
    return flags.place === undefined
      ? await showWhole(shown, flags, context)
      : await showPlace(shown, { ...flags, place: flags.place }, context)
  } finally {
    source.close()
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
  { json }: RunsFlags,
  { io, paint, workspace }: RunsContext,
): Promise<number> {
  const { root, damages, breaks } = await readTree(source, { most: options.lines, keepsAnswers: false })
  const isOpen = run.status !== 'done' && run.status !== 'skipped' && run.status !== 'running'
  const uncertain = isOpen ? await pendingEffects(folder) : []
  const parts = viewParts(root, { source, breaks })
  const shows = viewShows(root.shows, source)
  if (json) {
    io.out(`${JSON.stringify({ run, parts, omitted: omittedIn(root), shows, uncertain, damages })}\n`)
    return 0
  }
  const omitted = omittedIn(root)
  const lines = [
    runHeader(run, { paint, workspace }),
    ...partLines(parts, '', options),
    ...(omitted === 0 ? [] : [paint('dim', `… ${omitted} more, all done (--all)`)]),
    ...uncertainLines(uncertain, options),
    ...(damages === 0 ? [] : [paint('red', `${damages} parts of the journal are damaged and left out`)]),
    ...(isOpen ? [`${paint('cyan', 'go on')}: baton resume ${run.id}`] : []),
  ]
  io.out(lines.map((line) => `${line}\n`).join(''))
  return 0
}

async function showPlace(
  { folder, run, source, options }: Shown,
  { place, json }: { readonly place: string; readonly json: boolean },
  { io }: RunsContext,
): Promise<number> {
  const { root, breaks } = await readTree(source, { most: Number.POSITIVE_INFINITY, keepsAnswers: true, within: place })
  const part = findPart(root, place)
  if (part === undefined) throw noPart(place, basename(folder))
  const view = viewPlace(part, { source, breaks })
  if (json) {
    io.out(`${JSON.stringify({ run: run.id, ...view })}\n`)
    return 0
  }
  const lines = [...partLines([view.part], '', options), ...detailLines(view.details, options)]
  io.out(lines.map((line) => `${line}\n`).join(''))
  return 0
}

function noPart(place: string, id: string): BatonError {
  return new BatonError('USAGE', `--place ${place}: this run has no such part`, {
    hint: `See baton runs show ${id}: the names of nested parts follow each other, with / between them.`,
  })
}
