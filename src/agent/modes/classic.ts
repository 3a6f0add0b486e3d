import { modelText } from '../../base/model-text.ts'
import type { ModelEnd } from '../../event/agent.ts'
import { BatonError } from '../../base/error.ts'
import { usualRounds } from '../../event/limits.ts'
import { createRepeats } from '../repeats.ts'
import { callItMessage, WrittenCall, writtenCall } from './written-call.ts'
import type { ExecutionMode, PromptWork } from './mode.ts'

/**
 * Text and tools: the model is asked, its tool calls are run, and it is asked again with their results until it calls
 * none (R166) and no agent works for it any more. A call that it writes as text is requested once more as a call.
 */
export const classic: ExecutionMode = {
  id: 'classic',
  name: 'Classic (text + tools)',
  createExecutor: ({ services, maxRounds = usualRounds }) => services.executor((work) => converse(work, maxRounds)),
}

async function converse(work: PromptWork, maxRounds: number): Promise<ModelEnd> {
  const repeats = createRepeats()
  /** The model was told that its text is not a call, and has called nothing since. */
  let isTold = false
  await work.prepare()
  for (let round = 1; ; round += 1) {
    const { text, calls, end, itemId, isLast } = await work.ask()
    const written = calls.length === 0 && end === 'done' ? calledInText(text, work) : undefined
    const isAtLimit = isLast || round >= maxRounds
    const isAccepted = written === undefined || (!isTold && !isAtLimit && work.endsHere())
    if (calls.length === 0 && isAccepted) {
      const goesOn = !isAtLimit && (await work.hasMail())
      if (text !== '') work.timeline.addText(text, { itemId, interim: goesOn })
      if (goesOn) continue
      return end
    }
    const limit: ModelEnd | undefined = isLast
      ? 'max_turns'
      : round >= maxRounds
        ? 'max_rounds'
        : repeats.isEndless()
          ? 'repeated_calls'
          : undefined
    if (text.trim() !== '') work.timeline.addText(text, { itemId, interim: limit === undefined })
    if (limit !== undefined) {
      work.refuseCalls(calls, modelText`not run: the call limit is reached`)
      // R206
      if (limit === 'max_rounds') work.timeline.addNote(`Exceeded maximum number of rounds (${maxRounds}). Stopping.`)
      return limit
    }
    if (written !== undefined && isTold) throw notCalled(written, text)
    isTold = written !== undefined
    if (written !== undefined) {
      const warning = `the model wrote a call of ${written} as text, which is not run: asking it to call the tool`
      work.askAgain(callItMessage(written), warning)
      continue
    }
    repeats.add(await work.runTools(calls), work.warn)
  }
}

/** The tool that an answer without calls calls in its text. */
function calledInText(text: string, { offered, output }: PromptWork): string | undefined {
  return offered.length === 0 ? undefined : writtenCall(text, offered, { json: output === undefined })
}

function notCalled(tool: string, text: string): BatonError {
  const message = `the model wrote a call of the tool "${tool}" as text again instead of calling it, so nothing was run`
  return new BatonError('MODEL_FAILED', message, {
    hint: 'Its server may not know the form of its tool calls: turn tool calling on there, use another model, or remove tools.',
    cause: new WrittenCall(text),
  })
}
