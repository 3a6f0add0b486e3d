import { basename, dirname, join, resolve } from 'node:path'
import { closeSync, existsSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { BatonError, messageOf } from '../../base/error.ts'
import { writeCassette } from '../../journal/cassette.ts'
import { findRun } from '../../journal/find-run.ts'
import { expectWords, type RunsContext, type RunsFlags } from './runs.ts'

/** `baton runs export RUN [FILE]`: everything that was recorded as one file, whole or not at all; else on stdout. */
export async function exportRunCommand(flags: RunsFlags, { io, folder, cwd }: RunsContext): Promise<number> {
  expectWords(flags, { least: 1, most: 2, shape: 'RUN [FILE]' })
  const run = findRun(folder, flags.runs[0] ?? '')
  const [, name] = flags.runs
  if (name === undefined) {
    await writeCassette(run, (text) => {
      io.signal.throwIfAborted()
      io.out(text)
    })
    return 0
  }
  const file = resolve(cwd, name)
  if (existsSync(file))
    throw new BatonError('USAGE', `${name} exists`, { hint: 'Name another file, or remove it first.' })
  const bytes = await exportTo(file, run, io.signal)
  if (flags.json) io.out(`${JSON.stringify({ id: basename(run), file, bytes })}\n`)
  return 0
}

/** Prompts and files are in it: nobody else may read it. */
async function exportTo(file: string, run: string, signal: AbortSignal): Promise<number> {
  const temporary = join(dirname(file), `.baton-${randomBytes(6).toString('hex')}.tmp`)
  let bytes = 0
  try {
    const descriptor = openSync(temporary, 'wx', 0o600)
    try {
      await writeCassette(run, (text) => {
        signal.throwIfAborted()
        const part = Buffer.from(text)
        for (let done = 0; done < part.length;) done += writeSync(descriptor, part, done)
        bytes += part.length
      })
    } finally {
      closeSync(descriptor)
    }
    renameSync(temporary, file)
    return bytes
  } catch (error) {
    rmSync(temporary, { force: true })
    if (error instanceof BatonError || signal.aborted) throw error
    throw new BatonError('FILE_FAILED', `${file} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}
