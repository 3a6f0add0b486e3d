import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { defined } from '../../src/base/json.ts'
import { createMessageLog } from '../../src/agent/message-log.ts'
import { createShortening } from '../../src/agent/shortening.ts'
import { withScope } from '../../src/event/context.ts'
import { summaryInstruction } from '../../src/event/conversation-summary.ts'
import type { ModelAgent, ModelResult, Tool } from '../../src/event/agent.ts'
import { type Message, textMessage, textOf, toolCallsOf } from '../../src/event/message.ts'
import { placeText } from '../../src/event/place.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { loadPrices } from '../../src/model/prices.ts'
import { estimateTokens } from '../../src/model/estimate.ts'
import type { ModelRequest } from '../../src/model/provider.ts'
import { effectOf } from '../helpers/effects.ts'
import { createFakeProvider, type FakeProvider, type FakeTurn } from '../helpers/fake-model.ts'
import { liveOnce } from '../helpers/mortal-process.ts'
import { core } from '../helpers/series.ts'
import { sessionWorld, type SessionWorld } from '../helpers/session-world.ts'

/** Characters of what `look` returns. */
const long = 6000
const reads = 5

function isForSummary({ messages }: ModelRequest): boolean {
  return textOf(messages.at(-1) as Message) === summaryInstruction
}

function tooLong(): BatonError {
  return new BatonError('MODEL_FAILED', 'fake::small: the server says that it is too long', {
    reason: 'CONTEXT_EXCEEDED',
  })
}

interface Served {
  /** Tokens of the longest request that is answered. */
  readonly most?: number
  /** What is answered to a request for a summary. */
  readonly summary?: FakeTurn
}

/** A model that looks until it has looked often enough, wherever the conversation remembers it. */
function looker(served: Served = {}): FakeProvider {
  return createFakeProvider(script(served))
}

function script({ most = Infinity, summary = { text: ['They look at ', 'numbers.'] } }: Served = {}): (
  request: ModelRequest,
) => FakeTurn {
  return (request) => {
    const [looked = 0] = [...JSON.stringify(request.messages).matchAll(/n\\+":(\d+)/g)]
      .map(([, n]) => Number(n))
      .toReversed()
    const usage = { input: estimateTokens(request.messages), output: 10, cached: 0, reasoning: 0 }
    if (usage.input > most) return { text: [], failure: tooLong() }
    if (isForSummary(request)) return { usage, ...summary }
    if (looked === reads) return { text: ['Done.'], usage }
    const call = `{"n":${looked + 1}}`
    // the list of steps is made at the beginning
    return looked === 0
      ? { text: [], toolCalls: ['look', 'todo'], toolInput: [call, '{"todos":[]}'], usage, finish: 'tool_calls' }
      : { text: [], toolCalls: ['look'], toolInput: [call], usage, finish: 'tool_calls' }
  }
}

function lookTool(characters: number, onLook: (place: string) => void): Tool {
  return {
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    async run(input, { scope, services }) {
      const effect = effectOf({ kind: 'tool', repeat: 'safe', request: input })
      const text = await services.effects.perform<string>(scope.at, effect as never, async () => {
        onLook(placeText(scope.at))
        return `${input} ${'x'.repeat(characters)}`
      })
      return { text }
    },
  }
}

const todo: Tool = {
  name: 'todo',
  description: 'Keeps steps.',
  parameters: { type: 'object' },
  run: async () => ({ text: '- [ ] look' }),
}

interface Looking {
  readonly compactAt?: number | false
  readonly characters?: number
  readonly asked?: readonly Message[]
  readonly onLook?: (place: string) => void
}

async function look(
  { context }: Pick<SessionWorld, 'context'>,
  { compactAt, characters = long, asked, onLook = () => {} }: Looking = {},
): Promise<ModelResult> {
  const agent: ModelAgent = {
    kind: 'llm',
    name: 'looker',
    settings: { model: 'small' },
    tools: [lookTool(characters, onLook), todo],
  }
  const opener = withScope(context, defined({ compactAt }))
  const session = await opener.services.agents.open(agent, opener)
  try {
    const messages = asked ?? [textMessage('system', 'Be brief.'), textMessage('user', 'Look at all numbers.')]
    return await session.answer(await session.send(messages))
  } finally {
    await session.close()
  }
}

/** A request in short: the first word of texts, the names of calls, the length of results. */
function shape({ messages }: ModelRequest): readonly string[] {
  return messages.map((message) => {
    const calls = toolCallsOf(message).map(({ name }) => name)
    if (calls.length > 0) return `calls ${calls.join(' ')}`
    if (message.role === 'tool') return 'result'
    return isForSummary({ messages: [message] } as unknown as ModelRequest)
      ? 'sum up'
      : `${message.role}: ${textOf(message).split('\n\n').at(-1)}`
  })
}

/** Without ids: what a process has sent to the model. */
function sentBy({ requests }: FakeProvider): readonly (readonly string[])[] {
  return requests.map(shape)
}

const head = ['system: Be brief.', 'user: Look at all numbers.']
const first = ['calls look todo', 'result', 'result']
const turn = ['calls look', 'result']

describe('a conversation that becomes long', () => {
  it('is summarized, and keeps the system text, the prompt, the list of steps and the last turn', async () => {
    const provider = looker()
    const world = await sessionWorld({ provider })
    expect(await look(world, { compactAt: 4500 })).toMatchObject({ text: 'Done.', spent: { usage: { calls: 8 } } })
    const short = [...head, 'user: - [ ] look', 'user: They look at numbers.', ...turn]
    expect(sentBy(provider)).toEqual([
      head,
      [...head, ...first],
      [...head, ...first, ...turn],
      [...head, ...first, ...turn, 'sum up'],
      short,
      [...short, ...turn],
      [...short, ...turn, 'sum up'],
      short,
    ])
    // the server has kept the beginning of the request for a summary, which begins with the tools
    const [, , last, summary] = provider.requests
    expect(summary?.tools).toEqual(last?.tools)
    expect(world.sent.filter(({ type }) => type === 'conversation.compacted')).toMatchObject([
      { reason: 'window', messages: 5, tokens_before: expect.any(Number), tokens_after: expect.any(Number) },
      { reason: 'window', messages: 5 },
    ])
    const items = world.sent.flatMap((event) => (event.type === 'item.completed' ? [event.item] : []))
    expect(items.filter(({ type }) => type === 'summary')).toMatchObject([
      { text: 'They look at numbers.' },
      { text: 'They look at numbers.' },
    ])
  })

  it('is not summarized with compact_at = false, nor if nothing is known of the window', async () => {
    for (const compactAt of [false, undefined, 0.2] as const) {
      const provider = looker()
      expect(await look(await sessionWorld({ provider }), defined({ compactAt }))).toMatchObject({ text: 'Done.' })
      expect(provider.requests).toHaveLength(reads + 1)
    }
  })

  it('is summarized by a request without tools if the model calls one instead', async () => {
    let asked = 0
    const usual = script()
    const calling = createFakeProvider((request) => {
      if (isForSummary(request) && (asked += 1) === 1) return { text: [], toolCalls: ['look'], finish: 'tool_calls' }
      return usual(request)
    })
    expect(await look(await sessionWorld({ provider: calling }), { compactAt: 4500 })).toMatchObject({ text: 'Done.' })
    expect(calling.requests.filter(isForSummary).map(({ tools = [] }) => tools.length)).toEqual([2, 0, 2])
  })

  it('that is killed at any record is resumed as it was, and pays for nothing twice', async () => {
    const whole: JournalRecord[] = []
    const first = looker()
    const expected = await liveOnce({ provider: first, records: whole, lives: Infinity }, (world) =>
      look(world, { compactAt: 4500 }),
    )
    for (let lives = core(1, 0); lives < whole.length; lives += core(3, 1)) {
      const provider = looker()
      const records: JournalRecord[] = []
      const looked: string[] = []
      const onLook = (place: string): void => void looked.push(place)
      const dead = await liveOnce({ provider, records, lives }, (world) => look(world, { compactAt: 4500, onLook }))
      expect(dead).toBe(undefined)
      // a later version, or a changed setting, decides nothing of what is recorded
      const { context, repeated } = await sessionWorld({ provider, before: records })
      const resumed = await look({ context }, { compactAt: 4500, onLook })
      const where = `killed after ${lives} records`
      expect(resumed.text, where).toBe(expected?.text)
      expect(resumed.messages, where).toEqual(expected?.messages)
      expect(resumed.spent.usage.calls, where).toBe(8)
      const models = repeated.filter(({ kind }) => kind === 'model').length
      expect(provider.requests.length, where).toBe(first.requests.length + models)
      expect(new Set(looked).size + repeated.filter(({ kind }) => kind === 'tool').length, where).toBe(looked.length)
    }
  })

  it('of a record without summaries goes on without them, up to where it ended', async () => {
    const records: JournalRecord[] = []
    const provider = looker()
    const dead = await liveOnce({ provider, records, lives: 14 }, (world) => look(world, { compactAt: false }))
    expect(dead).toBe(undefined)
    const paid = provider.requests.length
    await look(await sessionWorld({ provider, before: records }), { compactAt: 4500 })
    expect(
      sentBy(provider)
        .slice(0, paid)
        .some((sent) => sent.includes('sum up')),
    ).toBe(false)
    expect(
      sentBy(provider)
        .slice(paid)
        .some((sent) => sent.includes('sum up')),
    ).toBe(true)
  })
})

describe('a server that says that a request is too long', () => {
  it('gets the conversation in short, whatever is known of its window', async () => {
    const provider = looker({ most: 4500 })
    const world = await sessionWorld({ provider })
    expect(await look(world)).toMatchObject({ text: 'Done.' })
    expect(sentBy(provider).filter((sent) => sent.includes('sum up'))).not.toEqual([])
    expect(world.sent.filter(({ type }) => type === 'conversation.compacted')).toMatchObject([
      { reason: 'too_long' },
      {},
    ])
    // the next time, it need not say so again
    expect(provider.requests.filter(({ messages }) => estimateTokens(messages) > 4500)).toHaveLength(1)
  })

  it('is not asked again if nothing can be left out, and the error says what is too large', async () => {
    const provider = looker({ most: 4500 })
    const file = `<file path="big.txt" lines="2">\n${'y'.repeat(20_000)}\nend\n</file>`
    const asked = [textMessage('system', 'Be brief.'), textMessage('user', `# Files for context\n\n${file}`)]
    await expect(look(await sessionWorld({ provider }), { asked })).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      reason: 'CONTEXT_EXCEEDED',
      message: expect.stringMatching(
        /says that it is too long; it has about [\d,]+ tokens, and the context window of the model is not known; the largest parts are big\.txt \(context_globs\) with 19\.6kb$/,
      ),
      hint: expect.stringContaining('baton models'),
    })
    expect(provider.requests).toHaveLength(1)
  })

  it('is asked once more, not again and again', async () => {
    let asked = 0
    const usual = script()
    const provider = createFakeProvider((request) => {
      if (isForSummary(request)) return { text: ['Short.'] }
      return (asked += 1) > 2 ? { text: [], failure: tooLong() } : usual(request)
    })
    await expect(look(await sessionWorld({ provider }))).rejects.toMatchObject({
      reason: 'CONTEXT_EXCEEDED',
      message: expect.stringContaining('the result of look {"n":2}'),
    })
    expect(sentBy(provider).map((sent) => sent.at(-1))).toEqual([head[1], 'result', 'result', 'sum up', 'result'])
  })

  it('gets the beginning and the end of a result that alone is too long', async () => {
    const provider = looker({ most: 4500 })
    const world = await sessionWorld({ provider })
    expect(await look(world, { characters: 40_000 })).toMatchObject({ text: 'Done.' })
    const [, , second] = provider.requests
    expect(JSON.stringify(second?.messages)).toMatch(/x\\n\[\d+ characters are left out here, because/)
  })

  it('gets shorter texts to summarize if even those are too long for it', async () => {
    const usual = script()
    // a longer request is answered than the one for a summary, as by a server with several models behind it
    const provider = createFakeProvider((request) => {
      const tokens = estimateTokens(request.messages)
      return tokens > (isForSummary(request) ? 2500 : 4500) ? { text: [], failure: tooLong() } : usual(request)
    })
    expect(await look(await sessionWorld({ provider }))).toMatchObject({ text: 'Done.' })
    const [refused, accepted] = provider.requests.filter(isForSummary)
    expect(JSON.stringify(refused)).not.toContain('left out')
    expect(JSON.stringify(accepted)).toContain('left out')
  })
})

it('a request with more than twice the tokens of the window is not sent, unless there is something to leave out', async () => {
  const log = createMessageLog()
  log.addPrompt([textMessage('user', 'x'.repeat(1_000_000))])
  const shortening = createShortening(undefined, {
    log,
    compactAt: undefined,
    settings: {},
    offered: () => [],
    recordedNext: () => undefined,
    wasAnswered: () => false,
    send: () => Promise.reject(new Error('nothing is sent')),
    recordedAs: async (said) => said,
    emit: () => {},
    onShorter: () => {},
    chosen: async () => ({
      provider: createFakeProvider([]),
      model: 'claude-haiku-5-5',
      label: 'own::claude-haiku-5-5',
      priced: { provider: 'own', baseUrl: 'http://127.0.0.1:1', model: 'gpt-4', isFree: false },
    }),
    prices: loadPrices,
  })
  await expect(shortening.prepare(undefined as never, false)).rejects.toMatchObject({
    reason: 'CONTEXT_EXCEEDED',
    message: expect.stringMatching(
      /^own::claude-haiku-5-5: the request is too long; .* context window of the model has 8,\d+ tokens/,
    ),
  })
})
