import { BatonError } from '../base/error.ts'
import type { ModelResult } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import { roundLimit } from '../event/limits.ts'

/**
 * Returns the answer unless a limit stopped the agent.
 * @throws BatonError LIMIT if one did: then its last text is not an answer
 */
export function refuseLimit(result: ModelResult, name: string, { scope }: Pick<RunContext, 'scope'>): ModelResult {
  switch (result.end) {
    case 'max_turns':
      throw new BatonError('LIMIT', `agent ${name} has reached its limit of model requests (max_turns)`, {
        hint: 'Raise max_turns, for example with -c max_turns=1000: a resumed run continues where this one stopped.',
        limit: 'max_turns',
        cause: roundLimit,
      })
    case 'repeated_calls':
      throw new BatonError('LIMIT', `agent ${name} kept calling the same tool with the same input`, {
        hint: 'Say in the instruction what it should do instead, or name another model.',
      })
    case 'max_rounds':
      if (scope.hasFormerRounds === true) return result
      throw new BatonError(
        'LIMIT',
        `agent ${name} has reached its limit of model requests for one message (max_rounds)`,
        {
          hint: 'Raise max_rounds, for example with --max-rounds 1000: a resumed run continues where this one stopped.',
          limit: 'max_rounds',
          cause: roundLimit,
        },
      )
    case 'done':
    case 'max_tokens':
    case 'incomplete':
      return result
  }
}
