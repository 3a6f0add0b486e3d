import { readFileSync, writeFileSync } from 'node:fs'
import { nodeFiles } from '../../src/journal/file-port.ts'
import { decodeLine, encodeLine } from '../../src/journal/record.ts'
import { epochsIn, segmentFile } from '../../src/journal/segment.ts'
import { createSeal, sealKind, type SigningKey } from '../../src/journal/signing.ts'

/** Signs a run that was written manually, renamed, or recorded by a version that did not sign. */
export function signRun(folder: string, key: SigningKey): void {
  for (const epoch of epochsIn(folder, nodeFiles)) {
    const file = segmentFile(folder, epoch)
    const seal = createSeal(key)
    // its length is known to the file of the next epoch
    const sealLine = ({ n: number, t }: { readonly n: number; readonly t: number }): string => {
      const mac = seal.take({ folder, epoch, number })
      return encodeLine(JSON.stringify({ e: epoch, n: number, t, k: sealKind, mac }))
    }
    let last = { k: '', n: 0, t: 0 }
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    const signed = lines.map((line) => {
      last = decodeLine(Buffer.from(line)) ?? last
      if (last.k === sealKind) return sealLine(last)
      seal.add(`${line}\n`)
      return `${line}\n`
    })
    if (last.k !== sealKind) signed.push(sealLine({ n: last.n + 1, t: 0 }))
    writeFileSync(file, signed.join(''))
  }
}
