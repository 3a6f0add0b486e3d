import { createInOrder } from '../base/in-order.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { AgentResult, ScriptAgent } from '../event/agent.ts'
import { below, type RunContext } from '../event/context.ts'
import { type GivenInputs, readInputs } from './inputs.ts'
import { runRounds } from './rounds.ts'

export interface TargetRun {
  /** Reads the agent file; called again for every round. */
  readonly load: () => ScriptAgent
  readonly inputs: GivenInputs
  /** Options that win over the agent's own: those of flags and the environment (DESIGN 3). */
  readonly options: JsonObject
  /** Gets each output in input order. */
  readonly onOutput: (output: Json) => void
}

/**
 * Runs an `.aip` or `.lua` file that was named on the command line, and again while it asks for it by `redo_run`
 * (spec/aipack.md 2.4, 2.8, 5.2). Each round reads the agent and lists the files of `-f` anew.
 * @throws BatonError when the agent fails, LIMIT after too many rounds
 */
export async function runTarget(
  { load, inputs, options, onOutput }: TargetRun,
  context: RunContext,
): Promise<AgentResult> {
  return runRounds(
    async (redoCount, round) => {
      const at = { ...below(round, 'main'), redoCount }
      const order = createInOrder(onOutput)
      const result = await context.agents.run(
        {
          agent: load(),
          inputs: readInputs(inputs, at),
          options,
          onOutput: (output, index) => order.add(index, output),
        },
        at,
      )
      return { outcome: result, redo: result.redoRequested }
    },
    { context, cure: 'Let the agent look at CTX.RUN_FLOW_REDO_COUNT before it returns aip.flow.redo_run().' },
  )
}
