import { addAbortSignal, type Readable } from 'node:stream'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { decodeSource, maxSourceBytes } from '../base/files.ts'
import type { Flags } from './command-specs.ts'
import { usageError } from './command.ts'
import type { CommandIo } from './io.ts'

/** What is run: a file; with `text` a prompt without a file, and `file` is its name in messages. */
export interface PromptSource {
  readonly file: string
  readonly text?: string
}

/** Refuses names that are given and empty. @throws BatonError USAGE */
export function refuseEmptyNames({ model, outputSchema }: Pick<Flags<'run'>, 'model' | 'outputSchema'>): void {
  if (model?.trim() === '') throw usageError('-m is empty', 'Name a model, or leave -m out for the default.')
  if (outputSchema?.trim() === '') throw usageError('--output-schema is empty', 'Name a file with a JSON Schema.')
}

const stdinName = 'stdin'

/**
 * What `baton run` is to run: FILE, the text of `-p`, or standard input for `-`.
 * @throws BatonError USAGE when none or two of them are given, FILE_UNREADABLE for invalid content of standard input
 */
export async function promptSource(
  { file = '', prompt, open = false }: Pick<Flags<'run'>, 'file' | 'prompt'> & Partial<Pick<Flags<'run'>, 'open'>>,
  { input, signal }: Pick<CommandIo, 'input' | 'signal'>,
): Promise<PromptSource> {
  if (prompt === undefined && file !== '-') return { file }
  if (open) throw usageError('-o needs a file to open', 'Leave it out.')
  if (prompt === undefined) return { file: stdinName, text: await readPromptInput(input(), signal) }
  if (file !== '') {
    throw usageError(`-p and ${file === '-' ? '-' : 'a file'} cannot be combined`, 'Leave one of them out.')
  }
  if (prompt.trim() === '') throw usageError('-p is empty', 'Add the prompt after it.')
  return { file: '-p', text: prompt }
}

/**
 * Reads a prompt from standard input, until its end, with the limits of a prompt file. The stream is closed afterwards,
 * whatever happens.
 * @throws BatonError FILE_UNREADABLE for more than 10 MB, binary data, empty input; the reason of `signal`
 */
export async function readPromptInput(stream: Readable, signal: AbortSignal): Promise<string> {
  const text = decodeSource(await readBytes(addAbortSignal(signal, stream), signal), stdinName)
  if (text.trim() !== '') return text
  throw unreadable('standard input is empty', 'Write the prompt into it: echo "…" | baton -')
}

async function readBytes(stream: Readable, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxSourceBytes) throw unreadable('standard input has more than 10 MB', tooLargeHint)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (isBatonError(error)) throw error
    throw unreadable(`standard input cannot be read: ${messageOf(error)}`, 'Give the prompt as a file, or by -p.')
  }
  return Buffer.concat(chunks)
}

const tooLargeHint = 'Put data into files that are named by context_globs.'

function unreadable(message: string, hint: string): BatonError {
  return new BatonError('FILE_UNREADABLE', message, { hint })
}
