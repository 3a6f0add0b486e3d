import type { JournalRecord } from '../../src/journal/record.ts'
import { sessionWorld, type SessionWorld, type SessionWorldOptions } from './session-world.ts'

class Killed extends Error {}

export interface Mortal extends Omit<SessionWorldOptions, 'signal' | 'before' | 'onRecord'> {
  /** Records of all processes so far; this one adds its own. */
  readonly records: JournalRecord[]
  /** The number of records that it writes; it dies at the next one. */
  readonly lives: number
}

/**
 * One process of a run, which starts or is resumed from the records; returns the result of its work, or undefined if it
 * died.
 */
export async function liveOnce<T>(
  { records, lives, ...options }: Mortal,
  work: (world: SessionWorld) => Promise<T>,
): Promise<T | undefined> {
  let left = lives
  const stop = new AbortController()
  const world = await sessionWorld({
    ...options,
    signal: stop.signal,
    ...(records.length === 0 ? {} : { before: [...records] }),
    onRecord(record) {
      if (left === 0) {
        stop.abort(new Killed())
        throw new Killed()
      }
      left -= 1
      records.push(record)
    },
  })
  try {
    return await work(world)
  } catch (error) {
    if (error instanceof Killed) return undefined
    throw error
  }
}
