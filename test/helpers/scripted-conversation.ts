import type { ModelAgent, ModelResult, Tool } from '../../src/event/agent.ts'
import type { RunContext } from '../../src/event/context.ts'
import { textMessage } from '../../src/event/message.ts'
import { placeText } from '../../src/event/place.ts'
import type { ConversationHost } from './conversation-host.ts'
import { effectOf } from './effects.ts'

/** A tool whose read is an effect that is paid for like a request; `onRead` is called for each. */
function readTool(onRead: (place: string) => void): Tool {
  return {
    name: 'read',
    description: 'Reads a file.',
    parameters: { type: 'object' },
    async run(input, { scope, services }) {
      const effect = effectOf({ kind: 'tool', repeat: 'safe', request: input })
      const text = await services.effects.perform<string>(scope.at, effect as never, async () => {
        onRead(placeText(scope.at))
        return `text of ${input}`
      })
      return { text }
    },
  }
}

/** Runs the conversation that a host scripts: one message, then turns until the model makes no more calls. */
export async function converse(
  { choice }: Pick<ConversationHost, 'choice'>,
  context: RunContext,
  onRead: (place: string) => void = () => {},
): Promise<ModelResult> {
  const agent: ModelAgent = {
    kind: 'llm',
    name: 'reader',
    settings: { model: choice.model, reasoning_effort: 'high' },
    tools: [readTool(onRead)],
    maxRounds: Infinity,
  }
  const session = await context.services.agents.open(agent, context)
  try {
    const first = await session.send([textMessage('system', 'Be brief.'), textMessage('user', 'Read all files.')])
    return await session.answer(first)
  } finally {
    await session.close()
  }
}
