import type { ModelEnd } from '../../event/agent.ts'
import { usualRounds } from '../../event/limits.ts'
import { createRepeats } from '../repeats.ts'
import type { ExecutionMode, PromptWork } from './mode.ts'

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
      work.refuseCalls(calls, 'not run: the call limit is reached')
      // R206
      if (limit === 'max_rounds') work.timeline.addNote(`Exceeded maximum number of rounds (${maxRounds}). Stopping.`)
      return limit
    }
    repeats.add(await work.runTools(calls), work.warn)
  }
}
