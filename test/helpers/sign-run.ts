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
    const sealLine = (number: number): string => {
      const mac = seal.take({ folder, epoch, number })
      return encodeLine(JSON.stringify({ e: epoch, n: number, t: 0, k: sealKind, mac }))
    }
    let last = { k: '', n: 0 }
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    const signed = lines.map((line) => {
      last = decodeLine(Buffer.from(line)) ?? last
      if (last.k === sealKind) return sealLine(last.n)
      seal.add(`${line}\n`)
      return `${line}\n`
    })
    if (last.k !== sealKind) signed.push(sealLine(last.n + 1))
    writeFileSync(file, signed.join(''))
  }
}
