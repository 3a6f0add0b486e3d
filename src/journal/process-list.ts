import type { GroupLeader } from '../base/process-group.ts'
import { type Owner, sharesProcesses } from './owner.ts'
import { type RecordOf, recordKey } from './record.ts'
import type { RecordSource } from './source.ts'
import type { Location } from './tree.ts'

/** The leader of a process group that a writer started. */
export interface LeftoverProcess extends GroupLeader {
  /** The place of the effect that started it. */
  readonly place: string
  readonly writer: Owner
}

/** The processes of a run that may still be running, collected from its records in the order of writing. */
interface ProcessList {
  readonly write: (writer: RecordOf<'seg'>) => void
  readonly start: (record: RecordOf<'process'>, location: Location) => void
  readonly end: (record: RecordOf<'ended'>) => void
  /** A run that ends has ended everything it started. */
  readonly endAll: () => void
  readonly read: (source: RecordSource) => readonly LeftoverProcess[]
}

interface OfWriter {
  /** Those of effects without an end, by their starts. */
  readonly open: Map<number, Location[]>
  /** Processes that keep running when their effect has ended. */
  readonly staying: Location[]
}

/** Keeps locations only: a run may have started a million processes. */
export function createProcessList(): ProcessList {
  const writers = new Map<number, RecordOf<'seg'>>()
  /** By epoch. */
  const left = new Map<number, OfWriter>()

  /** A process that works on a run has first ended what older writers left running, if it could see it. */
  function begin(epoch: number): OfWriter {
    const now = writers.get(epoch)
    for (const older of left.keys()) {
      const writer = writers.get(older)
      if (older < epoch && now !== undefined && writer !== undefined && sharesProcesses(writer, now)) left.delete(older)
    }
    const begun: OfWriter = { open: new Map(), staying: [] }
    left.set(epoch, begun)
    return begun
  }

  return {
    write: (writer) => void writers.set(writer.e, writer),
    start({ e, s, stays }, location) {
      const { open, staying } = left.get(e) ?? begin(e)
      if (stays === true) return void staying.push(location)
      const key = recordKey(e, s)
      const known = open.get(key)
      if (known === undefined) open.set(key, [location])
      else known.push(location)
    },
    end: ({ e, s }) => void left.get(e)?.open.delete(recordKey(e, s)),
    endAll: () => left.clear(),
    read: (source) =>
      [...left].flatMap(([epoch, { open, staying }]) => {
        const writer = writers.get(epoch)
        if (writer === undefined) return []
        return [...staying, ...[...open.values()].flat()].map((location) => {
          const { p: place, pid, start } = source.at(location) as RecordOf<'process'>
          return { place, pid, start, writer }
        })
      }),
  }
}
