import { type Evidence, type Stop, violations } from './checker.ts'
import { type Finished, finishedIn } from './finished.ts'
import { type JournalState, readJournal } from './journal-state.ts'
import { play, type Played, type PlayOptions } from './play.ts'
import { callCount, makeWorld, type World } from './scenario.ts'
import type { WarmCommand } from '../warm-command.ts'
import type { CountingServer } from './server.ts'

/** How one start of the command is disturbed. */
export type Start = Omit<PlayOptions, 'world' | 'url' | 'warm'>

/** How the starts of one trial are disturbed, and its name. */
export interface Try {
  readonly at: string
  readonly starts: readonly Start[]
}

export interface Trial {
  /** What was wrong; empty if every promise held. */
  readonly problems: readonly string[]
  /** The number of starts that did not finish the run. */
  readonly stops: number
}

export interface Reference extends Finished {
  /** The number of its operations on the journal. */
  readonly operations: number
}

interface Uninterrupted {
  readonly world?: World
  readonly calls?: number
  /** Given if the number of operations does not matter: these processes do not count them. */
  readonly warm?: readonly WarmCommand[]
}

/** An undisturbed run, to which all others are compared. `calls`: how many it makes. */
export async function uninterrupted(
  server: CountingServer,
  { world = makeWorld(), calls = callCount, warm = [] }: Uninterrupted = {},
): Promise<Reference> {
  const account = server.account()
  const how = warm.length > 0 ? { warm } : { disturb: {} }
  const played = await play(['run', 'ask.md', '--json'], { world, url: account.url, ...how })
  const finished = finishedIn(world, played)
  const keys = new Set(account.calls.map(({ key }) => key))
  if (finished.code !== 0 || keys.size !== calls || account.calls.length !== calls) {
    throw new Error(
      `the scenario itself fails: exit ${finished.code}, ${account.calls.length} calls\n${finished.stderr}`,
    )
  }
  return { ...finished, operations: played.operations.length }
}

export interface TrialContext {
  readonly server: CountingServer
  readonly reference: Finished
  /** Processes for undisturbed starts. */
  readonly warm?: readonly WarmCommand[]
  /** What is wrong with the files left by a start that ended on its own. */
  readonly inspect?: (finished: Finished) => readonly string[]
}

/**
 * Runs the scenario and resumes it until it ends; each start is disturbed as in `starts`, the later ones are not. Then
 * checks every promise.
 */
export async function tryWith(
  starts: readonly Start[],
  { server, reference, warm = [], inspect = () => [] }: TrialContext,
  world: World = makeWorld(),
): Promise<Trial> {
  const account = server.account()
  const stops: Stop[] = []
  const problems: string[] = []
  let count = 0
  for (const start of [...starts, undefined]) {
    const played = await startOver(world, { world, url: account.url, warm, ...start })
    const finished = finishedIn(world, played)
    const journal = await readJournal(world)
    if (finished.code !== null) problems.push(...inspect(finished))
    if (finished.code === 0 && finished.last?.type === 'run.completed' && journal !== undefined) {
      const evidence: Evidence = { reference, stops, finished, journal, calls: account.calls, concurrency: 4 }
      return { problems: [...problems, ...violations(evidence)], stops: count }
    }
    count += 1
    if (start === undefined) problems.push(`I5: ends with exit ${played.code}: ${played.stderr}`)
    else problems.push(...refusalProblems(finished))
    // a run that was stopped before it recorded anything is started again, as a new run
    if (isBegun(journal)) stops.push({ journal, written: played.sizes })
    else if (account.calls.length > 0) problems.push('I1: calls were made by a run that cannot be resumed')
  }
  return { problems, stops: count }
}

export interface StartOverOptions extends PlayOptions {
  /** Arguments of `baton resume`. */
  readonly more?: readonly string[]
}

/** The first start, or a resume; if it asks about the command, the answer follows from what the command has left. */
export async function startOver(world: World, { more = [], ...options }: StartOverOptions): Promise<Played> {
  const before = await readJournal(world)
  if (!isBegun(before)) return play(['run', 'ask.md', '--json'], options)
  const resume = ['resume', before.run, '--json', ...more]
  const played = await play(resume, options)
  // for files, the disk shows what has happened: nothing needs to be asked
  const id = played.code === 5 ? /(\d+\.\d+) +command\(/.exec(played.stderr)?.[1] : undefined
  if (id === undefined) return played
  const { commandRuns } = finishedIn(world, played)
  return play([...resume, '--uncertain', `${id}=${commandRuns === 0 ? 'redo' : 'done'}`], options)
}

/** A run that was stopped before it recorded anything is started again: nothing was paid. */
export function isBegun(journal: JournalState | undefined): journal is JournalState {
  return journal?.records.some(({ k }) => k === 'run.start') === true
}

/** I7 a run that ends without being killed reports why and what to do. */
export function refusalProblems({ code, last, stderr }: Finished): readonly string[] {
  // there may be nobody left to read its output
  if (code === null || code === 0 || code >= 128) return []
  const { message, hint } = last?.error ?? {}
  // a run that is refused before it starts has no events
  const isSaid = last === undefined ? /^error: .+\nhint: ./m.test(stderr) : message !== undefined && hint !== undefined
  return isSaid ? [] : [`I7: exit ${code} without a reason or a hint: ${stderr}`]
}
