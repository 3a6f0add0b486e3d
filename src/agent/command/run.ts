import { BatonError } from '../../base/error.ts'
import type { CommandAgent, PromptRequest, PromptResult } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'

/**
 * Runs a command line as an agent, once for each input.
 * @throws BatonError NOT_AVAILABLE
 */
export async function runCommandAgent(
  { agent }: PromptRequest<CommandAgent>,
  _context: RunContext,
): Promise<PromptResult> {
  throw new BatonError('NOT_AVAILABLE', `the command line "${agent.name}" cannot be run by this version`)
}
