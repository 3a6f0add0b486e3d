import { BatonError } from '../base/error.ts'
import type { FilePort } from './file-port.ts'
import type { Owner, OwnerPort } from './owner.ts'
import { decodeLine, isKnownRecord, type JournalRecord } from './record.ts'
import { readAll } from './transfer.ts'

/** Refuses to open a run. @throws BatonError USAGE */
export function refuseRun(folder: string, owner?: Owner): never {
  const who = owner === undefined ? 'another process' : `process ${owner.pid}`
  throw new BatonError('USAGE', `the run in ${folder} is being executed by ${who}`, {
    hint: 'Wait until it has ended, or stop it first.',
  })
}

export interface OwnershipContext {
  readonly folder: string
  readonly files: FilePort
  readonly owners: OwnerPort
}

/**
 * Refuses while the writer of the newest epoch's file is alive: its process exists and it has not written the end of
 * the run, after which it writes no more.
 * @throws BatonError USAGE
 */
export async function refuseWhileOwned(file: string, { folder, files, owners }: OwnershipContext): Promise<void> {
  const { first, last } = await edgesOf(file, files)
  // a header that cannot be read was lost with the machine's power, and so was its writer
  if (first?.k !== 'seg' || last?.k === 'run.end') return
  if (await owners.isAlive(first)) refuseRun(folder, first)
}

/** Headers and `run.end` records are far shorter, because large fields are blobs. */
const edgeBytes = 512 * 1024

interface Edges {
  readonly first: JournalRecord | undefined
  readonly last: JournalRecord | undefined
}

async function edgesOf(file: string, files: FilePort): Promise<Edges> {
  const size = files.size(file) ?? 0
  const descriptor = files.openToRead(file)
  try {
    const part = async (position: number): Promise<Buffer> => {
      const target = Buffer.alloc(Math.min(size, edgeBytes))
      return target.subarray(0, await readAll(files, descriptor, { target, position }))
    }
    const [start, end] = [await part(0), await part(Math.max(0, size - edgeBytes))]
    return { first: recordOf(start.subarray(0, Math.max(0, start.indexOf(10)))), last: recordOf(lastLine(end)) }
  } finally {
    files.close(descriptor)
  }
}

function lastLine(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(10)
  return end <= 0 ? Buffer.alloc(0) : bytes.subarray(bytes.lastIndexOf(10, end - 1) + 1, end)
}

function recordOf(line: Buffer): JournalRecord | undefined {
  const record = decodeLine(line)
  return record !== undefined && isKnownRecord(record) ? record : undefined
}
