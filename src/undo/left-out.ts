import { isObject } from '../base/json.ts'
import type { SecretMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'

/** What work in a work tree has changed and the workspace did not get. */
export interface LeftOutTree {
  /** Where in the run the work was done, as text. */
  readonly place: string
  readonly reason: string
  /** As `git apply` takes it, with paths from the workspace. */
  readonly diff: string
}

/** What a run has changed in work trees alone, by place. */
export async function readLeftOut(folder: string, mask: SecretMask): Promise<readonly LeftOutTree[]> {
  const source = openFileRecords(folder, { mask })
  const found = new Map<string, LeftOutTree>()
  try {
    await source.scan((record) => {
      if (record.k !== 'show') return
      const event = source.value(record.event)
      if (!isObject(event)) return
      // a resumed run may have brought over later what was left out before
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
