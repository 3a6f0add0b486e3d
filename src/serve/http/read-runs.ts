import { basename } from 'node:path'
import { WorkerLimitError, type WorkerLimits, runInWorker } from '../../base/worker-task.ts'
import { displayPath } from '../../base/files.ts'
import type { ApprovalView } from '../../event/action-view.ts'
import { askerText } from '../../event/sub-agents.ts'
import { type Answer, answersIn } from '../../history/answers.ts'
import { type PlaceView, readPlace } from '../../history/node-view.ts'
import { type RunSteps, stepsIn, stepsOnly } from '../../history/run-steps.ts'
import { listRuns, readRunSummary, usesModel } from '../../history/run-list.ts'
import { everything, withView } from '../../history/run-view.ts'
import { exchangesJson, timelineJson, type TimelineJson } from '../../history/team-json.ts'
import { readTeams } from '../../history/team.ts'
import { pendingApprovals, pendingEffects, type PendingView } from '../../history/pending.ts'
import { startedAt } from '../../journal/prune.ts'
import { noMask } from '../../journal/secrets.ts'
import { isActive, isUnfinished, type RunSummary, type ShownStatus } from '../../journal/summary.ts'
import { undoneBy } from '../../journal/undo-mark.ts'
import { type FileDiff, fileDiffs } from '../../undo/diff.ts'
import { changesIn } from '../../undo/changes.ts'
import { openContents } from '../../undo/contents.ts'
import { openChanges } from '../../undo/open-changes.ts'
import type { ReportFormat } from '../../report/read-report.ts'
import { Refusal } from '../refusal.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { OpenServerQuestion } from '../workers/messages.ts'
import { choicesOf } from './inbox.ts'
import type { RunFeed } from './run-feed.ts'
import { folderOf, type ServedWorkspace } from './served-workspace.ts'
import type { ShownRun, ShownRuns } from './shown-run.ts'
import { type StartAgain, startAgain } from './start-again.ts'

/** Which runs to list. All given conditions must hold. */
export interface RunFilter {
  readonly limit?: number | undefined
  /** The id of a run; only older runs match. */
  readonly before?: string | undefined
  /** Part of the name, the file or the id, case-insensitive. */
  readonly q?: string | undefined
  /** One of these states. */
  readonly state?: readonly ShownStatus[] | undefined
  /** Part of the name or the file, case-insensitive. */
  readonly file?: string | undefined
  /** Part of the name of a model, case-insensitive. */
  readonly model?: string | undefined
  /** When it started, in milliseconds since 1970: from, and before. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

const defaultLimit = 50

export interface RunList {
  readonly runs: readonly ShownRun[]
  /** Whether older runs match. */
  readonly more: boolean
  /** How many runs there are, if nothing is searched. */
  readonly total?: number
}

/** `asker`: who asks, in plain words; empty: the main agent. */
interface AskedBy {
  readonly asker: string
}

export interface RunDetail {
  readonly run: ShownRun
  readonly canResume: boolean
  /** Whether it runs in this server. */
  readonly owned: boolean
  readonly approvals: readonly (ApprovalView & AskedBy)[]
  /** Of MCP servers that work on a call. */
  readonly questions: readonly (OpenServerQuestion & AskedBy)[]
  /** Calls whose outcome only a person can state before the run is resumed. */
  readonly uncertain: readonly PendingView[]
  /** Whether it has changed files, and the changes were not undone yet. */
  readonly canUndo: boolean
  /** The request that starts the same again; null if it cannot be repeated. */
  readonly again: StartAgain | null
  readonly answers: readonly Answer[]
  readonly prompt_file: string | null
  readonly text: string | null
}

export interface RunTeams extends Pick<TimelineJson, 'breaks'> {
  readonly teams: readonly { readonly members: readonly object[]; readonly exchanges: readonly object[] }[] | null
}

/** A page of the runs, newest first. */
export async function readRunList(served: ServedWorkspace, shown: ShownRuns, filter: RunFilter): Promise<RunList> {
  const { runs, totals } = served
  const index = served.readIndex()
  const { ids } = index
  const { limit = defaultLimit, before, q = '', file = '', model = '', state, since = 0, until = Infinity } = filter
  const [words, path, name] = [q, file, model].map((text) => text.trim().toLowerCase())
  const older =
    before === undefined ? undefined : new Set(ids.includes(before) ? ids.slice(ids.indexOf(before) + 1) : [])
  const fits = (run: Pick<RunSummary, 'id' | 'file' | 'status'>): boolean => {
    if (older?.has(run.id) === false || (state !== undefined && !state.includes(shown.stateOf(run)))) return false
    const started = startedAt(run.id)
    if (started < since || started >= until) return false
    const texts = [shown.nameOf(run), displayPath(served.workspace, run.file)].map((text) => text.toLowerCase())
    const has = (text = ''): boolean => texts.some((one) => one.includes(text))
    return has(path) && (has(words) || run.id.includes(words ?? ''))
  }
  const found: RunSummary[] = []
  for await (const run of listRuns(runs, { limit: limit + 1, fits, uses: usesModel(name), index, totals }))
    found.push(run)
  const isAll =
    [words, path, name].every((text) => text === '') && state === undefined && since <= 0 && until === Infinity
  return {
    runs: await shown.showAll(found.slice(0, limit)),
    more: found.length > limit,
    ...(isAll && { total: ids.length }),
  }
}

/** @throws Refusal 404 */
export async function readRun(folder: string): Promise<RunSummary> {
  return existing(await readRunSummary(folder))
}

function existing(run: RunSummary | undefined): RunSummary {
  if (run === undefined) throw new Refusal(404, 'this workspace has no such run')
  return run
}

interface DetailOptions {
  readonly feed: Pick<RunFeed, 'refresh' | 'summary' | 'view'>
  readonly shown: ShownRuns
  readonly held: ActiveRuns
  /** Of how many tasks. */
  readonly answers?: number | undefined
}

/** A run with its prompt, its answers, and whether it can be resumed. @throws Refusal 404 */
export async function readRunDetail(
  served: ServedWorkspace,
  folder: string,
  { feed, shown, held, answers: most }: DetailOptions,
): Promise<RunDetail> {
  const { workspace } = served
  await feed.refresh()
  const recorded = existing(await feed.summary())
  const run = await shown.show(recorded)
  const isOpen = run.status !== 'done' && run.status !== 'skipped'
  const owned = held.isHeld(run.id)
  const { file, prompt, answers, approvals, uncertain, again, hasChanged } = feed.view((view) => ({
    ...answersIn(view, most),
    approvals: (isOpen ? pendingApprovals(view.open) : []).map((one) => ({ ...one, asker: askerText(one.place) })),
    // what a process works on is not uncertain yet
    uncertain: isUnfinished(run.status) ? choicesOf(pendingEffects(view.open)) : [],
    again: startAgain(view, served),
    hasChanged: view.changes.length > 0 && changesIn(view, openContents(folder, noMask).hashOf).length > 0,
  }))
  const isOver = !isActive(run.status) && run.target !== 'undo' && run.foreign === undefined
  return {
    run,
    canResume: !owned && run.foreign === undefined && whyNotResumed(recorded, folder) === undefined,
    canUndo: isOver && hasChanged && undoneBy(folder) === undefined,
    owned,
    approvals,
    questions: held.questions(run.id).map((one) => ({ ...one, asker: askerText(one.agent) })),
    uncertain,
    again,
    answers,
    prompt_file: file === null ? null : displayPath(workspace, file),
    text: prompt,
  }
}

/** Why a run cannot be resumed; undefined: it can. */
export function whyNotResumed(
  { id, status, target, resumable, begun }: RunSummary,
  folder: string,
): string | undefined {
  if (isActive(status)) return `run ${id} is running`
  if (begun === false) return `run ${id} was never begun: start it again`
  const by = undoneBy(folder)
  if (by !== undefined) return `the changes of run ${id} were undone by ${by}`
  if (status === 'interrupted' && resumable === false) return `run ${id} cannot be resumed: its start is not recorded`
  if (status === 'done' || status === 'skipped' || resumable === false) return `run ${id} has ended`
  return target === 'prompt' || target === 'agent' ? undefined : `run ${id} cannot be resumed`
}

/** A part of a run with its prompts and answers. @throws Refusal 404 */
export async function readRunPlace(folder: string, place: string): Promise<PlaceView & { readonly run: string }> {
  const view = await readPlace(folder, place)
  if (view === undefined) throw new Refusal(404, 'this run has no such part')
  return { run: basename(folder), ...view }
}

/** What the agents of a run did before their answers, and which files it has changed. */
export async function readRunSteps({ workspace }: ServedWorkspace, folder: string): Promise<RunSteps> {
  const { files, ...rest } = await withView(folder, stepsOnly, stepsIn)
  return { ...rest, files: files.map((path) => displayPath(workspace, path)) }
}

/** The file changes of a run. Secrets are replaced with their names. */
export async function readRunChanges(folder: string): Promise<{ readonly changes: readonly FileDiff[] }> {
  const { changes, contents } = await openChanges(folder, noMask)
  return { changes: [...fileDiffs(changes, contents)] }
}

/** The teams of a run with their exchanges. `teams` is null if no model of the run has started an agent. */
export async function readRunTeams(folder: string): Promise<RunTeams> {
  const all = await withView(folder, everything, readTeams)
  const { teams, breaks } = timelineJson(basename(folder), all)
  if (all.teams.length === 0) return { teams: null, breaks: [] }
  const exchanges = all.teams.map(exchangesJson)
  return { teams: teams.map((team, index) => ({ ...team, exchanges: exchanges[index] ?? [] })), breaks }
}

/** What a comparison or a report may use. */
export type ComparisonLimits = Required<Pick<WorkerLimits, 'memoryMb' | 'timeMs'>>

const defaultThread: ComparisonLimits = { memoryMb: 1024, timeMs: 60_000 }

interface ComparisonOptions {
  /** Ids of runs. */
  readonly a: string
  readonly b: string
  readonly limits?: Partial<ComparisonLimits> | undefined
  readonly signal: AbortSignal
}

/**
 * The differences between two runs as JSON. They are read in a thread of their own, because that can take long.
 * @throws Refusal 503 if they are too large to be compared
 */
export async function readComparison(
  served: ServedWorkspace,
  { a, b, limits, signal }: ComparisonOptions,
): Promise<Response> {
  const folders = [folderOf(served, a), folderOf(served, b)]
  for (const folder of folders) await readRun(folder)
  try {
    const json = await runInWorker({ name: 'runs.compare', args: folders }, { ...defaultThread, ...limits, signal })
    return new Response(String(json), { headers: { 'content-type': 'application/json' } })
  } catch (error) {
    if (!(error instanceof WorkerLimitError)) throw error
    throw new Refusal(503, `these runs are too large to be compared: ${error.message}`, {
      hint: `Compare them in a terminal: baton runs diff ${a} ${b}`,
    })
  }
}

const reportTypes = {
  html: 'text/html; charset=utf-8',
  markdown: 'text/markdown; charset=utf-8',
  json: 'application/json',
}

/**
 * The report of a run, as `baton report` writes it. HTML loads nothing and runs nothing. It is made in a thread of its own,
 * because a run can have thousands of tasks.
 * @throws Refusal 503 if the run is too large
 */
export async function readReport(
  { workspace }: ServedWorkspace,
  folder: string,
  { format = 'html', signal }: { readonly format?: ReportFormat | undefined; readonly signal: AbortSignal },
): Promise<Response> {
  await readRun(folder)
  try {
    const text = await runInWorker(
      { name: 'runs.report', args: [folder, workspace, format] },
      { ...defaultThread, signal },
    )
    return new Response(String(text), { headers: { 'content-type': reportTypes[format] } })
  } catch (error) {
    if (!(error instanceof WorkerLimitError)) throw error
    throw new Refusal(503, `this run is too large for a report: ${error.message}`, {
      hint: `Write it in a terminal: baton report ${basename(folder)}`,
    })
  }
}
