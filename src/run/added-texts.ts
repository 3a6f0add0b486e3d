import { resolve } from 'node:path'
import type { Effects, FileChangeRecord } from '../event/effects.ts'
import { statusAt } from '../watch/status.ts'
import { aroundChanges } from './around-changes.ts'

/** What the runs of a watch session have added to the ends of files. */
export interface AddedTexts {
  /** The same effects, with what they add noted. Paths in records are relative to the workspace. */
  readonly around: (effects: Effects, workspace: string) => Effects
  /** Whether all that a file (absolute) holds behind its first `size` bytes was added by runs of the session. */
  readonly isAllBehind: (path: string, size: number) => boolean
}

/** The end of a file that was added without a gap, in bytes. */
interface Added {
  readonly from: number
  readonly to: number
}

export function createAddedTexts(): AddedTexts {
  const texts = new Map<string, Added>()

  function note(record: FileChangeRecord, path: string): void {
    const { op, offset, bytes } = record
    if (op !== 'append' || typeof offset !== 'number' || typeof bytes !== 'number') return void texts.delete(path)
    const before = texts.get(path)
    // another size than after the last one: somebody else has written
    texts.set(path, { from: before?.to === offset ? before.from : offset, to: offset + bytes })
  }

  return {
    around: (effects, workspace) =>
      aroundChanges(effects, ({ record, act }) => ({
        record,
        act(disk) {
          act(disk)
          note(record, resolve(workspace, record.path))
        },
      })),
    isAllBehind(path, size) {
      const added = texts.get(path)
      return added !== undefined && added.from <= size && BigInt(added.to) === statusAt(path)?.size
    },
  }
}
