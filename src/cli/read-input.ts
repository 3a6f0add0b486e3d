import { addAbortSignal, type Readable } from 'node:stream'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { decodeSource, maxSourceBytes } from '../base/files.ts'

/** How messages name what comes from standard input. */
export const stdinName = 'stdin'

/**
 * Reads a prompt from standard input, until its end (DESIGN 13: only for `-`). What a prompt file may not hold, it may
 * not hold either. The stream is closed afterwards, whatever happens.
 * @throws BatonError FILE_UNREADABLE for more than 10 MB, binary data, nothing at all; the reason of `signal`
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
