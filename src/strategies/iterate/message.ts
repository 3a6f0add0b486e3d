import { filesText } from './blocks.ts'

export interface CommitFacts {
  readonly run: string
  /** Its name in trailers; the `[iter-N]` of the subject has the plain number. */
  readonly key: string
  readonly iteration: number
  readonly files: readonly string[]
  /** One line about the work; undefined: none. */
  readonly subject: string | undefined
}

const subjectLength = 72

/**
 * The message of an iteration's commit (R89, TV10): a subject `[iter-N] …`, the changed files, and trailers by which a
 * resumed run recognizes its own commit.
 */
export function commitMessage({ run, key, iteration, files, subject }: CommitFacts): string {
  return `${subjectOf(iteration, subject)}\n\nModified files: ${filesText(files.map(withoutBreaks))}\n\n${trailers({ run, key })}\n`
}

/** `[iter-N]` and a description, from which a leading `[iter-N]` is removed. */
export function subjectOf(iteration: number, summary: string | undefined): string {
  const text = withoutBreaks(summary ?? '')
    .replace(/^\s*\[iter-[^\]]*\]\s*/, '')
    .trim()
  const subject = `[iter-${iteration}] ${text === '' ? `Iteration ${iteration} changes` : text}`
  const characters = Array.from(subject)
  return characters.length <= subjectLength ? subject : `${characters.slice(0, subjectLength - 1).join('')}…`
}

/** The message of the commit that restores the best state. */
export function bestMessage(
  best: { readonly run: string; readonly key: string; readonly iteration: number; readonly score: number },
  files: readonly string[],
): string {
  const state = best.iteration < 0 ? 'the state before the first iteration' : `the state of iteration ${best.iteration}`
  const subject = `[iter-best] Restore ${state} (score ${best.score})`
  return `${subject}\n\nModified files: ${filesText(files.map(withoutBreaks))}\n\n${trailers(best)}\n`
}

export interface TrailerFacts {
  readonly run: string
  readonly key: string
}

function trailers({ run, key }: TrailerFacts): string {
  return `Baton-Run: ${run}\nBaton-Iteration: ${withoutBreaks(key)}`
}

/** Whether the message has the trailers of these facts. */
export function isOwnCommit(message: string, { run, key }: TrailerFacts): boolean {
  const lines = new Set(message.split('\n').map((line) => line.trim()))
  return lines.has(`Baton-Run: ${run}`) && lines.has(`Baton-Iteration: ${withoutBreaks(key)}`)
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}
