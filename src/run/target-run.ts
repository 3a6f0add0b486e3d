import type { Json } from '../base/json.ts'
import type { AgentResult, ScriptAgent } from '../event/agent.ts'
import { below, type RunContext } from '../event/context.ts'

export interface TargetRun {
  readonly agent: ScriptAgent
  /** `-i` values; empty when none was given. */
  readonly inputs: readonly string[]
  /** Gets each output in input order. */
  readonly onOutput: (output: Json) => void
}

/**
 * Runs an `.aip` or `.lua` file that was named on the command line (spec/aipack.md 2.4, 5.2).
 * @throws BatonError when the agent fails
 */
export function runTarget({ agent, inputs, onOutput }: TargetRun, context: RunContext): Promise<AgentResult> {
  return context.agents.run(
    { agent, inputs: inputs.length > 0 ? inputs : null, options: {}, onOutput: inOrder(onOutput) },
    below(context, 'main'),
  )
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
