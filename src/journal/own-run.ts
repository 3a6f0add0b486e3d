import { basename } from 'node:path'
import { BatonError, hasSystemCode } from '../base/error.ts'
import { closeOwnFolder } from '../base/own-folder.ts'
import { attempt } from './attempt.ts'
import { type FilePort, nodeFiles } from './file-port.ts'
import { startAmong, startIn } from './glance.ts'
import { wholeLines } from './lines.ts'
import { decodeLine } from './record.ts'
import { segmentFile } from './segment.ts'
import { createSegmentReader, notSigned } from './segment-reader.ts'
import { createSeal, isSameSignature, presentSigningKey, sealKind, type SigningKey } from './signing.ts'
import { readSigned } from './source.ts'

/**
 * Whether this installation has recorded a run, as far as it has recorded how it was started: a start that is damaged
 * counts as its own, and one that is missing, for a process that was killed at once has left nothing that could be believed.
 * Of most runs only the first lines are read, at once, so that thousands can be listed.
 */
export async function isOwnRun(folder: string, key: SigningKey, files: FilePort = nodeFiles): Promise<boolean> {
  const file = segmentFile(folder, 1)
  const text = beginningOf(file, files)
  if (text === undefined || isSignedWhole(folder, key, text)) return true
  const lines = wholeLines(text)
  let [first] = createSegmentReader(folder, 1, createSeal(key)).take(lines)
  // signed further below, or not at all
  if (first === undefined) for await (const batch of readSigned(folder, key, files)) if ((first = batch[0])) break
  const { reading } = first ?? {}
  if (reading !== undefined && (reading.type !== 'corrupt' || reading.reason !== notSigned)) return true
  return (startAmong(lines) ?? (await startIn(file, files))) === undefined
}

/**
 * What tells whether somebody else has recorded the run in a folder. Where the key of this installation cannot be read, no run
 * counts as one of others.
 */
export function foreignCheck(around: Parameters<typeof presentSigningKey>[0]): (folder: string) => Promise<boolean> {
  const key = attempt(() => presentSigningKey(around))
  return async (folder) => key.status === 'ok' && !(await isOwnRun(folder, key.value))
}

/** Of most runs as far as the first signature. */
const startBytes = 8 * 1024

/** The beginning of a file; undefined when there is no such file. */
function beginningOf(file: string, files: FilePort): Buffer | undefined {
  let descriptor: number
  try {
    descriptor = files.openToRead(file)
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return undefined
    throw error
  }
  try {
    const target = Buffer.allocUnsafe(startBytes)
    return target.subarray(0, files.readNow(descriptor, target, 0))
  } finally {
    files.close(descriptor)
  }
}

const sealMark = Buffer.from(`"k":"${sealKind}"`)

/** Whether all up to the first signature is as it says: then it needs no closer look. */
function isSignedWhole(folder: string, key: SigningKey, text: Buffer): boolean {
  const mark = text.indexOf(sealMark)
  const start = text.lastIndexOf(10, mark) + 1
  const end = text.indexOf(10, mark)
  const record = mark === -1 || end === -1 ? undefined : decodeLine(text.subarray(start, end))
  if (record?.k !== sealKind) return false
  const seal = createSeal(key)
  seal.add(text.subarray(0, start))
  return isSameSignature(seal.take({ folder, epoch: 1, number: record.n }), record['mac'])
}

const ownRun = { what: 'the folder of the run', hint: 'Run the file again.' }

/**
 * Refuses a run that somebody else has recorded: what it holds would be carried out. The folder of
 * one's own is closed to others. `what`: what is not done with it.
 * @throws BatonError UNTRUSTED
 */
export async function refuseForeign(folder: string, key: SigningKey, what: string): Promise<void> {
  if (await isOwnRun(folder, key)) return closeOwnFolder(folder, ownRun)
  throw new BatonError(
    'UNTRUSTED',
    `run ${basename(folder)} was not recorded by this installation: it is not ${what}`,
    {
      hint: 'Somebody else or an earlier version has recorded it, or the key of this installation was lost since. Look at it with baton runs show, and run the file again.',
    },
  )
}
