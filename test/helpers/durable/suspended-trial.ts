import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Evidence, type Stop, violations } from './checker.ts'
import { type Finished, finishedIn } from './finished.ts'
import { readJournal } from './journal-state.ts'
import type { Disturbance } from './play.ts'
import { makeWorld, type World } from './scenario.ts'
import { isBegun, refusalProblems, startOver, type Trial, type TrialContext } from './trial.ts'

/** A run that is suspended, and how its starts are disturbed before and after the pending calls are approved. */
export interface SuspendedTry {
  readonly at: string
  readonly before: readonly Disturbance[]
  readonly after: readonly Disturbance[]
}

export interface SuspendedTrial extends Trial {
  /** Operations on the journal during the last start of each phase. */
  readonly operations: { readonly before: number; readonly after: number }
}

const script = 'suspending.mjs'

/**
 * Starts the scenario with most of its model calls suspended, kills it and resumes it until it is suspended; then
 * approves the calls and resumes it until it ends. Checks every promise: a suspended call was neither paid nor in
 * flight.
 */
export async function trySuspended(
  { before, after }: SuspendedTry,
  { server, reference }: TrialContext,
): Promise<SuspendedTrial> {
  const world = makeWorld()
  const account = server.account()
  const stops: Stop[] = []
  const problems: string[] = []
  const operations = { before: 0, after: 0 }
  let count = 0

  async function start(phase: 'before' | 'after', disturb: Disturbance | undefined): Promise<Finished> {
    const played = await startOver(world, { world, url: account.url, script, ...(disturb && { disturb }) })
    operations[phase] = played.operations.length
    const finished = finishedIn(world, played)
    problems.push(...refusalProblems(finished))
    const journal = await readJournal(world)
    if (finished.code !== 0 && isBegun(journal)) stops.push({ journal, written: played.sizes })
    return finished
  }

  for (const disturb of [...before, undefined]) {
    const { code, last, stderr } = await start('before', disturb)
    if (code === null) count += 1
    else if (code !== 5 || last?.stop_reason !== 'suspended')
      problems.push(`I5: not suspended, exit ${code}: ${stderr}`)
  }
  const waiting = account.calls.length
  approve(world)
  for (const disturb of [...after, undefined]) {
    const finished = await start('after', disturb)
    const journal = await readJournal(world)
    if (finished.code === 0 && journal !== undefined) {
      const evidence: Evidence = { reference, stops, finished, journal, calls: account.calls, concurrency: 4 }
      if (waiting >= account.calls.length) problems.push('I5: nothing was left to be approved')
      return { problems: [...problems, ...violations(evidence)], stops: count, operations }
    }
    if (finished.code === null) count += 1
    else problems.push(`I5: ends with exit ${finished.code}: ${finished.stderr}`)
  }
  return { problems: [...problems, 'I5: it did not end'], stops: count, operations }
}

function approve({ outside }: World): void {
  const file = join(outside, 'approved')
  if (existsSync(file)) throw new Error(`${file} is there already`)
  writeFileSync(file, '')
}
