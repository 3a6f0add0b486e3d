import type { ModelAgent, ModelResult, Tool } from '../../src/event/agent.ts'
import type { RunContext } from '../../src/event/context.ts'
import { textMessage } from '../../src/event/message.ts'
import { placeText } from '../../src/event/place.ts'
import type { ConversationHost } from './conversation-host.ts'
import { effectOf } from './effects.ts'

/** A tool that reads with an effect of its own, which is paid for like a request; `onRead` is told of each. */
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

/** Has the conversation that a host scripts: one message, and turns until the model calls nothing more. */
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
