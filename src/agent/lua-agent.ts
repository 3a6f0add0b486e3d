import type { Json } from '../base/json.ts'
import type { ScriptResult } from '../event/agent.ts'
import { below, withServices } from '../event/context.ts'
import { concurrencyOf } from './options.ts'
import { placeOfInput, type ScriptRun } from './script-run.ts'
import { mapSiblings } from './siblings.ts'

/**
 * Runs a `.lua` agent: one chunk per input, with `input` and `options` in scope; its return value is the output.
 * Without inputs it runs once with `input` nil.
 * @throws BatonError SCRIPT_FAILED
 */
export async function runLua({ request, options, section }: ScriptRun): Promise<ScriptResult> {
  const { agent, onOutput } = request
  const inputs = request.inputs !== null && request.inputs.length > 0 ? request.inputs : [null]
  const { context } = section
  const outputs = await mapSiblings(
    inputs,
    { limit: concurrencyOf(options), signal: context.services.signal },
    async (input, index, signal) => {
      const at = below(withServices(context, { signal }), ...placeOfInput(index, inputs.length), chunk)
      const output: Json | undefined = await section.run(
        { text: agent.text, variables: { input, options } },
        { context: at, stage: 'chunk' },
      )
      onOutput?.(output ?? null, index)
      return output ?? null
    },
  )
  return { kind: 'script', end: 'done', outputs, failedInputs: 0, afterAll: undefined }
}

const chunk = { kind: 'section', name: 'chunk' } as const
