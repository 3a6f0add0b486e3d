import type { Readable } from 'node:stream'
import { BatonError } from '../base/error.ts'
import type { CommandIo } from './io.ts'
import type { RunFlags } from './options.ts'

/** What is run: a file, or with `text` a prompt that is none, of which `file` is the name in messages. */
export interface PromptSource {
  readonly file: string
  readonly text?: string
}

/**
 * What `baton run` is to run: FILE, the text of `-p`, or standard input for `-` (DESIGN 13).
 * @throws BatonError USAGE when none or two of them are given, FILE_UNREADABLE for what standard input holds
 */
export async function promptSource(
  { file, prompt, open }: Pick<RunFlags, 'file' | 'prompt' | 'open'>,
  { input, signal }: Pick<CommandIo, 'input' | 'signal'>,
): Promise<PromptSource> {
  if (prompt === undefined && file !== '-') return { file }
  if (open) throw new BatonError('USAGE', '-o opens a file, and none is named', { hint: 'Leave it out.' })
  if (prompt === undefined) return fromInput(input(), signal)
  if (file !== '') {
    throw new BatonError('USAGE', `-p and ${file === '-' ? '-' : 'a file'} both give a prompt`, {
      hint: 'Leave one of them out.',
    })
  }
  if (prompt.trim() === '') throw new BatonError('USAGE', '-p is empty', { hint: 'Write the prompt behind it.' })
  return { file: '-p', text: prompt }
}

async function fromInput(stream: Readable, signal: AbortSignal): Promise<PromptSource> {
  const { readPromptInput, stdinName } = await import('./read-input.ts')
  return { file: stdinName, text: await readPromptInput(stream, signal) }
}
