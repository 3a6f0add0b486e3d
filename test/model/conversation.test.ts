import { afterEach, expect, it } from 'vitest'
import { textMessage, textOf, toolCallsOf, type Message, type WireFormatName } from '../../src/event/message.ts'
import { assembleAnswer, type ModelAnswer } from '../../src/model/assemble.ts'
import { createProvider } from '../../src/model/create.ts'
import type { ModelProvider } from '../../src/model/provider.ts'
import { startConversationHost, type ConversationHost } from '../helpers/conversation-host.ts'
import { resultOf } from '../helpers/messages.ts'
import { core } from '../helpers/series.ts'

const formats: readonly WireFormatName[] = ['chat', 'responses', 'anthropic', 'gemini']
const tools = [{ name: 'read', description: 'Reads a file.', parameters: { type: 'object' } }]
const turns = core(20, 100)

let host: ConversationHost | undefined

afterEach(async () => {
  await host?.close()
  host = undefined
})

async function ask(provider: ModelProvider, messages: readonly Message[]): Promise<ModelAnswer> {
  const { model } = host?.choice ?? { model: '' }
  const answer = assembleAnswer()
  const request = { model, messages, tools, reasoning_effort: 'high' }
  for await (const event of provider.stream(request, new AbortController().signal)) answer.add(event)
  // as a journal returns it
  return JSON.parse(JSON.stringify(answer.answer())) as ModelAnswer
}

it.each(formats)(
  `a conversation of ${turns} turns sends back all that %s requires, unchanged and in order`,
  async (format) => {
    host = await startConversationHost(format, { turns })
    const provider = await createProvider(host.choice, { env: {} })
    const messages: Message[] = [textMessage('system', 'Be brief.'), textMessage('user', 'Read all files.')]
    for (const turn of host.turns) {
      const { parts, finish } = await ask(provider, messages)
      messages.push({ role: 'assistant', parts })
      const calls = toolCallsOf({ parts })
      expect(calls.map(({ name, input }) => ({ name, input }))).toEqual(
        turn.calls.map(({ name, input }) => ({ name, input })),
      )
      expect(finish).toBe(calls.length === 0 ? 'stop' : 'tool_calls')
      for (const { id, input } of calls) messages.push(resultOf(id, `text of ${input}`))
    }
    expect(host.problems).toEqual([])
    expect(host.asked).toEqual(Array(turns).fill(1))
    expect(messages.at(-1)).toSatisfy((last: Message) => textOf(last) === 'All files are read.')
  },
)

it('a host refuses a conversation without a signature', async () => {
  host = await startConversationHost('anthropic', { turns: 3 })
  const provider = await createProvider(host.choice, { env: {} })
  const asked = textMessage('user', 'Read all files.')
  const { parts } = await ask(provider, [asked])
  const spoken = parts.filter(({ type }) => type !== 'reasoning')
  const results = toolCallsOf({ parts }).map(({ id }) => resultOf(id, 'text'))
  await expect(ask(provider, [asked, { role: 'assistant', parts: spoken }, ...results])).rejects.toThrow(
    'an item of turn 0 is',
  )
  expect(host.problems).toHaveLength(1)
})
