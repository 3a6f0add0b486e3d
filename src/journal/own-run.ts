import { basename } from 'node:path'
import { BatonError, hasSystemCode } from '../base/error.ts'
import { makeFolderPrivate } from '../base/private-folder.ts'
import { capture } from './work-result.ts'
import { recordUnreadable } from './failure.ts'
import { hasBegun } from './has-begun.ts'
import { type FilePort, nodeFiles } from './file-port.ts'
import { startInLines, readStart } from './run-state.ts'
import { readLineBatches, wholeLines } from './lines.ts'
import { decodeLine } from './record.ts'
import { segmentFile } from './segment.ts'
import { createSegmentReader, notSigned } from './segment-reader.ts'
import { createSeal, isSameSignature, presentSigningKey, sealKind, type SigningKey } from './signing.ts'
import { readSigned } from './source.ts'

/**
 * Whether this installation recorded a run, as far as the run's start is recorded. A damaged start counts as its own,
 * and so does a run that has not begun: a process that was killed immediately left nothing that would have to be trusted.
 * For most
 * runs only the first lines are read, in one go, so that thousands can be listed.
 */
export async function isOwnRun(folder: string, key: SigningKey, files: FilePort = nodeFiles): Promise<boolean> {
  const file = segmentFile(folder, 1)
  const text = beginningOf(file, files)
  if (text === undefined || isSignedWhole(folder, key, text)) return true
  const lines = wholeLines(text)
  let [first] = createSegmentReader(folder, 1, createSeal(key)).take(lines)
  // signed further below, or not at all
  if (first === undefined && (await hasSeal(file, files)))
    for await (const batch of readSigned(folder, key, files)) if ((first = batch[0])) break
  const { reading } = first ?? {}
  if (reading !== undefined && (reading.type !== 'corrupt' || reading.reason !== notSigned)) return true
  if ((startInLines(lines) ?? (await readStart(file, files))) === undefined) return true
  return !text.includes(sealMark) && !(await hasBegun(folder, files))
}

/**
 * Returns a check whether someone else recorded the run in a folder. If the key of this installation cannot be read, no
 * run counts as foreign.
 */
export function foreignCheck(around: Parameters<typeof presentSigningKey>[0]): (folder: string) => Promise<boolean> {
  const key = capture(() => presentSigningKey(around))
  return async (folder) => key.status === 'ok' && !(await isOwnRun(folder, key.value))
}

/** Enough to reach the first signature of most runs. */
const startBytes = 8 * 1024

/** The beginning of a file; undefined if the file does not exist. */
function beginningOf(file: string, files: FilePort): Buffer | undefined {
  let descriptor: number
  try {
    descriptor = files.openToRead(file)
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return undefined
    throw recordUnreadable(file, error)
  }
  try {
    const target = Buffer.allocUnsafe(startBytes)
    return target.subarray(0, files.readNow(descriptor, target, 0))
  } catch (error) {
    throw recordUnreadable(file, error)
  } finally {
    files.close(descriptor)
  }
}

const sealMark = Buffer.from(`"k":"${sealKind}"`)

/** Whether there is a signature in a file, without reading its records. */
async function hasSeal(file: string, files: FilePort): Promise<boolean> {
  for await (const lines of readLineBatches(file, files))
    if (lines.some(({ bytes }) => bytes.includes(sealMark))) return true
  return false
}

/** Whether everything up to the first signature matches it: then no closer check is needed. */
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
 * Refuses a run that someone else recorded, because what it contains would be carried out, and one that has not begun.
 * Closes the user's own run folders to other users. `what`: what is not done with the run.
 * @throws BatonError UNTRUSTED, USAGE
 */
export async function refuseForeign(folder: string, key: SigningKey, what: string): Promise<void> {
  if (!(await hasBegun(folder))) {
    throw new BatonError('USAGE', `run ${basename(folder)} was never begun: it is not ${what}`, {
      hint: 'Its process was killed before it did anything. Run the file again.',
    })
  }
  if (await isOwnRun(folder, key)) return makeFolderPrivate(folder, ownRun)
  throw new BatonError(
    'UNTRUSTED',
    `run ${basename(folder)} was not recorded by this installation: it is not ${what}`,
    {
      hint: 'Someone else or an earlier version recorded it, or the key of this installation has been lost since. Inspect it with baton runs show, and run the file again.',
    },
  )
}
