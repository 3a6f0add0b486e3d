import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { Environment } from '../journal/secrets.ts'
import { writeCassette } from '../journal/cassette.ts'
import { isCassette } from '../journal/is-cassette.ts'
import { refuseEscapingLink } from '../base/link-escape.ts'
import { findWorkspace, type Surroundings } from '../config/locate.ts'
import { usageError } from './command.ts'
import { checkTarget } from './result-file.ts'

/**
 * Refuses a path where no cassette can be written, before anything is paid for: only cassettes are overwritten.
 * @throws BatonError USAGE
 */
export function checkCassettePlace(file: string, around: Surroundings): void {
  refuseEscapingLink(file, { within: findWorkspace(around), shown: `--record ${file}` })
  checkTarget(file, `--record ${file}`)
  if (existsSync(file) && !isCassette(file)) {
    throw usageError(`--record ${file} ${noCassette}`, 'Name another file, or move this one away.')
  }
}

const noCassette = 'exists and is not a cassette: it is not overwritten'

/**
 * Writes a recorded run as a cassette, atomically, and returns its size in bytes. Replaces an older cassette, but never
 * another file. The cassette contains prompts and files, so only the owner may read it. `env`: the environment of a run
 * of this installation.
 * @throws BatonError FILE_FAILED, JOURNAL_FAILED; the reason of the signal
 */
export async function writeCassetteFile(
  file: string,
  folder: string,
  { env, signal }: { readonly env?: Environment | undefined; readonly signal?: AbortSignal } = {},
): Promise<number> {
  const temporary = join(dirname(file), `.baton-${randomBytes(6).toString('hex')}.tmp`)
  let bytes = 0
  try {
    const descriptor = openSync(temporary, 'wx', 0o600)
    try {
      const write = (text: string): void => {
        signal?.throwIfAborted()
        const part = Buffer.from(text)
        for (let done = 0; done < part.length;) done += writeSync(descriptor, part, done)
        bytes += part.length
      }
      await writeCassette(folder, write, defined({ env }))
    } finally {
      closeSync(descriptor)
    }
    // another file may have been created during the run
    if (existsSync(file) && !isCassette(file)) {
      throw new BatonError('FILE_FAILED', `${file} ${noCassette}`, {
        hint: 'The run is recorded: baton runs export can write it to another file.',
      })
    }
    renameSync(temporary, file)
    return bytes
  } catch (error) {
    rmSync(temporary, { force: true })
    if (error instanceof BatonError || signal?.aborted === true) throw error
    throw new BatonError('FILE_FAILED', `the cassette ${file} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}
