import type { Line } from './lines.ts'
import type { Damage } from './run-index.ts'

export interface DamageLog {
  /**
   * Takes the lines of a file in order, each with the epoch and number of its record, undefined for one that is not as
   * it was written. `damage` is what lies before a good line.
   */
  next(
    line: Line,
    record: { readonly e: number; readonly n: number } | undefined,
  ): { readonly isGood: boolean; readonly damage?: Damage }
}

/**
 * Tells torn ends from damage (spec/engines.md D2 rule 6): a damaged end of a file was never acknowledged and is
 * dropped; damage with good records behind it is reported.
 */
export function createDamageLog(file: string, epoch: number): DamageLog {
  let expected = 0
  let damage: Damage | undefined

  return {
    next({ offset, size }, record) {
      if (record === undefined || record.e !== epoch || record.n < expected) {
        const begin = damage ?? { file, offset, bytes: 0, reason: 'not as it was written' }
        damage = { ...begin, bytes: offset + size - begin.offset }
        return { isGood: false }
      }
      if (damage === undefined && record.n > expected) {
        damage = { file, offset, bytes: 0, reason: `records ${expected} to ${record.n - 1} are missing` }
      }
      const found = damage
      damage = undefined
      expected = record.n + 1
      return { isGood: true, ...(found && { damage: found }) }
    },
  }
}
