import { BatonError } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { AgentResult, ScriptAgent } from '../event/agent.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import { type GivenInputs, readInputs } from './inputs.ts'

/** Rounds a run may take by `redo_run` (DESIGN 2 "Nesting"). */
const maxRedo = 20

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
  for (let redoCount = 0; ; redoCount += 1) {
    const round = redoCount === 0 ? context : below(context, 'redo', String(redoCount))
    const at = { ...below(round, 'main'), redoCount }
    const result = await context.agents.run(
      { agent: load(), inputs: readInputs(inputs, at), options, onOutput: inOrder(onOutput) },
      at,
    )
    if (!result.redoRequested) return result
    if (redoCount >= maxRedo) {
      throw new BatonError('LIMIT', `the run was asked to redo itself more than ${maxRedo} times`, {
        hint: 'Let the agent look at CTX.RUN_FLOW_REDO_COUNT before it returns aip.flow.redo_run().',
      })
    }
    emit(context, { type: 'redo', count: redoCount + 1 })
  }
}

function inOrder(onOutput: (output: Json) => void): (output: Json, index: number) => void {
  const waiting = new Map<number, Json>()
  let next = 0
  return (output, index) => {
    waiting.set(index, output)
    for (let ready = waiting.get(next); ready !== undefined; ready = waiting.get(next)) {
      waiting.delete(next)
      next += 1
      onOutput(ready)
    }
  }
}
