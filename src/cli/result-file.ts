import { accessSync, constants, statSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { realPath, writeFileAtomic } from '../base/files.ts'

/** Where the result of a run goes. */
export interface ResultSink {
  readonly write: (text: string) => void
  /**
   * Ends it, once the exit code is known.
   * @throws BatonError FILE_FAILED when the file cannot be written; the result is then on stdout
   */
  readonly finish: (exitCode: number) => void
}

export interface ResultOptions {
  /** What `--output` is relative to. Absolute. */
  readonly cwd: string
  /** What is run, as given: it is not to be replaced by its own answer. */
  readonly source: string
  /** Gets what was answered when there is no file to put it into: paid work is not lost. */
  readonly rescue: (text: string) => void
  /** Gets a line for people that says why. */
  readonly note: (text: string) => void
}

/**
 * `--output FILE`: collects the result and writes it at the end of a run that exits 0, whole or not at all.
 * @throws BatonError USAGE, before anything is paid, when the file could not be written
 */
export function openResultFile(output: string, { cwd, source, rescue, note }: ResultOptions): ResultSink {
  const named = resolve(cwd, output)
  if (output === '-' || /^\/(?:dev|proc)(?:\/|$)/.test(named)) {
    throw new BatonError('USAGE', `--output ${output} is no file`, { hint: 'Leave it out for stdout.' })
  }
  const file = realPath(named)
  refuseTarget(file, output)
  if (file === realPath(resolve(cwd, source))) {
    throw new BatonError('USAGE', `--output ${output} is the file that is run`, { hint: 'Name another file.' })
  }
  const parts: string[] = []
  return {
    write: (text) => void parts.push(text),
    finish(exitCode) {
      const text = parts.splice(0).join('')
      if (exitCode !== 0) {
        if (text === '') return
        rescue(text)
        note(`${output} is not written, because the run failed\n`)
        return
      }
      try {
        writeFileAtomic(file, text)
      } catch (error) {
        rescue(text)
        throw new BatonError('FILE_FAILED', `--output ${output} cannot be written: ${messageOf(error)}`, {
          cause: error,
        })
      }
    },
  }
}

function refuseTarget(file: string, output: string): void {
  if (output.trim() === '') throw new BatonError('USAGE', '--output is empty', { hint: 'Name a file.' })
  const status = statusOf(file)
  if (status !== undefined && !status.isFile()) {
    const what = status.isDirectory() ? 'a folder' : 'no regular file'
    throw new BatonError('USAGE', `--output ${output} is ${what}`, { hint: 'Name a file, or leave it out for stdout.' })
  }
  const folder = dirname(file)
  if (statusOf(folder)?.isDirectory() !== true) {
    throw new BatonError('USAGE', `--output ${output}: there is no folder ${folder}`, { hint: 'Make it first.' })
  }
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    const message = `--output ${output}: nothing can be written into ${folder}`
    throw new BatonError('USAGE', message, { hint: 'Name a file in another folder.', cause: error })
  }
}

/** Undefined for what is not there, or below a file. */
function statusOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
