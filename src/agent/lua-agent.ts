import type { Json } from '../base/json.ts'
import type { AgentResult } from '../event/agent.ts'
import { below } from '../event/context.ts'
import { concurrencyOf } from './options.ts'
import { emptyResult } from './result.ts'
import { mapLimit } from '../base/limit.ts'
import { placeOfInput, type ScriptRun } from './script-run.ts'

/**
 * Runs a `.lua` agent: one chunk per input, with `input` and `options` in scope; what it returns is the output
 * (DESIGN 6). Without inputs it runs once and `input` is nil.
 * @throws BatonError SCRIPT_FAILED
 */
export async function runLua({ request, options, section }: ScriptRun): Promise<AgentResult> {
  const { agent, onOutput } = request
  const inputs = request.inputs !== null && request.inputs.length > 0 ? request.inputs : [null]
  const { context } = section
  const outputs = await mapLimit(
    inputs,
    { limit: concurrencyOf(options), signal: context.signal },
    async (input, index, signal) => {
      const at = below({ ...context, signal }, ...placeOfInput(index, inputs.length), 'chunk')
      const output: Json | undefined = await section.run(
        { text: agent.text, variables: { input, options } },
        { context: at, stage: 'chunk' },
      )
      onOutput?.(output ?? null, index)
      return output ?? null
    },
  )
  return { ...emptyResult, outputs }
}
