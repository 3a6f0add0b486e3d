import { startCountingServer } from '../../helpers/durable/server.ts'
import { uninterrupted } from '../../helpers/durable/trial.ts'
import { jumpingClock } from './clock.ts'
import { contenders, resumedAlive } from './contenders.ts'
import { damagedJournal, resumedDamage } from './damage.ts'
import { failingDisk, fullDisk } from './disk.ts'
import type { Fault, Point } from './fault.ts'
import { everyFilePoint, everyPoint, pairs } from './kills.ts'
import { approvals, conversations, suspendedRun } from './seams.ts'
import { leases } from './leases.ts'
import { iterations } from './iterations.ts'
import { killedRollback, rolledBack } from './rollbacks.ts'
import { manyUndone } from './many-undone.ts'
import { killedMerge, killedUndo, killedUndoRecord } from './undos.ts'
import { randomKills, stopSignals } from './signals.ts'
import { systemCalls } from './strace.ts'
import { programLoop, toolLoop } from './tool-loop.ts'
import { createRandom } from '../../helpers/random.ts'

const faults: readonly Fault[] = [
  everyPoint,
  everyFilePoint,
  systemCalls,
  pairs,
  randomKills,
  failingDisk,
  fullDisk,
  damagedJournal,
  resumedDamage,
  jumpingClock,
  contenders,
  resumedAlive,
  stopSignals,
  suspendedRun,
  approvals,
  conversations,
  toolLoop,
  programLoop,
  leases,
  rolledBack,
  killedRollback,
  killedUndo,
  killedUndoRecord,
  killedMerge,
  iterations,
  manyUndone,
]

export interface SoakOptions {
  /** Only faults whose id and name contain this text. */
  readonly only: string
  readonly seed: number
  /** Only every n-th point of a fault is tried. */
  readonly every: number
  readonly write: (text: string) => void
}

/** Tries every fault at every point and writes a table; returns the number of promises that did not hold. */
export async function soak({ only, seed, every, write }: SoakOptions): Promise<number> {
  const server = await startCountingServer()
  const stop = new AbortController()
  let broken = 0
  try {
    const reference = await uninterrupted(server)
    const random = createRandom(seed)
    write(
      `seed ${seed}, each ${every === 1 ? '' : `${every}th `}point, ${reference.operations} operations on the journal\n`,
    )
    write(row('fault', 'points', 'hit', 'violations', 'seconds', ''))
    for (const fault of faults.filter(({ id, name }) => `${id} ${name}`.includes(only))) {
      const start = Date.now()
      const onPoint = (point: Point): void => write(point.problems.length > 0 ? describe(point) : '')
      const { operations } = reference
      const context = { server, reference, operations, random, signal: stop.signal, every, onPoint }
      const points = await fault.points(context)
      const bad = points.filter(({ problems }) => problems.length > 0).length
      broken += bad
      const hit = points.filter(({ isHit }) => isHit).length
      write(row(fault.id, points.length, hit, bad, Math.round((Date.now() - start) / 1000), fault.name))
    }
  } finally {
    await server.close()
  }
  return broken
}

function row(...cells: readonly (string | number)[]): string {
  const widths = [7, 8, 8, 12, 9]
  return `${cells.map((cell, index) => String(cell).padEnd(widths[index] ?? 0)).join('')}\n`
}

function describe({ at, problems }: Point): string {
  return `  ${at}\n${problems.map((problem) => `    ${problem}\n`).join('')}`
}
