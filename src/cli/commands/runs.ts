import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { refuseEscapingLink } from '../../base/link-escape.ts'
import { findWorkspace } from '../../config/locate.ts'
import { compileGlobs } from '../../base/glob.ts'
import { type ListOptions, listRuns, readRunSummary, usesModel } from '../../history/run-list.ts'
import { findAnyRun } from '../../journal/find-run.ts'
import { foreignCheck } from '../../journal/own-run.ts'
import { lastWork, startedAt } from '../../journal/prune.ts'
import { isActive, type RunStatus, type RunSummary } from '../../journal/summary.ts'
import { runTable } from '../../render/runs.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, jsonLine, openWorkplace, type Workplace } from '../io.ts'
import { movedRuns, type WorkspaceRuns, workspaceRuns } from '../runs-folder.ts'
import { parseDuration } from '../../base/duration.ts'

type Action = NonNullable<Flags<'runs'>['action']>

/** The context of every action of `baton runs`. */
export interface RunsContext extends Workplace, WorkspaceRuns {
  readonly io: CommandIo
}

interface ActionSpec {
  /** The number of words after the name of the action, and what they are. */
  readonly least: number
  readonly most: number
  readonly words: string
  /** The flags of this action that not every action has. */
  readonly flags: readonly (keyof Flags<'runs'>)[]
}

const actions: { readonly [action in Action]: ActionSpec } = {
  list: {
    least: 0,
    most: 0,
    words: '',
    flags: ['ids', 'limit', 'file', 'status', 'model', 'since', 'waiting', 'total'],
  },
  show: { least: 1, most: 1, words: 'RUN', flags: ['place', 'agent', 'diff', 'timeline', 'messages', 'format', 'all'] },
  diff: { least: 2, most: 2, words: 'A B', flags: ['all'] },
  export: { least: 1, most: 2, words: 'RUN [FILE]', flags: [] },
  rm: {
    least: 0,
    most: Infinity,
    words: 'RUN…, --older 30d, --failed, --status or --file',
    flags: ['file', 'status', 'older', 'failed', 'dryRun'],
  },
}

/** `baton runs [list|show|diff|export|rm]`: the history of the workspace. Returns the exit code. */
export async function runsCommand(flags: Flags<'runs'>, io: CommandIo): Promise<number> {
  const { action = 'list' } = flags
  refuseForeignFlags(flags, action)
  const { least, most } = actions[action]
  if (flags.run.length < least || flags.run.length > most) throw wrongWords(flags, action)
  const workplace = openWorkplace(flags, io)
  const context: RunsContext = { io, ...workplace, ...(await workspaceRuns(flags, workplace)) }
  switch (action) {
    case 'list':
      return listAll(flags, context)
    case 'show':
      return (await import('./runs-show.ts')).showRun(flags, context)
    case 'diff':
      return (await import('./runs-show.ts')).diffRuns(flags, context)
    case 'export':
      return exportRun(flags, context)
    case 'rm':
      return removeRuns(flags, context)
  }
}

function refuseForeignFlags(flags: Flags<'runs'>, action: Action): void {
  const own = actions[action].flags
  const foreign = Object.values(actions).flatMap((spec) => spec.flags.filter((flag) => !own.includes(flag)))
  const given = foreign.find((flag) => flags[flag] !== undefined && flags[flag] !== false)
  if (given === undefined) return
  const owners = Object.entries(actions).filter(([, spec]) => spec.flags.includes(given))
  throw usageError(
    `baton runs ${action} has no --${given === 'dryRun' ? 'dry-run' : given}`,
    `It belongs to baton runs ${owners.map(([name]) => name).join(' and ')}.`,
  )
}

function wrongWords({ run }: Flags<'runs'>, action: Action): BatonError {
  const { most, words } = actions[action]
  const what = run.length > most ? 'too many arguments' : 'missing argument'
  return usageError(`${what}: ${`baton runs ${action} ${words}`.trim()}`, 'See baton runs for the ids.')
}

const defaultLimit = 20
/** Characters. Writing thousands of lines one by one takes longer than finding them. */
const writtenAtOnce = 16 * 1024

/** A table, newest first; with `--json` one summary per line, with `--ids` one id. */
async function listAll(flags: Flags<'runs'>, context: RunsContext): Promise<number> {
  const { io, folder, paint, width, workspace } = context
  if (flags.total) return showTotals(context)
  const limit = limitOf(flags.limit)
  const since = flags.since === undefined ? 0 : Date.now() - durationOf('since', flags.since)
  const fitsFile = fitsFlags(flags, context)
  const fits: ListOptions['fits'] = (run) => startedAt(run.id) >= since && fitsFile(run)
  const uses = usesModel(flags.model)
  if (flags.waiting) return (await import('./runs-waiting.ts')).listWaiting({ limit, fits, uses }, flags, context)
  // one more than is shown, to know whether there are more
  const listed = listRuns(folder, { limit: flags.json || flags.ids ? limit : limit + 1, fits, uses })
  const check = foreignCheck(context)
  const isForeign = ({ id }: RunSummary): Promise<boolean> => check(join(folder, id))
  if (flags.json || flags.ids) {
    let lines = ''
    for await (const run of listed) {
      const more = flags.json && (await isForeign(run)) ? { foreign: true } : {}
      lines += flags.json ? jsonLine({ ...run, ...more }) : `${run.id}\n`
      if (lines.length < writtenAtOnce) continue
      io.out(lines)
      lines = ''
    }
    io.out(lines)
    return 0
  }
  const runs: RunSummary[] = []
  for await (const run of listed) runs.push(run)
  if (runs.length > 0) io.out(runTable(runs.slice(0, limit), { paint, width, workspace }))
  else
    context.note(
      (flags.file ?? flags.status ?? flags.model ?? flags.since) ? 'no matching run\n' : await noRunsText(context),
    )
  const foreign: string[] = []
  for (const run of runs.slice(0, limit)) if (await isForeign(run)) foreign.push(run.id)
  if (foreign.length > 0) context.note(`not recorded by this installation, view only: ${foreign.join(', ')}\n`)
  if (runs.length > limit) context.note('there are more runs: -n 0 lists all\n')
  return 0
}

/** `--total`: what runs have cost today and this month, of all workspaces and of this one. */
async function showTotals({ folder, settings, print }: RunsContext): Promise<number> {
  const { periodTotals, totalText } = await import('../../journal/period-budget.ts')
  for (const total of await periodTotals(folder, settings.budget)) print(total, () => `${totalText(total)}\n`)
  return 0
}

async function noRunsText(context: RunsContext): Promise<string> {
  const moved = await movedRuns(context, context)
  const lines = moved.map(({ id, workspace }) => `the last run of ${workspace}, which no longer exists, is ${id}\n`)
  return ['no runs of this workspace yet\n', ...lines].join('')
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return defaultLimit
  if (/^\d{1,9}$/.test(text)) return Number(text) || Number.POSITIVE_INFINITY
  throw usageError(`--limit ${text} is not a number`, 'Write for example -n 50; 0 lists all.')
}

/** Milliseconds. */
function durationOf(flag: 'since' | 'older', text: string): number {
  const duration = parseDuration(text)
  if (duration === undefined) throw usageError(`--${flag} ${text} is not a duration`, 'Write for example 30d.')
  return duration
}

/** Whether a run matches `--file` and `--status`. A file is given as its name, its path or a glob. */
function fitsFlags({ file, status }: Flags<'runs'>, { workspace, cwd }: RunsContext): ListOptions['fits'] {
  const glob = file === undefined ? undefined : compileGlobs([file])
  return (run) => {
    if (status !== undefined && run.status !== status) return false
    if (file === undefined || glob === undefined) return true
    const names = [displayPath(workspace, run.file), basename(run.file)]
    return run.file === resolve(cwd, file) || names.some((name) => name === file || glob.matches(name))
  }
}

/** Writes the whole record to one file, atomically; without a file name, to stdout. */
async function exportRun(
  { run: [asked = '', name] }: Flags<'runs'>,
  { io, folder, cwd, home, print, ...here }: RunsContext,
): Promise<number> {
  const run = findAnyRun(folder, asked)
  // what somebody else recorded is no evidence of what this user knows
  const env = (await foreignCheck({ env: here.env, home })(run)) ? undefined : here.env
  if (name === undefined) {
    const { writeCassette } = await import('../../journal/cassette.ts')
    const write = (text: string): void => {
      io.signal.throwIfAborted()
      io.out(text)
    }
    await writeCassette(run, write, defined({ env }))
    return 0
  }
  const file = resolve(cwd, name)
  refuseEscapingLink(file, { within: findWorkspace({ cwd, env: io.env, home: io.home }), shown: name })
  if (existsSync(file)) throw usageError(`${name} already exists`, 'Name another file, or remove it first.')
  const { writeCassetteFile } = await import('../cassette-file.ts')
  const bytes = await writeCassetteFile(file, run, { env, signal: io.signal })
  print({ id: basename(run), file, bytes }, () => '')
  return 0
}

export interface RunToRemove {
  readonly folder: string
  readonly status: RunStatus
}

/** Removes the named runs, or all that match every given flag; never one that is running. */
async function removeRuns(flags: Flags<'runs'>, context: RunsContext): Promise<number> {
  const { run: named } = flags
  const candidates = named.length > 0 ? await namedRuns(flags, context) : await matchingRuns(flags, context)
  if (candidates.length === 0) context.note('no matching run\n')
  const kept = await (await import('./runs-rm.ts')).removeAll(candidates, flags, context)
  // the command succeeds only if every named run is gone
  return named.length > 0 && kept > 0 ? 1 : 0
}

async function namedRuns(
  { run: named, older, failed, file, status }: Flags<'runs'>,
  { folder }: RunsContext,
): Promise<readonly RunToRemove[]> {
  if (failed || (older ?? file ?? status) !== undefined) {
    throw usageError('named runs and flags that select runs cannot be combined', 'Leave one of them out.')
  }
  const folders = new Set(named.map((run) => findAnyRun(folder, run)))
  const found = [...folders].map(async (run): Promise<RunToRemove> => {
    const summary = await readRunSummary(run)
    return { folder: run, status: summary?.status ?? 'interrupted' }
  })
  return Promise.all(found)
}

async function matchingRuns(flags: Flags<'runs'>, context: RunsContext): Promise<readonly RunToRemove[]> {
  const { older, failed, file, status } = flags
  if (!failed && (older ?? file ?? status) === undefined) throw wrongWords(flags, 'rm')
  const before = Date.now() - (older === undefined ? 0 : durationOf('older', older))
  const fits = fitsFlags(flags, context)
  const candidates: RunToRemove[] = []
  const listed = listRuns(context.folder, {
    limit: Number.POSITIVE_INFINITY,
    fits: (run) => fits(run) && !(failed && (run.status === 'done' || run.status === 'skipped')),
  })
  for await (const run of listed) {
    const folder = join(context.folder, run.id)
    const isOld = older === undefined || lastWork(folder) < before
    // active ones do not match
    if (isOld && !isActive(run.status)) candidates.push({ folder, status: run.status })
  }
  return candidates
}
