import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { violations } from '../../helpers/durable/checker.ts'
import { finishedIn } from '../../helpers/durable/finished.ts'
import { type JournalState, readJournal } from '../../helpers/durable/journal-state.ts'
import { play, type Played, type PlayOptions } from '../../helpers/durable/play.ts'
import { makeWorld } from '../../helpers/durable/scenario.ts'
import { isBegun, refusalProblems, startOver, type TrialContext } from '../../helpers/durable/trial.ts'
import { atOnce, type Fault, type Point } from './fault.ts'

/** How far a process on another machine has come when it is stopped: a part of its output. */
const moments = ['"stage":"pre"', '"type":"item.started"', '"type":"file.changed"', 'task/9/ask', '"stage":"post"']

/** Longer than a lease, in seconds. */
const pastLease = 31

/**
 * A run on another machine is stopped for longer than its lease, taken over, and wakes up: it does nothing more. The
 * test does not wait that long: it makes the files older.
 */
export const leases: Fault = {
  id: 'F11',
  name: 'a process on another machine is stopped, taken over once its lease has ended, and wakes up',
  points: (context) =>
    atOnce(
      moments.flatMap((moment) => [1, 2, 3].map((count) => ({ moment, count }))),
      context,
      ({ moment, count }) => tryLease({ moment, count }, context),
    ),
}

/** `count`: the moment is when the text has appeared in the output this many times. */
export async function tryLease(
  { moment, count }: { readonly moment: string; readonly count: number },
  { server, reference, warm = [] }: TrialContext,
): Promise<Point> {
  const at = `${moment} ${count}`
  const world = makeWorld()
  const account = server.account()
  const options: PlayOptions = { world, url: account.url, warm }
  let wakeUp: (() => void) | undefined
  const { owner, wake } = await new Promise<{ owner: Promise<Played>; wake: (() => void) | undefined }>((resolve) => {
    const running = play(['run', 'ask.md', '--json'], {
      ...options,
      disturb: { machine: 'another-machine' },
      onOutput(stdout, { kill, isStopped }) {
        if (wakeUp !== undefined || stdout.split(moment).length <= count) return
        kill('SIGSTOP')
        wakeUp = () => kill('SIGCONT')
        // the signal takes a moment, in which the process goes on
        void hasStopped(isStopped).then((has) => resolve({ owner: running, wake: has ? wakeUp : undefined }))
      },
    })
    void running.then(() => resolve({ owner: running, wake: wakeUp }))
  })
  const before = await readJournal(world)
  if (wake === undefined || !isBegun(before)) {
    wake?.()
    await owner
    return { at, problems: [], isHit: false }
  }
  const problems: string[] = []
  try {
    const early = await play(['resume', before.run, '--json'], options)
    if (early.code !== 2 || !early.stderr.includes('another machine')) {
      problems.push(`I7: taken over while it is alive: exit ${early.code}: ${early.stderr}`)
    }
    age(before.folder)
    const resumed = await startOver(world, options)
    const files = finishedIn(world, resumed).files
    const asked = account.calls.length
    wake()
    const woken = finishedIn(world, await owner)
    problems.push(...refusalProblems(woken))
    const finished = finishedIn(world, resumed)
    if (JSON.stringify(files) !== JSON.stringify(finished.files)) problems.push('I5: files changed after the take-over')
    const journal = await readJournal(world)
    if (journal === undefined) return { at, problems: [...problems, 'I1: the journal is gone'], isHit: true }
    // only effects that had begun may still send their request; nobody else is left who makes one
    if (account.calls.length - asked > openEffects(before)) {
      problems.push('I5: an effect has begun after the take-over')
    }
    const evidence = { reference, stops: [], journal, finished, calls: account.calls, concurrency: 4 }
    // answers that were in flight still arrive and are recorded by the process that requested them
    const seen = violations(evidence).filter((problem) => !/^I[346]/.test(problem))
    const most = new Map<string, number>()
    for (const { key } of account.calls) most.set(key, (most.get(key) ?? 0) + 1)
    const thrice = [...most.values()].filter((times) => times > 2)
    if (thrice.length > 0) problems.push(`I4: ${thrice.length} calls were made more than twice`)
    return { at, problems: [...problems, ...seen], isHit: true }
  } finally {
    wake()
    await owner
  }
}

/** How many effects of the first process have begun and not ended. */
function openEffects({ records }: JournalState): number {
  const count = (kind: string): number => records.filter(({ e, k }) => e === 1 && k === kind).length
  return count('started') - count('ended')
}

/** False: it has ended before. */
async function hasStopped(isStopped: () => boolean | undefined): Promise<boolean> {
  for (;;) {
    const is = isStopped()
    if (is !== false) return is === true
    await setTimeout(5)
  }
}

function age(folder: string): void {
  const then = Date.now() / 1000 - pastLease
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), then, then)
}
