import type { Line } from './lines.ts'
import { assertReadable, decodeLine, isKnownRecord, type JournalRecord, type UnknownRecord } from './record.ts'
import { segmentFile } from './segment.ts'
import { isSameSignature, type Seal, sealKind } from './signing.ts'

/** A damaged part followed by good records. */
export interface Damage {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  readonly reason: string
}

/** The results of reading a journal, in the order of writing. */
export type Reading =
  | { readonly type: 'record'; readonly record: JournalRecord }
  | { readonly type: 'unknown'; readonly record: UnknownRecord }
  /** A damaged part followed by good records. `offset` and `bytes` give its position in the file. */
  | ({ readonly type: 'corrupt' } & Damage)

export interface Located {
  readonly reading: Reading
  readonly offset: number
}

export const notSigned = 'not signed by this installation'

/** Turns the lines of one epoch's file, passed in order, into readings. */
export interface SegmentReader {
  /** The readings from the next lines; with a seal, only those covered by a signature so far. */
  take(lines: readonly Line[]): readonly Located[]
  /** The damage at the end of a file that had this many bytes of complete lines when the next epoch started. */
  torn(bytesThen: number | undefined): Located | undefined
}

/**
 * With `seal`, lines are read once the next signature covers them; lines after the last signature were lost with
 * theirs.
 */
export function createSegmentReader(folder: string, epoch: number, seal: Seal | undefined): SegmentReader {
  const file = segmentFile(folder, epoch)
  let unsigned: Located[] = []
  let signedEnd = 0
  let end = 0
  let expected = 0
  let damage: Damage | undefined

  function sealed(number: number, { mac, end: sealEnd }: { readonly mac: unknown; readonly end: number }): Located[] {
    const isOwn = isSameSignature(seal?.take({ folder, epoch, number }) ?? '', mac)
    const known = damage ?? unsigned.map(({ reading }) => reading).find(({ type }) => type === 'corrupt')
    const reason = known !== undefined && 'reason' in known ? known.reason : notSigned
    const lost: Damage = { file, offset: signedEnd, bytes: sealEnd - signedEnd, reason }
    const signed: Located[] = isOwn ? unsigned : [{ reading: { type: 'corrupt', ...lost }, offset: signedEnd }]
    unsigned = []
    signedEnd = sealEnd
    return signed
  }

  return {
    take(lines) {
      const signed: Located[] = []
      for (const { bytes, offset, size } of lines) {
        const batch = seal === undefined ? signed : unsigned
        const record = decodeLine(bytes)
        if (seal !== undefined && record?.k === sealKind) {
          signed.push(...sealed(record.n, { mac: (record as UnknownRecord)['mac'], end: offset + size }))
        } else seal?.add(bytes, '\n')
        if (record === undefined || record.e !== epoch || record.n < expected) {
          damage ??= { file, offset, bytes: 0, reason: 'corrupt' }
          damage = { ...damage, bytes: offset + size - damage.offset }
          continue
        }
        if (damage === undefined && record.n > expected) {
          damage = { file, offset, bytes: 0, reason: `records ${expected} to ${record.n - 1} are missing` }
        }
        if (damage !== undefined) batch.push({ reading: { type: 'corrupt', ...damage }, offset })
        damage = undefined
        expected = record.n + 1
        end = offset + size
        if (!isKnownRecord(record)) {
          if (seal === undefined || record.k !== sealKind) batch.push({ reading: { type: 'unknown', record }, offset })
          continue
        }
        if (record.k === 'seg') assertReadable(record, file)
        batch.push({ reading: { type: 'record', record }, offset })
      }
      return signed
    },
    torn(then) {
      // a bad end was torn off, unless the next writer saw it intact; a missing line feed is not a loss
      if (then === undefined || then <= end + 1) return undefined
      const reason = damage?.reason ?? 'missing'
      return { reading: { type: 'corrupt', file, offset: end, bytes: then - end, reason }, offset: end }
    },
  }
}
