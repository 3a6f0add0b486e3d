import { describe, expect, it } from 'vitest'
import type { AgentSession, ModelAgent, ModelResult, Tool } from '../../../src/event/agent.ts'
import type { Prompt } from '../../../src/event/prompt.ts'
import { type Message, textMessage, textOf } from '../../../src/event/message.ts'
import { createFakeProvider, type FakeTurn } from '../../helpers/fake-model.ts'
import { sessionWorld, type SessionWorld } from '../../helpers/session-world.ts'

const user = (text: string): Message => textMessage('user', text)
const says = (text: string): FakeTurn => ({ text: [text] })
const calls = (text: string, ...names: readonly string[]): FakeTurn => ({
  text: text === '' ? [] : [text],
  toolCalls: names,
  finish: 'tool_calls',
})

const look: Tool = {
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object' },
  run: async () => ({ text: 'a b c', files: [{ type: 'file', name: 'a.png', mediaType: 'image/png', data: '' }] }),
}

async function ask(session: AgentSession, ...messages: readonly Message[]): Promise<ModelResult> {
  return session.answer(await session.send(messages))
}

async function open(
  turns: readonly FakeTurn[],
  agent: Partial<ModelAgent> = {},
): Promise<{
  readonly session: AgentSession
  readonly world: SessionWorld
  readonly provider: ReturnType<typeof createFakeProvider>
}> {
  const provider = createFakeProvider(turns)
  const world = await sessionWorld({ provider })
  const session = await world.open({
    kind: 'llm',
    name: 'helper',
    settings: { model: 'small' },
    tools: [look],
    ...agent,
  })
  return { session, world, provider }
}

const before: Prompt = {
  id: 'earlier',
  userId: 'ada',
  mode: 'classic',
  model: 'normal',
  visible: true,
  state: 'completed',
  input: 'Count the files.',
  output: [{ type: 'text', text: 'There are 3.', start: '2026-01-01T00:00:00.000Z' }],
}

describe('messages of a session', () => {
  it('consist of the system prompt, then the history, then the prompt and its outputs (R181, R183)', async () => {
    const { session, provider } = await open([calls('', 'look'), says('Yes.'), says('No.')], { history: [before] })
    await ask(session, textMessage('system', 'Be brief.'), user('Sure?'))
    await ask(session, user('Really?'))
    const asked = provider.requests.map(({ messages }) => messages.map((one) => `${one.role} ${textOf(one)}`))
    const start = ['system Be brief.', 'user Count the files.', 'assistant There are 3.', 'user Sure?']
    expect(asked[0]).toEqual(start)
    expect(asked[1]).toEqual([...start, 'assistant ', 'tool '])
    expect(asked[2]).toEqual([...start, 'assistant ', 'tool ', 'assistant Yes.', 'user Really?'])
    // a later conversation continues from its prompts (R22, R192)
    expect(session.prompts().map(({ input, output }) => [input, output.map(({ type }) => type)])).toEqual([
      ['Count the files.', ['text']],
      ['Sure?', ['tool', 'file', 'text']],
      ['Really?', ['text']],
    ])
  })
})

describe('a prompt of a session', () => {
  it('publishes each output once, text after it was streamed (R197, R198)', async () => {
    const { session, world } = await open([calls('I look.', 'look'), says('Three.')])
    await session.answer(await session.send([user('How many?')], { userId: 'ada' }))
    const shown = world.sent.flatMap((event) => {
      switch (event.type) {
        case 'prompt.created':
          return [`created by ${event.user_id}`]
        case 'prompt.output':
          return [JSON.stringify(event.output)]
        case 'item.delta':
          return [`delta ${event.text}`]
        case 'tool.completed':
          return [`tool ${event.id}`]
        case 'prompt.completed':
          return [`completed after ${event.usage.calls}`]
        default:
          return []
      }
    })
    expect(shown).toEqual([
      'created by ada',
      'delta I look.',
      '{"type":"text","item_id":"task/0/ask/message"}',
      '{"type":"tool","id":"task/0/ask/message/0","function":"look"}',
      '{"type":"file","name":"a.png","media_type":"image/png"}',
      'tool task/0/ask/message/0',
      'delta Three.',
      '{"type":"text","item_id":"task/0/ask/message-2"}',
      'completed after 2',
    ])
  })

  it('is completed at the limit of its rounds, with a note: 200 in classic (R206, R207)', async () => {
    const endless = Array.from({ length: 201 }, (_, index) => calls(`Round ${index + 1}.`, 'look'))
    const files = { ...look, run: async () => ({ text: String(Math.random()) }) }
    const { session, provider } = await open(endless, { tools: [files] })
    const result = await ask(session, user('Go.'))
    expect([result.end, provider.requests.length]).toEqual(['max_rounds', 200])
    expect(result.text).toBe('Round 200.\n\nExceeded maximum number of rounds (200). Stopping.')
    expect(session.prompts().at(-1)).toMatchObject({ state: 'completed' })
    expect(session.prompts().at(-1)?.output.at(-1)).toMatchObject({
      type: 'text',
      text: 'Exceeded maximum number of rounds (200). Stopping.',
      note: true,
    })
  })

  it('is followed by one whose messages do not contain that note', async () => {
    const answers = [calls('One.', 'look'), says('Two.')]
    const { session, provider } = await open(answers, { tools: [look], maxRounds: 1 })
    expect((await ask(session, user('Go.'))).end).toBe('max_rounds')
    await ask(session, user('On.'))
    const sent = JSON.stringify(provider.requests.at(-1)?.messages)
    expect(sent).toContain('not run: the call limit is reached')
    expect(sent).not.toContain('Exceeded')
    const again = await open([says('Three.')], { history: session.prompts() })
    await ask(again.session, user('More.'))
    expect(JSON.stringify(again.provider.requests[0]?.messages)).not.toContain('Exceeded')
  })

  it('can fail alone, and the next one is answered', async () => {
    const { session, world } = await open([{ error: new Error('away') }, says('Back.')] as never)
    await expect(ask(session, user('1'))).rejects.toThrow()
    expect((await ask(session, user('2'))).text).toBe('Back.')
    expect(session.prompts().map(({ state }) => state)).toEqual(['failed', 'completed'])
    const types = world.sent.map(({ type }) => type)
    expect(types.indexOf('prompt.error')).toBe(types.indexOf('agent.failed') - 1)
  })

  it('asks the model that it names, and the next one that of the conversation', async () => {
    const { session, provider } = await open([says('1'), says('2')])
    await session.answer(await session.send([user('Think.')], { model: 'high' }))
    await ask(session, user('And now?'))
    expect(provider.requests.map(({ model }) => model)).toEqual(['high', 'small'])
    expect(session.prompts().map(({ model }) => model)).toEqual(['high', 'normal'])
  })
})
