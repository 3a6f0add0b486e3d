import { BatonError } from '../base/error.ts'
import type { AgentResult } from '../event/agent.ts'
import { responseOf, type TaskAnswer } from './answer.ts'
import type { Conversation } from './main-agent.ts'
import { type OutputSchema, readStructured, repairMessage } from './output-schema.ts'

/** How often a model may correct an answer that does not fit `[output]`. */
const maxRepairs = 2

/**
 * Reads an answer that must fit `[output]`; one that does not is sent back with what is wrong, at most twice.
 * @throws BatonError MODEL_FAILED with the problems of the last answer
 */
export async function repairAnswer(
  first: AgentResult,
  output: OutputSchema,
  conversation: Conversation,
): Promise<TaskAnswer> {
  let result = first
  for (let repairs = 0; ; repairs += 1) {
    const read = readStructured(result.text, output)
    if (read.kind === 'ok') {
      const spent = conversation.spent()
      return { text: read.text, value: read.value, response: responseOf(read.text, spent), fileChanges: [], spent }
    }
    if (repairs === maxRepairs) throw misfit(read.problems.map(({ path, message }) => `${path}: ${message}`))
    const content = repairMessage(read.problems, output.schema)
    result = await conversation.ask([...result.messages, { role: 'user', content }])
  }
}

function misfit(problems: readonly string[]): BatonError {
  const [first = 'it is no JSON', ...others] = problems
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return new BatonError(
    'MODEL_FAILED',
    `the answer does not fit [output] after ${maxRepairs} corrections: ${first}${more}`,
    {
      hint: 'Simplify the schema, say more about it in the instruction, or name a stronger model.',
    },
  )
}
