import type { RunContext } from '../../event/context.ts'
import type { Ending } from '../ending.ts'
import type { AgentTarget } from '../../load/target.ts'
import { runIsolated } from './isolated.ts'
import { gateOf, wayOut } from './prompt.ts'

/** Runs an agent that was named on the command line in a work tree, as for prompt files. */
export function runAgentIsolated(
  { settings }: Pick<AgentTarget, 'settings'>,
  work: (inside: RunContext) => Promise<Ending>,
  context: RunContext,
): Promise<Ending> {
  const verdict = ({ stopReason }: Ending) =>
    stopReason === 'done' || stopReason === 'skipped' ? 'apply' : { leftOut: 'an input failed' }
  return runIsolated({ name: 'file', ...wayOut(context), gate: gateOf(settings), work, verdict }, context)
}
