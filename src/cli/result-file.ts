import { accessSync, constants, statSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { realPath, replaceFile } from '../base/files.ts'
import { refuseEscapingLink } from '../base/link-escape.ts'
import { irregular } from '../base/regular-file.ts'
import { isOfSystem } from '../base/system-folders.ts'
import { findWorkspace } from '../config/locate.ts'
import { harmless } from '../base/terminal-text.ts'
import { type GlobalFlags, usageError } from './command.ts'
import type { CommandIo } from './io.ts'

/** Where the result of a run goes. */
export interface ResultSink {
  readonly write: (text: string) => void
  /**
   * Finishes the result, once the exit code is known.
   * @throws BatonError FILE_FAILED if the file cannot be written; the result is then on stdout
   */
  readonly finish: (exitCode: number) => void
}

export interface ResultFlags extends Pick<GlobalFlags, 'json' | 'level'> {
  readonly output: string | undefined
  /** Answers are shown as they are written, also on a terminal. */
  readonly raw?: boolean | undefined
  readonly dry?: 'req' | 'res' | 'changes' | undefined
  /** The file that is run, as given: its own answer must not overwrite it. */
  readonly file?: string | undefined
}

/**
 * stdout, or with `--output` a file, which is written atomically at the end of a run that exits 0. stdout is then
 * empty, except for events. If the file is not written, the result goes to stdout, so that paid work is not lost.
 * @throws BatonError USAGE, before anything is paid for, if the file cannot be written
 */
export function openResult(
  { output, file = '', json, level }: ResultFlags,
  {
    cwd,
    env,
    home,
    out,
    outIsTerminal,
    err,
  }: Pick<CommandIo, 'cwd' | 'env' | 'home' | 'out' | 'outIsTerminal' | 'err'>,
): ResultSink {
  if (output === undefined) return { write: json ? () => undefined : out, finish: () => undefined }
  const target = targetOf(output, { cwd, env, home, source: file })
  const parts: string[] = []

  function rescue(text: string): void {
    // events are complete without the result
    if (!json) out(`${outIsTerminal ? harmless(text) : text}${text.endsWith('\n') ? '' : '\n'}`)
  }

  return {
    write: (text) => void parts.push(text),
    finish(exitCode) {
      const text = parts.splice(0).join('')
      if (exitCode !== 0) {
        if (text === '') return
        rescue(text)
        if (level !== 'quiet') err(`${output} was not written, because the run failed\n`)
        return
      }
      try {
        replaceFile(target, text)
      } catch (error) {
        rescue(text)
        throw new BatonError('FILE_FAILED', `--output ${output} cannot be written: ${messageOf(error)}`, {
          cause: error,
        })
      }
    },
  }
}

function targetOf(
  output: string,
  { cwd, env, home, source }: Pick<CommandIo, 'cwd' | 'env' | 'home'> & { readonly source: string },
): string {
  const named = resolve(cwd, output)
  if (output === '-' || isOfSystem(named)) {
    throw usageError(`--output ${output} is not a file`, 'Leave it out for stdout.')
  }
  if (output.trim() === '') throw usageError('--output is empty', 'Name a file.')
  refuseEscapingLink(named, { within: findWorkspace({ cwd, env, home }), shown: `--output ${output}` })
  const file = realPath(named)
  checkTarget(file, `--output ${output}`)
  if (file !== realPath(resolve(cwd, source))) return file
  throw usageError(`--output ${output} is the file being run`, 'Name another file.')
}

/**
 * Checks that a file can be written. `flag` names it in messages.
 * @throws BatonError USAGE
 */
export function checkTarget(file: string, flag: string): void {
  const status = statusOf(file)
  if (status?.isDirectory() === true) throw usageError(`${flag} is a folder`, 'Name a file.')
  const other = status === undefined ? undefined : irregular(status)
  if (other !== undefined) throw usageError(`${flag} ${other}`, 'Name another file.')
  const folder = dirname(file)
  if (statusOf(folder)?.isDirectory() !== true) {
    throw usageError(`${flag}: there is no folder ${folder}`, 'Create it first.')
  }
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    throw usageError(`${flag}: the folder ${folder} is not writable`, 'Name a file in another folder.')
  }
}

/** Undefined if it does not exist, or is below a file. */
function statusOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
