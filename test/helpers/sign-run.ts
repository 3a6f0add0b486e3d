import { appendFileSync, readFileSync } from 'node:fs'
import { nodeFiles } from '../../src/journal/file-port.ts'
import { decodeLine, encodeLine } from '../../src/journal/record.ts'
import { epochsIn, segmentFile } from '../../src/journal/segment.ts'
import { createSeal, openSigningKey, sealKind } from '../../src/journal/signing.ts'

/** Signs a run that was written by hand, or by a version that did not sign, as the installation with this state folder does. */
export function signRun(folder: string, around: Parameters<typeof openSigningKey>[0]): void {
  for (const epoch of epochsIn(folder, nodeFiles)) {
    const file = segmentFile(folder, epoch)
    const bytes = readFileSync(file)
    const last = decodeLine(bytes.subarray(bytes.lastIndexOf(10, bytes.length - 2) + 1, bytes.length - 1))
    const number = (last?.n ?? 0) + 1
    const seal = createSeal(openSigningKey(around))
    seal.add(bytes)
    const mac = seal.take({ folder, epoch, number })
    appendFileSync(file, encodeLine(JSON.stringify({ e: epoch, n: number, t: 0, k: sealKind, mac })))
  }
}
