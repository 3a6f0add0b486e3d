import { addAbortSignal, type Readable } from 'node:stream'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { decodeSource, maxSourceBytes } from '../base/files.ts'
import type { Flags } from './command-specs.ts'
import { usageError } from './command.ts'
import type { CommandIo } from './io.ts'

/** What to run: a file; or `text`, a prompt without a file, whose name in messages is `file`. */
export interface PromptSource {
  readonly file: string
  readonly text?: string
  /** Context from standard input. */
  readonly stdin?: string
}

/** @throws BatonError USAGE for names that are given but empty */
export function refuseEmptyNames({ model, outputSchema }: Pick<Flags<'run'>, 'model' | 'outputSchema'>): void {
  if (model?.trim() === '') throw usageError('-m is empty', 'Name a model, or leave -m out for the default.')
  if (outputSchema?.trim() === '') throw usageError('--output-schema is empty', 'Name a file with a JSON Schema.')
}

const stdinName = 'stdin'

type SourceFlags = Pick<Flags<'run'>, 'file' | 'prompt' | 'stdin' | 'level'> & Partial<Pick<Flags<'run'>, 'open'>>
type SourceIo = Pick<CommandIo, 'input' | 'inputKind' | 'signal' | 'err'>

/**
 * What `baton run` should run: FILE, the text of `-p`, or standard input for `-`. Standard input that is piped in with
 * `-p`, or requested by `--stdin`, is context.
 * @throws BatonError USAGE if none or two of them are given, FILE_UNREADABLE for invalid content of standard input
 */
export async function promptSource(flags: SourceFlags, io: SourceIo): Promise<PromptSource> {
  const source = await namedSource(flags, io)
  const { file, prompt, stdin: isAsked } = flags
  if (file === '-') {
    if (isAsked) throw usageError('- and --stdin cannot be combined', 'Standard input is either the prompt or context.')
    return source
  }
  if (!isAsked && prompt === undefined) {
    if (io.inputKind() === 'pipe' || io.inputKind() === 'file') warn(unread, flags, io)
    return source
  }
  const text = await readContext(isAsked ? 'asked' : 'beside -p', flags, io)
  return text === undefined ? source : { ...source, stdin: text }
}

async function namedSource(
  { file = '', prompt, open = false }: SourceFlags,
  { input, signal }: SourceIo,
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

const unread = 'standard input is not read: add --stdin to give it to the model as context'

function warn(message: string, { level }: Pick<SourceFlags, 'level'>, { err }: Pick<SourceIo, 'err'>): void {
  if (level !== 'quiet') err(`warning ${message}\n`)
}

/** How long a pipe may send nothing before a warning: a pipe that nobody writes to may stay open forever. */
const silenceMs = 3_000

/** Undefined if it is empty. A pipe that was not requested is ignored if it sends nothing in time. */
async function readContext(why: 'asked' | 'beside -p', flags: SourceFlags, io: SourceIo): Promise<string | undefined> {
  const kind = io.inputKind()
  if (why === 'beside -p' && (kind === 'device' || kind === 'none')) return undefined
  const stream = io.input()
  const silence = new AbortController()
  const timer = setTimeout(() => {
    if (why === 'asked') return warn('still waiting for standard input to end', flags, io)
    warn(`standard input is open but has sent nothing for ${silenceMs / 1000} s: it is ignored`, flags, io)
    silence.abort()
  }, silenceMs)
  const onBegin = (): void => (why === 'asked' ? undefined : clearTimeout(timer))
  try {
    const bytes = await readBytes(
      addAbortSignal(AbortSignal.any([io.signal, silence.signal]), stream),
      io.signal,
      onBegin,
    )
    const text = decodeSource(bytes, stdinName)
    if (text !== '') return text
    if (why === 'asked') warn('standard input is empty', flags, io)
  } catch (error) {
    if (!silence.signal.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
  return undefined
}

/**
 * Reads a prompt from standard input, until its end, with the limits of a prompt file. Always closes the stream.
 * @throws BatonError FILE_UNREADABLE for more than 10 MB, binary data, empty input; the reason of `signal`
 */
export async function readPromptInput(stream: Readable, signal: AbortSignal): Promise<string> {
  const text = decodeSource(await readBytes(addAbortSignal(signal, stream), signal), stdinName)
  if (text.trim() !== '') return text
  throw unreadable('standard input is empty', 'Pipe the prompt in: echo "…" | baton -')
}

async function readBytes(stream: Readable, signal: AbortSignal, onBegin = () => {}): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (chunks.push(chunk) === 1) onBegin()
      size += chunk.length
      if (size > maxSourceBytes) throw unreadable('standard input is larger than 10 MB', tooLargeHint)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (isBatonError(error)) throw error
    throw unreadable(`standard input cannot be read: ${messageOf(error)}`, 'Pass the prompt as a file or with -p.')
  }
  return Buffer.concat(chunks)
}

const tooLargeHint = 'Put the data into files, and name them in context_globs.'

function unreadable(message: string, hint: string): BatonError {
  return new BatonError('FILE_UNREADABLE', message, { hint })
}
