import { basename } from 'node:path'
import { endOf, omittedIn, readPlace, viewBelow, viewShows } from '../../history/node-view.ts'
import { pendingApprovals, pendingEffects } from '../../history/pending.ts'
import { changedLines, compareParts, compareRuns, type Difference } from '../../history/run-diff.ts'
import { readRunSummary } from '../../history/run-list.ts'
import { everything, findNode, type RunNode, type RunView, withView } from '../../history/run-view.ts'
import { findAnyRun } from '../../journal/find-run.ts'
import { noMask } from '../../journal/secrets.ts'
import { isUnfinished, type RunSummary } from '../../journal/summary.ts'
import { harmless, harmlessName } from '../../base/terminal-text.ts'
import { countOf } from '../../render/format.ts'
import {
  detailLines,
  isResumed,
  omittedLine,
  partLines,
  restLine,
  resumeLine,
  runHeader,
  type TreeOptions,
  uncertainLines,
} from '../../render/runs.ts'
import { paintDiff } from '../../render/style.ts'
import type { Flags } from '../command-specs.ts'
import type { RunsContext } from './runs.ts'
import { usageError } from '../command.ts'
import { agentsIn, agentsOnly, readTranscript } from '../../history/agent-transcript.ts'
import { messageText } from '../../history/recorded.ts'
import { jsonLine } from '../io.ts'
import { fileDiffs } from '../../undo/diff.ts'
import { openChanges } from '../../undo/open-changes.ts'
import { runGit } from '../../base/git.ts'
import { exchangesJson, timelineJson } from '../../history/team-json.ts'
import { readTeams, type Team } from '../../history/team.ts'
import { sequenceLines } from '../../render/sequence.ts'
import { ganttText, sequenceText } from '../../render/team-mermaid.ts'
import { timelineLines } from '../../render/timeline.ts'

/** Reads `RUN:2`, iteration 2 of a run. Undefined for a whole run. */
export function iterationOf(word: string): { readonly run: string; readonly iteration: number } | undefined {
  const [, run = '', number = ''] = /^(.*):(\d+)$/.exec(word) ?? []
  return number === '' ? undefined : { run, iteration: Number(number) }
}

/** Limits without `--all`. `show`: parts of one part, and lines of one text. `diff`: lines of one difference. */
export const defaultLines = { show: 40, diff: 60 } as const

/** `baton runs show RUN`: the run as a tree; with `--place` one part with its prompts and answers. */
export async function showRun(flags: Flags<'runs'>, context: RunsContext): Promise<number> {
  refuseSeveralViews(flags)
  const folder = findAnyRun(context.folder, flags.run[0] ?? '')
  const run = await readRunSummary(folder)
  if (run === undefined) return 0
  if (flags.diff) return showFileDiffs(folder, flags, context)
  const lines = flags.all ? Number.POSITIVE_INFINITY : defaultLines.show
  const { paint, workspace } = context
  const shown = { folder, run, options: { paint, lines, workspace } }
  if (flags.agent !== undefined) {
    const { agent } = flags
    await withView(folder, agentsOnly, (view) => showAgent(agent, { view, run: run.id, isJson: flags.json }, context))
  } else if (flags.timeline || flags.messages) {
    await withView(folder, everything, (view) => showTeams({ view, run: run.id, lines }, flags, context))
  } else if (flags.place !== undefined) await showPlace(shown, flags.place, context)
  else {
    await withView(folder, { most: lines, keepsOpen: isUnfinished(run.status) }, (view) =>
      showWhole({ ...shown, view }, flags, context),
    )
  }
  return 0
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
  readonly options: TreeOptions
}

async function showWhole(
  { folder, run, options, view }: Shown & { readonly view: RunView },
  flags: Flags<'runs'>,
  { print, paint }: RunsContext,
): Promise<void> {
  const { root, damages, open, source } = view
  const uncertain = pendingEffects(open)
  const approvals = pendingApprovals(open)
  const waiting = approvals.length === 0 ? [] : await waitingText(approvals, folder, { flags, paint })
  const parts = viewBelow(root, view)
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
    ...(isUnfinished(run.status) && isResumed(run) ? [resumeLine(run.id, paint)] : []),
  ]
  print({ run, parts, omitted, shows: viewShows(root.shows, source), uncertain, approvals, damages }, () =>
    textOf(lines()),
  )
}

/** The approvals that a run waits for, with the commands that answer them. */
async function waitingText(
  approvals: ReturnType<typeof pendingApprovals>,
  folder: string,
  { flags, paint }: { readonly flags: Flags<'runs'>; readonly paint: RunsContext['paint'] },
): Promise<readonly string[]> {
  const [{ waitingLines }, { withPlace }] = await Promise.all([
    import('../../render/approval.ts'),
    import('../with-place.ts'),
  ])
  const command = (words: string): string => `baton ${withPlace(words.replace('RUN', basename(folder)), flags)}`
  return ['', ...waitingLines(approvals, { paint, command })]
}

async function showPlace({ folder, run, options }: Shown, place: string, { print }: RunsContext): Promise<void> {
  const view = await readPlace(folder, place)
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
    return diffIterations(flags, context)
  }
  const { io, folder, print, paint, workspace } = context
  const [first = '', second = ''] = flags.run
  const folders = [findAnyRun(folder, first), findAnyRun(folder, second)] as const
  const runs = await Promise.all(folders.map((one) => readRunSummary(one)))
  const [before, after] = runs as [RunSummary, RunSummary]
  print({ kind: 'runs', before, after }, () =>
    textOf([before, after].map((run) => runHeader(run, { paint, workspace }))),
  )

  const lines = flags.all ? Number.POSITIVE_INFINITY : defaultLines.diff
  let count = 0
  await withView(folders[0], everything, (one) =>
    withView(folders[1], everything, (other) => {
      for (const difference of compareRuns(one, other)) {
        count += 1
        print(difference, () => differenceText(difference, { paint, lines }))
      }
    }),
  )
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
  const all = changedLines(before, after).split('\n')
  return [
    title,
    ...paintDiff(all.slice(0, lines), paint),
    ...restLine(all.length - lines, 'more lines', paint),
    '',
  ].join('\n')
}

/**
 * `baton runs show RUN --agent ID`: the whole conversation of an agent that got work from a model; with `--json` one
 * message per line (docs/task.md). A unique prefix of the id is enough.
 */
function showAgent(
  id: string,
  { view, run, isJson }: { readonly view: RunView; readonly run: string; readonly isJson: boolean },
  { io, paint }: Pick<RunsContext, 'io' | 'paint'>,
): void {
  const agents = agentsIn(view)
  const [found, ...others] = agents.filter((agent) => agent.id.startsWith(id))
  if (found === undefined || others.length > 0) {
    const known = agents.map((agent) => `${agent.id} (${agent.name})`).join(', ')
    throw usageError(
      `--agent ${id}: ${found === undefined ? 'no model of this run has given work to such an agent' : 'several agents match'}`,
      known === '' ? 'baton runs show RUN shows what the run has done.' : `Agents of this run: ${known}.`,
    )
  }
  for (const line of readTranscript(view, found, run)) {
    if (isJson) io.out(jsonLine(line))
    else io.out(`${paint('dim', line.ts)}\n${harmless(messageText(line.message))}\n\n`)
  }
}

/**
 * `baton runs show RUN --diff`: what the run changed in files, computed from the contents it kept, and what it changed
 * only in work trees. Secrets stay masked.
 */
export async function showFileDiffs(
  folder: string,
  flags: Flags<'runs'>,
  { print, paint, note }: RunsContext,
): Promise<number> {
  if (flags.place !== undefined) throw usageError('--place and --diff cannot be combined', 'Leave one of them out.')
  const run = basename(folder)
  const painted = (diff: string) => (): string => paintDiff(diff.split('\n'), paint).join('\n')
  const { changes, contents, leftOut } = await openChanges(folder, noMask)
  let count = 0
  for (const diff of fileDiffs(changes, contents)) {
    count += 1
    print({ run, ...diff }, painted(diff.diff))
  }
  for (const { place, reason, diff } of leftOut) {
    count += 1
    note(`not in the workspace (${reason}):\n`)
    print({ run, kind: 'left_out', place, reason, diff }, painted(diff))
  }
  const planned = count > 0 ? [] : await (await import('../../journal/planned-changes.ts')).plannedDiffs(folder)
  for (const diff of planned) {
    if (count === 0) note(`planned, not made; apply: baton apply ${run}\n`)
    count += 1
    print({ run, kind: 'planned', diff }, painted(diff))
  }
  if (count === 0) note(`run ${run} changed no files\n`)
  return 0
}

interface Side {
  readonly view: RunView
  readonly node: RunNode
  /** The git tree with its files. */
  readonly state: string | undefined
}

/**
 * `baton runs diff RUN:0 RUN:2`: compares two iterations: the files after them, if a git repository has them, then
 * prompts and answers. Exit code 1 if anything differs, like diff(1).
 */
async function diffIterations(flags: Flags<'runs'>, context: RunsContext): Promise<number> {
  const { io, print, paint, folder } = context
  const [first = '', second = ''] = flags.run
  const lines = flags.all ? Number.POSITIVE_INFINITY : defaultLines.diff
  return withIteration(first, folder, (before) =>
    withIteration(second, folder, async (after) => {
      const files = await fileDifference(before, after, context)
      if (files !== undefined) {
        print({ kind: 'files', before: before.node.place, after: after.node.place, diff: files }, () =>
          textOfDiff(files, { paint, lines }),
        )
      }
      let count = files === undefined ? 0 : 1
      for (const difference of compareParts(before, after)) {
        // commands, commits and times always differ
        if (!['prompt', 'answer', 'part'].includes(difference.kind)) continue
        count += 1
        print(difference, () => differenceText(difference, { paint, lines }))
      }
      if (count === 0 && !flags.json) io.out('no differences\n')
      return count === 0 ? 0 : 1
    }),
  )
}

async function withIteration<T>(word: string, folder: string, show: (side: Side) => Promise<T>): Promise<T> {
  const asked = iterationOf(word)
  if (asked === undefined) {
    throw usageError(`${word} is not an iteration`, 'Compare two runs (A B), or two iterations (RUN:0 RUN:2).')
  }
  const path = findAnyRun(folder, asked.run)
  return withView(path, everything, (view) => {
    const place = `iteration/${asked.iteration}`
    const node = findNode(view.root, place)
    if (node === undefined) {
      throw usageError(`run ${basename(path)} has no ${place}`, `See baton runs show ${basename(path)}.`)
    }
    return show({ view, node, state: endOf(node, view.source)?.files })
  })
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

interface ShownTeam {
  readonly view: RunView
  readonly run: string
  /** The maximum number of members or exchanges shown for one team. */
  readonly lines: number
}

/**
 * `baton runs show RUN --timeline` and `--messages`: when each agent of a team worked, and the messages between them;
 * as text, as a Mermaid diagram, or with `--json` for programs.
 * @throws BatonError USAGE if no model of the run has started an agent
 */
function showTeams({ view, run, lines }: ShownTeam, flags: Flags<'runs'>, { io, paint, width }: RunsContext): void {
  const all = readTeams(view)
  if (all.teams.length === 0) {
    throw usageError(
      `run ${run} has no team: no model in it has started an agent`,
      `--timeline and --messages show agents that a model starts with spawn_agent or task. See baton runs show ${run}.`,
    )
  }
  if (flags.json && flags.timeline) return io.out(jsonLine(timelineJson(run, all)))
  if (flags.json) {
    for (const line of all.teams.flatMap(exchangesJson)) io.out(jsonLine(line))
    return
  }
  if (flags.format === 'mermaid') return io.out(flags.timeline ? ganttText(all, run) : sequenceText(all))
  for (const [index, team] of all.teams.entries()) {
    const options = { paint, width, lines }
    const title = all.teams.length === 1 ? [] : [...(index === 0 ? [] : ['']), paint('bold', titleOf(team))]
    const show = flags.timeline ? timelineLines : sequenceLines
    io.out([...title, ...show(team, all.pauses, options)].map((line) => `${line}\n`).join(''))
  }
}

function titleOf({ members: [leader] }: Team): string {
  return harmlessName(leader?.place ?? '')
}
