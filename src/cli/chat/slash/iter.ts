import { conditionForms, type IterationCondition, parseCondition } from '../../../config/iteration.ts'
import { usageError } from '../../command.ts'
import { wordsOf } from './words.ts'

/** The arguments of `/iter` (R86). */
export interface IterArguments {
  readonly isBackground: boolean
  /** A count or a duration, unparsed. */
  readonly condition: string
  readonly parsed: IterationCondition
  readonly prompt: string
}

const usage =
  'Usage: /iter [--background] COUNT|DURATION "PROMPT", for example /iter 5 "fix the tests" or /iter 2h "improve it".'

/**
 * Reads the arguments of `/iter` (R86, TV12). The prompt may be quoted; without quotes it is the rest of the line.
 * @throws BatonError USAGE
 */
export function readIter(rest: string): IterArguments {
  const words = wordsOf(rest)
  const isBackground = words[0]?.text === '--background'
  const [condition, first, second] = isBackground ? words.slice(1) : words
  const parsed = condition === undefined ? undefined : parseCondition(condition.text)
  if (condition === undefined) throw usageError('/iter needs a condition and a prompt', usage)
  if (parsed === undefined) {
    throw usageError(
      `/iter: ${JSON.stringify(condition.text)} is neither a count nor a duration`,
      `Write ${conditionForms}. ${usage}`,
    )
  }
  if (first === undefined) throw usageError('/iter: the prompt is missing', usage)
  const prompt = second === undefined ? first.text : rest.slice(first.start).trim()
  if (prompt.trim() === '') throw usageError('/iter: the prompt is empty', usage)
  return { isBackground, condition: condition.text, parsed, prompt }
}
