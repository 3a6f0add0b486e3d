import { BatonError } from '../base/error.ts'
import type { FilePort } from './file-port.ts'
import type { Owner, OwnerPort } from './owner.ts'
import { edgesOf } from './edges.ts'

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
