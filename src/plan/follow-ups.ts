import { maxRepairs } from '../run/structured-answer.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import type { Figures } from './ask.ts'

/** Corrections of an answer that does not match `[output]`, and of file changes that cannot be applied. */
export function followUpsOf({ output, settings }: PromptTarget): (figures: Figures) => readonly number[] {
  if (output !== undefined) {
    return ({ output: limit }) => Array.from({ length: maxRepairs }, (_, index) => (index + 1) * 2 * limit)
  }
  if (!settings.write_mode) return () => []
  const { repair } = settings.changes
  return ({ input, output: limit }) => Array.from({ length: repair }, (_, index) => (index + 1) * (limit + input))
}
