import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { finished } from 'node:stream/promises'
import { BatonError, messageOf } from '../../base/error.ts'
import { writeCassette } from '../../journal/cassette.ts'
import { isCassette } from '../../journal/is-cassette.ts'

/**
 * Refuses a place where no cassette can be written, before anything is paid: files that are none are not overwritten.
 * @throws BatonError USAGE
 */
export function checkCassettePlace(file: string): void {
  const status = (path: string) => statSync(path, { throwIfNoEntry: false })
  if (status(dirname(file))?.isDirectory() !== true) {
    throw new BatonError('USAGE', `--record ${file}: there is no folder ${dirname(file)}`, { hint: 'Make it first.' })
  }
  const present = status(file)
  if (present?.isDirectory() === true) {
    throw new BatonError('USAGE', `--record ${file} is a folder`, { hint: 'Name a file.' })
  }
  if (present?.isFile() === false) {
    throw new BatonError('USAGE', `--record ${file} is no regular file`, { hint: 'Name a file.' })
  }
  if (present !== undefined && !isCassette(file)) {
    throw new BatonError('USAGE', `--record ${file} ${noCassette}`, {
      hint: 'Name another file, or move this one away.',
    })
  }
}

const noCassette = 'is there, and is no cassette: it is not overwritten'

/**
 * Writes the cassette of a recorded run: temporary file, rename. An older one stays as it is when that fails, and any other
 * file always.
 * @throws BatonError FILE_FAILED, JOURNAL_FAILED
 */
export async function writeCassetteFile(file: string, folder: string): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const stream = createWriteStream(temporary, { flags: 'wx', mode: 0o600 })
    const end = finished(stream)
    end.catch(() => undefined)
    await writeCassette(folder, (text) => (stream.write(text) ? undefined : drained(stream, end)))
    stream.end()
    await end
    // made during the run
    if (existsSync(file) && !isCassette(file)) {
      throw new BatonError('FILE_FAILED', `${file} ${noCassette}`, {
        hint: 'The run is recorded: baton runs export writes it into another file.',
      })
    }
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    if (error instanceof BatonError) throw error
    throw new BatonError('FILE_FAILED', `the cassette ${file} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

function drained(stream: NodeJS.WritableStream, end: Promise<void>): Promise<void> {
  return Promise.race([new Promise<void>((resolve) => stream.once('drain', resolve)), end])
}
