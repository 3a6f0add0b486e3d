import { mapLimit } from '../../../src/base/concurrency.ts'
import { type Trial, type TrialContext, type Try, tryWith } from '../../helpers/durable/trial.ts'

/** One row of the table of faults in docs/durability.md. */
export interface Fault {
  /** `F1` … `F13`. */
  readonly id: string
  readonly name: string
  /** Tries it at every point; returns what was wrong at each. */
  readonly points: (context: SoakContext) => Promise<readonly Point[]>
}

/** The outcome of a fault at one point. */
export interface Point {
  readonly at: string
  readonly problems: readonly string[]
  /** False if the run completed anyway: the point is past its end. */
  readonly isHit: boolean
}

export interface SoakContext extends TrialContext {
  /** How many operations on the journal an undisturbed run takes. */
  readonly operations: number
  /** Returns numbers from 0 to below 1, the same ones for the same seed. */
  readonly random: () => number
  readonly signal: AbortSignal
  /** Only every n-th point is tried; 1: all. */
  readonly every: number
  /** Called for each point. */
  readonly onPoint: (point: Point) => void
}

/** Two at a time: the machine has two cores, and they often wait for the disk. */
export function atOnce<T>(
  items: readonly T[],
  { signal, onPoint, every }: SoakContext,
  work: (item: T) => Promise<Point>,
): Promise<readonly Point[]> {
  const tried = items.filter((_, index) => index % every === 0)
  return mapLimit(tried, { limit: 2, signal }, async (item) => {
    const point = await work(item)
    onPoint(point)
    return point
  })
}

/** Runs the scenario once for each try, and checks every promise. */
export function trials(tries: readonly Try[], context: SoakContext): Promise<readonly Point[]> {
  return atOnce(tries, context, async ({ at, starts }) => pointOf(at, await tryWith(starts, context)))
}

function pointOf(at: string, { problems, stops }: Trial): Point {
  return { at, problems, isHit: stops > 0 }
}

export function numbersTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}
