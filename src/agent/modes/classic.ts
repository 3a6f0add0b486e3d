import { modelText } from '../../base/model-text.ts'
import type { ModelEnd } from '../../event/agent.ts'
import { createRepeats } from '../repeats.ts'
import type { ExecutionMode, PromptWork } from './mode.ts'

/** Default limit of rounds for one message (R207). */
const usualRounds = 25

/**
 * Text and tools: the model is asked, its tool calls are run, and it is asked again with their results until it calls
 * none (R166) and no agent works for it any more.
 */
export const classic: ExecutionMode = {
  id: 'classic',
  name: 'Classic (text + tools)',
  createExecutor: ({ services, maxRounds = usualRounds }) => services.executor((work) => converse(work, maxRounds)),
}

async function converse(work: PromptWork, maxRounds: number): Promise<ModelEnd> {
  const repeats = createRepeats()
  await work.prepare()
  for (let round = 1; ; round += 1) {
    const { text, calls, end, itemId, isLast } = await work.ask()
    if (calls.length === 0) {
      const goesOn = !isLast && round < maxRounds && (await work.hasMail())
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
      if (limit === 'max_rounds') work.timeline.addText(`Exceeded maximum number of rounds (${maxRounds}). Stopping.`)
      return limit
    }
    repeats.add(await work.runTools(calls), work.warn)
  }
}
