import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { sha256 } from '../../src/base/hash.ts'
import type { AgentSession, ModelAgent, ModelResult, Tool } from '../../src/event/agent.ts'
import { narrow } from '../../src/event/context.ts'
import { type Message, textMessage } from '../../src/event/message.ts'
import { placeText } from '../../src/event/place.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { createFakeProvider, type FakeTurn } from '../helpers/fake-model.ts'
import { resultOf } from '../helpers/messages.ts'
import { sessionWorld, type SessionWorld } from '../helpers/session-world.ts'

const user = (text: string): Message => textMessage('user', text)
const says = (text: string): FakeTurn => ({ text: [text], usage: { input: 10, output: 2, cached: 0, reasoning: 0 } })
const calls = (...names: readonly string[]): FakeTurn => ({ text: [], toolCalls: names, finish: 'tool_calls' })

/** A tool that returns the result of `work`; its calls are recorded with their places. */
function tool(name: string, work: Tool['run'] = async () => ({ text: `${name} gave this` })): Tool {
  return { name, description: `Does ${name}.`, parameters: { type: 'object' }, run: work }
}

function agentWith(...tools: readonly Tool[]): ModelAgent {
  return { kind: 'llm', name: 'helper', settings: { model: 'small' }, tools }
}

async function ask(session: AgentSession, ...messages: readonly Message[]): Promise<ModelResult> {
  return session.answer(await session.send(messages))
}

type Started = Extract<JournalRecord, { k: 'started' }>

function startedIn({ records }: SessionWorld): readonly Started[] {
  return records.filter((record): record is Started => record.k === 'started')
}

function requestsIn(world: SessionWorld): readonly { before?: { count: number; hash: string }; messages: Message[] }[] {
  return startedIn(world).map(({ request }) => request as never)
}

describe('a session', () => {
  it('answers one message after the other, each with the whole conversation', async () => {
    const provider = createFakeProvider([says('one'), says('two'), says('three')])
    const world = await sessionWorld({ provider })
    const session = await world.open(agentWith())
    expect(session.status()).toEqual({ kind: 'idle' })
    const first = await ask(session, textMessage('system', 'Be brief.'), user('1'))
    expect(session.status()).toEqual({ kind: 'completed', result: first })
    expect(first).toMatchObject({ end: 'done', text: 'one', calls: [], spent: { usage: { calls: 1, input: 10 } } })
    // sent together, answered in order
    const later = await Promise.all([session.send([user('2')]), session.send([user('3')])])
    expect(session.status()).toEqual({ kind: 'running' })
    expect((await Promise.all(later.map((id) => session.answer(id)))).map(({ text }) => text)).toEqual(['two', 'three'])
    expect(provider.requests.map(({ messages }) => messages.length)).toEqual([2, 4, 6])
    await session.close()
    expect((await session.ended)?.messages.map(({ role }) => role)).toEqual([
      'system',
      ...Array(3).fill(['user', 'assistant']).flat(),
    ])
    expect(session.status()).toEqual({ kind: 'closed' })
    await expect(session.send([user('4')])).rejects.toMatchObject({ code: 'AGENT_FAILED' })
    await expect(session.answer('7')).rejects.toMatchObject({ code: 'AGENT_FAILED' })
  })

  it('is stored next to what opened it, below the nearest task, with numbered turns', async () => {
    const provider = createFakeProvider([calls('look', 'count'), says('one'), says('two')])
    const world = await sessionWorld({ provider, at: 'task/3/post_task/1:write/output#2' })
    const places: string[] = []
    const noting = (name: string): Tool =>
      tool(name, async (_, context) => {
        places.push(placeText(context.scope.at))
        return { text: name }
      })
    const session = await world.open(agentWith(noting('look'), noting('count')))
    await ask(session, user('1'))
    await ask(session, user('2'))
    const id = 'task/3/agent/post_task+1:write+output~2'
    expect(session.id).toBe(id)
    expect(startedIn(world).map(({ p }) => p)).toEqual([0, 1, 2].map((turn) => `${id}/turn/${turn}#0`))
    expect(places).toEqual([`${id}/turn/0/tool/0:look`, `${id}/turn/0/tool/1:count`])
    const opener = 'task/3/post_task/1:write/output#2'
    const items = world.sent.flatMap((event) => (event.type === 'item.started' ? [[event.agent, event.item.id]] : []))
    expect(items).toEqual([
      [opener, `${opener}/message`],
      [opener, `${opener}/message-2`],
      [opener, `${opener}/message-3`],
    ])
  })

  it('records in each turn the new messages, and a hash of the earlier ones', async () => {
    const provider = createFakeProvider([calls('look'), says('one'), says('two')])
    const world = await sessionWorld({ provider })
    const session = await world.open(agentWith(tool('look')))
    await ask(session, user('1'))
    const { messages } = await ask(session, user('2'))
    const [first, second, third] = requestsIn(world)
    expect(first).toMatchObject({ messages: [user('1')] })
    expect(first?.before).toBe(undefined)
    expect(second).toMatchObject({ before: { count: 2 }, messages: [resultOf('call_0', 'look gave this')] })
    expect(third).toMatchObject({ before: { count: 4 }, messages: [user('2')] })
    expect([second, third].every((request) => /^[0-9a-f]{64}$/.test(request?.before?.hash ?? ''))).toBe(true)
    expect(second?.before?.hash).not.toBe(third?.before?.hash)
    expect(messages).toHaveLength(6)
    expect(sha256(JSON.stringify(messages))).not.toBe('')
  })

  it('computes a different hash for different words', async () => {
    const hashOf = async (text: string): Promise<string | undefined> => {
      const world = await sessionWorld({ provider: createFakeProvider([says(text), says('two')]) })
      const session = await world.open(agentWith())
      for (const asked of ['1', '2']) await ask(session, user(asked))
      return requestsIn(world)[1]?.before?.hash
    }
    const [one, same, other] = [await hashOf('one'), await hashOf('one'), await hashOf('other')]
    expect([one === same, one === other]).toEqual([true, false])
  })
})

describe('tool calls of a session', () => {
  it('run concurrently, and their results are in the order of the calls', async () => {
    const provider = createFakeProvider([calls('slow', 'quick'), says('done')])
    const world = await sessionWorld({ provider })
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const session = await world.open(
      agentWith(
        tool('slow', async () => {
          await released
          return { text: 'slow' }
        }),
        tool('quick', async () => {
          release()
          return { text: 'quick' }
        }),
      ),
    )
    expect(await ask(session, user('1'))).toMatchObject({ text: 'done', calls: [{}, {}] })
    expect(provider.requests[1]?.messages.slice(-2)).toEqual([resultOf('call_0', 'slow'), resultOf('call_1', 'quick')])
  })

  it('that fail, or name a missing tool, return errors to the model', async () => {
    const provider = createFakeProvider([calls('broken', 'unknown', 'fine'), says('done')])
    const world = await sessionWorld({ provider })
    const broken = tool('broken', () => Promise.reject(new BatonError('FILE_FAILED', 'there is no file x')))
    const session = await world.open(agentWith(broken, tool('fine')))
    expect((await ask(session, user('1'))).text).toBe('done')
    const results = provider.requests[1]?.messages.slice(-3).flatMap(({ parts }) => parts)
    expect(results).toMatchObject([
      { id: 'call_0', parts: [{ text: 'there is no file x' }], is_error: true },
      { id: 'call_1', parts: [{ text: 'Tool "unknown" not found. Available tools: broken, fine' }], is_error: true },
      { id: 'call_2', parts: [{ text: 'fine gave this' }] },
    ])
    const reasons = world.sent.flatMap((event) => (event.type === 'tool.completed' ? [[event.name, event.reason]] : []))
    expect(reasons.toSorted()).toEqual([
      ['broken', undefined],
      ['fine', undefined],
      ['unknown', 'TOOL_NOT_FOUND'],
    ])
  })

  it('of tools that an agent has given up are not offered', async () => {
    const provider = createFakeProvider([says('done')])
    const world = await sessionWorld({ provider })
    const { services } = world.context
    const session = await services.agents.open(
      agentWith(tool('read'), tool('bash')),
      narrow(world.context, { tools: { tools: ['read'] } }),
    )
    await ask(session, user('1'))
    expect(provider.requests[0]?.tools?.map(({ name }) => name)).toEqual(['read'])
  })

  it('end an answer at the limit of turns', async () => {
    const provider = createFakeProvider([calls('look'), calls('look'), says('more')])
    const world = await sessionWorld({ provider })
    const session = await world.open({ ...agentWith(tool('look')), maxTurns: 2, acceptsEmpty: true })
    const result = await ask(session, user('1'))
    expect(result).toMatchObject({ end: 'max_turns', calls: [{}] })
    expect((await ask(session, user('2'))).text).toBe('more')
    // hosts refuse a call without a result, and a thought without what followed from it
    expect(provider.requests[2]?.messages.slice(-3)).toMatchObject([
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'call_0' }] },
      {
        role: 'tool',
        parts: [{ id: 'call_0', is_error: true, parts: [{ text: expect.stringContaining('call limit') }] }],
      },
      user('2'),
    ])
  })

  it('of tools that were never offered are not sent back, nor the thoughts about them', async () => {
    const provider = createFakeProvider([
      { text: ['Well.'], reasoning: ['I call it.'], toolCalls: ['look'], finish: 'tool_calls' },
      says('two'),
    ])
    const world = await sessionWorld({ provider })
    const session = await world.open(agentWith())
    await ask(session, user('1'))
    await ask(session, user('2'))
    expect(provider.requests[1]?.messages[1]?.parts.map(({ type }) => type)).toEqual(['reasoning', 'text'])
  })

  it('that stop the run end the answer', async () => {
    const provider = createFakeProvider([calls('stop', 'look')])
    const world = await sessionWorld({ provider })
    const stop = tool('stop', () => Promise.reject(new BatonError('DIVERGED', 'another call')))
    const session = await world.open(agentWith(stop, tool('look')))
    await expect(ask(session, user('1'))).rejects.toMatchObject({ code: 'DIVERGED' })
    expect(session.status()).toMatchObject({ kind: 'failed' })
    expect(world.sent.map(({ type }) => type)).toContain('agent.failed')
  })
})

describe('an interrupted session', () => {
  it('stops the current answer, and accepts further messages', async () => {
    const never = new Promise<void>(() => {})
    const provider = createFakeProvider([{ ...says('never'), gate: never }, says('two')])
    const world = await sessionWorld({ provider })
    const session = await world.open(agentWith())
    const id = await session.send([user('1')])
    while (provider.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    session.interrupt()
    await expect(session.answer(id)).rejects.toMatchObject({ name: 'AbortError' })
    expect((await ask(session, user('2'))).text).toBe('two')
    expect(provider.requests[1]?.messages).toEqual([user('1'), user('2')])
    await session.close()
    expect((await session.ended)?.text).toBe('two')
  })

  it('leaves no call without a result if tools are running, and keeps those that had ended', async () => {
    const provider = createFakeProvider([calls('quick', 'slow'), says('two')])
    const world = await sessionWorld({ provider })
    let begun = (): void => {}
    const hasBegun = new Promise<void>((resolve) => (begun = resolve))
    const slow = tool('slow', (_, { services }) => {
      begun()
      return new Promise((__, reject) => {
        services.signal.addEventListener('abort', () => reject(services.signal.reason as Error))
      })
    })
    const session = await world.open(agentWith(tool('quick'), slow))
    const id = await session.send([user('1')])
    await hasBegun
    session.interrupt()
    await expect(session.answer(id)).rejects.toMatchObject({ name: 'AbortError' })
    expect((await ask(session, user('2'))).text).toBe('two')
    const { messages = [] } = provider.requests[1] ?? {}
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user'])
    expect(messages.slice(2, 4).flatMap(({ parts }) => parts)).toMatchObject([
      { type: 'tool_result', id: 'call_0' },
      { type: 'tool_result', id: 'call_1', is_error: true },
    ])
    expect(messages[2]?.parts[0]).not.toHaveProperty('is_error')
  })
})

describe('a session that continues in another process', () => {
  const look = tool('look', async (_, { scope, services }) => ({
    text: await services.effects.observeAsync(scope.at, { name: 'look', args: [] }, async () => 'seen'),
  }))

  async function talk(world: SessionWorld, messages: readonly string[]): Promise<readonly string[]> {
    const session = await world.open(agentWith(look))
    const answers: string[] = []
    for (const message of messages) answers.push((await ask(session, user(message))).text)
    await session.close()
    return answers
  }

  it('uses the paid turns, and requests the rest with the same words', async () => {
    const script = [calls('look'), says('one'), says('two'), says('three')]
    const whole = await sessionWorld({ provider: createFakeProvider(script) })
    await talk(whole, ['1', '2', '3'])

    const first = await sessionWorld({ provider: createFakeProvider(script) })
    await talk(first, ['1'])
    const provider = createFakeProvider(script.slice(2))
    const second = await sessionWorld({ provider, before: first.records })
    expect(await talk(second, ['1', '2', '3'])).toEqual(['one', 'two', 'three'])
    expect(provider.requests.map(({ messages }) => messages.length)).toEqual([5, 7])
    expect(requestsIn(second)).toEqual(requestsIn(whole).slice(2))
  })

  it('does not repeat an interrupted request if it had continued after it', async () => {
    const first = await sessionWorld({
      provider: createFakeProvider([{ ...says('never'), gate: new Promise<void>(() => {}) }, says('two')]),
    })
    const session = await first.open(agentWith())
    const id = await session.send([user('1')])
    while (first.records.length === 0) await new Promise((resolve) => setImmediate(resolve))
    session.interrupt()
    await expect(session.answer(id)).rejects.toThrow('interrupted')
    await ask(session, user('2'))
    await session.close()

    const provider = createFakeProvider([says('three')])
    const second = await sessionWorld({ provider, before: first.records })
    const again = await second.open(agentWith())
    await expect(ask(again, user('1'))).rejects.toThrow('interrupted')
    expect((await ask(again, user('2'))).text).toBe('two')
    expect((await ask(again, user('3'))).text).toBe('three')
    expect(provider.requests).toHaveLength(1)
  })

  it('diverges if earlier messages differ', async () => {
    const script = [says('one'), says('two')]
    const first = await sessionWorld({ provider: createFakeProvider(script) })
    await talk(first, ['1', '2'])
    const second = await sessionWorld({ provider: createFakeProvider([]), before: first.records })
    await expect(talk(second, ['other', '2'])).rejects.toMatchObject({ code: 'DIVERGED' })
  })

  it('is independent of the order of fields in records', async () => {
    const script = [calls('look'), says('one'), says('two')]
    const first = await sessionWorld({ provider: createFakeProvider(script) })
    await talk(first, ['1', '2'])
    const before = first.records.map((record) => reversed(record) as JournalRecord)
    const provider = createFakeProvider([says('three')])
    const second = await sessionWorld({ provider, before })
    expect(await talk(second, ['1', '2', '3'])).toEqual(['one', 'two', 'three'])
    expect(second.records.map(({ k }) => k)).toEqual(['started', 'ended'])
  })
})

describe('a session with a waiting tool', () => {
  const suspension = new BatonError('SUSPENDED', 'waiting for an approval')
  const act = (name: string, done: string[]): Tool =>
    tool(name, async (_, { scope, services }) => ({
      text: await services.effects.perform<string>(
        scope.at,
        { kind: 'tool', request: name, repeat: 'safe', action: { kind: 'command', program: name, caller: name } },
        async () => {
          done.push(name)
          return `${name} did this`
        },
      ),
    }))

  it('is suspended when the other tools have finished, and repeats no request when it continues', async () => {
    const script = [calls('deploy', 'look', 'count'), says('done')]
    const done: string[] = []
    const tools = ['deploy', 'look', 'count'].map((name) => act(name, done))
    let count = 0
    const hook = {
      effect<T>(kind: string, work: () => Promise<T>): Promise<T> {
        if (kind !== 'tool') return work()
        count += 1
        return count === 1 ? Promise.reject(suspension) : work()
      },
    }
    const first = await sessionWorld({ provider: createFakeProvider(script), hooks: [hook] })
    const session = await first.open(agentWith(...tools))
    await expect(ask(session, user('1'))).rejects.toBe(suspension)
    await session.close()
    expect(done.toSorted()).toEqual(['count', 'look'])
    const types = first.sent.map(({ type }) => type)
    expect([types.includes('agent.suspended'), types.includes('agent.failed')]).toEqual([true, false])
    expect(types).not.toContain('agent.completed')

    const provider = createFakeProvider(script.slice(1))
    const second = await sessionWorld({ provider, before: first.records })
    const again = await second.open(agentWith(...tools))
    expect((await ask(again, user('1'))).text).toBe('done')
    expect(done).toHaveLength(3)
    expect(done.at(-1)).toBe('deploy')
    expect(second.repeated).toEqual([])
    expect(provider.requests[0]?.messages.slice(-3)).toEqual(
      ['deploy', 'look', 'count'].map((name, index) => resultOf(`call_${index}`, `${name} did this`)),
    )
  })
})

/** The same value with the fields of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, field]) => [key, reversed(field)]),
  )
}
