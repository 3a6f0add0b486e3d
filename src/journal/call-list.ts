import type { Location } from './place-tree.ts'
import type { JournalRecord } from './record.ts'
import type { RecordSource } from './run-index.ts'

type Started = Extract<JournalRecord, { readonly k: 'started' }>
type Ended = Extract<JournalRecord, { readonly k: 'ended' }>

/** A model call. Without `ended` the process that made it is gone; without `started` that record was damaged. */
export interface RecordedCall {
  readonly started: () => Started | undefined
  readonly ended?: Ended
}

/**
 * All model calls of a run, whatever became of the places they were made at: what they did cost stays spent when a
 * boundary begins again (spec/engines.md I6). Heads are those of `started` and `ended` records of any kind.
 */
export interface CallList {
  start(head: { readonly e: number; readonly n: number; readonly rest: string }, location: Location): void
  end(head: { readonly e: number; readonly rest: string }, location: Location): void
  /** Those that have ended, in the order of their ends, then the others; read one by one. */
  read(source: RecordSource): Iterable<RecordedCall>
}

/** More numbers than an epoch has. */
const numberSpan = 2 ** 40

export function createCallList(): CallList {
  /** Epoch and number of calls that have no end. */
  const open = new Map<number, Location>()
  /** Of each ended call two numbers: its end, and its start or 0. */
  const ended: Location[] = []

  return {
    start({ e, n, rest }, location) {
      if (rest.startsWith(',"kind":"model"')) open.set(e * numberSpan + n, location)
    },
    end({ e, rest }, location) {
      const [, s] = /^,"s":(\d+),"kind":"model"/.exec(rest) ?? []
      if (s === undefined) return
      const key = e * numberSpan + Number(s)
      ended.push(location, open.get(key) ?? 0)
      open.delete(key)
    },
    *read(source) {
      for (let index = 0; index < ended.length; index += 2) {
        const [end = 0, start = 0] = ended.slice(index, index + 2)
        const started = (): Started | undefined => (start === 0 ? undefined : (source.at(start) as Started))
        yield { ended: source.at(end) as Ended, started }
      }
      for (const start of open.values()) yield { started: () => source.at(start) as Started }
    },
  }
}
