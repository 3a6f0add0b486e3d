import { isObject } from '../base/json.ts'
import type { SecretMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'

/** Changes made in a work tree that were not applied to the workspace. */
export interface LeftOutTree {
  /** The place in the run where the work was done, as text. */
  readonly place: string
  readonly reason: string
  /** In the format of `git apply`, with paths relative to the workspace. */
  readonly diff: string
}

/** The changes of a run that exist only in work trees, one entry per place. */
export async function readLeftOut(folder: string, mask: SecretMask): Promise<readonly LeftOutTree[]> {
  const source = openFileRecords(folder, { mask })
  const found = new Map<string, LeftOutTree>()
  try {
    await source.scan((record) => {
      if (record.k !== 'show') return
      const event = source.value(record.event)
      if (!isObject(event)) return
      // a resumed run may have applied later what was left out before
      if (event['type'] === 'isolation.applied') found.delete(record.p)
      if (event['type'] !== 'isolation.left_out') return
      const { reason, diff } = event
      if (typeof reason === 'string' && typeof diff === 'string') found.set(record.p, { place: record.p, reason, diff })
    })
  } finally {
    source.close()
  }
  return [...found.values()]
}
