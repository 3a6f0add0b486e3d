import { runInWorker } from './worker-task.ts'

/** How long a pattern from a user or model may search one text. */
export const patternMs = 5_000
export const patternMemoryMb = 256

/**
 * Whether a JavaScript pattern (with the flag `u`) matches somewhere in a text. A pattern with repetition can run
 * forever, so it runs in a thread, for five seconds at most.
 * @throws WorkerLimitError, or the signal's reason
 */
export async function matchesPattern(pattern: string, text: string, signal: AbortSignal): Promise<boolean> {
  if (!repeats(pattern)) return testPattern(pattern, text)
  const limits = { timeMs: patternMs, memoryMb: patternMemoryMb, signal }
  return (await runInWorker({ name: 'pattern.test', args: [pattern, text] }, limits)) as boolean
}

/** Without repetition a pattern visits each position once. */
export function repeats(pattern: string): boolean {
  return /[*+{]/.test(pattern)
}

/** Runs in the thread. */
export function testPattern(pattern: string, text: string): boolean {
  return new RegExp(pattern, 'u').test(text)
}

/** Whether a text is a valid JavaScript pattern (with the flag `u`). */
export function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}
