import { BatonError, type ErrorDetails } from '../base/error.ts'
import type { SchemaProblem } from '../base/schema-problem.ts'
import type { AgentResult } from '../event/agent.ts'
import { emit, type RunContext } from '../event/context.ts'
import { responseOf, type TaskAnswer } from './answer.ts'
import type { Conversation } from './main-agent.ts'
import { type OutputSchema, readStructured, repairMessage } from './output-schema.ts'

/** How often a model may correct an answer that does not fit `[output]`. */
export const maxRepairs = 2

/**
 * Reads an answer that must fit `[output]`; one that does not is sent back with what is wrong, at most twice.
 * @throws BatonError MODEL_FAILED with the problems of the last answer
 */
export async function repairAnswer(
  first: AgentResult,
  { output, conversation }: { readonly output: OutputSchema; readonly conversation: Conversation },
  context: RunContext,
): Promise<TaskAnswer> {
  let result = first
  for (let repairs = 0; ; repairs += 1) {
    const read = readStructured(result.text, output)
    if (read.kind === 'ok') {
      const spent = conversation.spent()
      return { text: read.text, value: read.value, response: responseOf(read.text, spent), fileChanges: [], spent }
    }
    if (result.stopReason === 'max_tokens') throw cutShort()
    const problems = read.problems.map(({ path, message }) => `${path} ${message}`)
    if (repairs === maxRepairs) throw misfit(problems, await placeOfBroken(read.problems, output))
    emit(context, { type: 'warning', message: `the model is asked to correct its answer: ${problems[0] ?? ''}` })
    const content = repairMessage(read.problems, output.schema)
    result = await conversation.ask([...result.messages, { role: 'user', content }])
  }
}

/** A longer conversation would only make the next answer shorter. */
function cutShort(): BatonError {
  return new BatonError('MODEL_FAILED', 'the answer was cut at its output limit, so it does not fit [output]', {
    hint: 'Raise max_tokens, or ask for less in one answer.',
  })
}

/** What of the schema the answer broke first. */
async function placeOfBroken([first]: readonly SchemaProblem[], { placeAt }: OutputSchema): Promise<ErrorDetails> {
  return first?.at === undefined ? {} : { place: await placeAt(first.at) }
}

function misfit(problems: readonly string[], broken: ErrorDetails): BatonError {
  const [first = 'it is no JSON', ...others] = problems
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return new BatonError(
    'MODEL_FAILED',
    `the answer does not fit [output] after ${maxRepairs} corrections: ${first}${more}`,
    {
      ...broken,
      hint: 'Simplify the schema, say more about it in the instruction, or name a stronger model.',
    },
  )
}
