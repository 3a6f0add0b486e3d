import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { textOf } from '../../../src/event/message.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import type { FakeTurn } from '../../helpers/fake-model.ts'
import { type Answer, type Asked, type Call, type Life, wholeLife } from '../../helpers/task-world.ts'
import { agentsIn, spawn, teamWorld } from '../../helpers/team-world.ts'

function resultsIn({ result }: Life): readonly unknown[] {
  return result.calls.map(({ output, is_error: isError }) => (isError === true ? output : JSON.parse(output)))
}

describe('a leader', () => {
  it('spawns agents, waits for them and closes them', async () => {
    const script = (asked: Asked): Answer => {
      const { who, turn } = asked
      if (who !== 'parent') return `${who} is at home`
      const [cat = '', dog = ''] = agentsIn(asked)
      if (turn === 0) return [spawn('cat'), spawn('dog', { role: 'worker' })]
      if (turn === 1) return [['wait', { ids: [cat, dog] }]]
      if (turn === 2)
        return [
          ['close_agent', { id: cat }],
          ['close_agent', { id: dog }],
        ]
      return 'Done.'
    }
    const records: JournalRecord[] = []
    const world = teamWorld({ script })
    const life = await wholeLife(world, records)
    const [{ agent_id: cat }, { agent_id: dog }, wait, ...closes] = resultsIn(life) as readonly JsonObject[] as [
      { readonly agent_id: string },
      { readonly agent_id: string },
      ...JsonObject[],
    ]
    expect(wait).toEqual({
      status: { [cat]: { completed: 'cat is at home' }, [dog]: { completed: 'dog is at home' } },
      timed_out: false,
    })
    expect(closes).toEqual([{ status: { completed: 'cat is at home' } }, { status: { completed: 'dog is at home' } }])
    expect(life.result.text).toBe('Done.')
    const again = teamWorld({ script })
    expect((await wholeLife(again, records)).result.text).toBe('Done.')
    expect(again.asked).toEqual([])
  })
})

/** A leader that makes these calls, one per answer; the ids are those of the agents in the order of their spawns. */
function leads(
  ...calls: readonly ((ids: readonly string[]) => readonly Call[])[]
): (asked: Asked) => Answer | undefined {
  return (asked) => {
    if (asked.who !== 'parent') return undefined
    const next = calls[asked.turn]
    return next === undefined ? 'Done.' : next(agentsIn(asked))
  }
}

it('messages, waits and closes in one answer are executed in order', async () => {
  const lead = leads(
    () => [spawn('cat')],
    ([cat = '']) => [['wait', { ids: [cat] }]],
    ([cat = '']) => [
      ['send_input', { id: cat, message: 'And now?' }],
      ['wait', { ids: [cat] }],
      ['close_agent', { id: cat }],
    ],
  )
  const world = teamWorld({
    script: (asked) => lead(asked) ?? (heard(asked).includes('And now?') ? 'It sleeps.' : 'It is at home.'),
  })
  const [{ agent_id: cat }, , , wait, close] = resultsIn(await wholeLife(world)) as [
    { readonly agent_id: string },
    ...JsonObject[],
  ]
  expect(wait).toEqual({ status: { [cat]: { completed: 'It sleeps.' } }, timed_out: false })
  expect(close).toEqual({ status: { completed: 'It sleeps.' } })
})

it('calls may use prompt and thread_id instead of message and id (R107 to R110)', async () => {
  const lead = leads(
    () => [['spawn_agent', { prompt: 'cat', role: 'worker' }]],
    ([thread_id = '']) => [['wait', { thread_ids: [thread_id] }]],
    ([thread_id = '']) => [
      ['send_input', { thread_id, prompt: 'And now?' }],
      ['wait', { thread_ids: [thread_id] }],
      ['close_agent', { thread_id }],
    ],
  )
  const life = await wholeLife(
    teamWorld({ script: (asked) => lead(asked) ?? (heard(asked).includes('And now?') ? 'It sleeps.' : 'At home.') }),
  )
  const [{ agent_id: cat }, , , wait, close] = resultsIn(life) as [{ readonly agent_id: string }, ...JsonObject[]]
  expect(wait).toEqual({ status: { [cat]: { completed: 'It sleeps.' } }, timed_out: false })
  expect(close).toEqual({ status: { completed: 'It sleeps.' } })
})

function heard({ request }: Asked): readonly string[] {
  return request.messages.flatMap((message) => (message.role === 'user' ? [textOf(message)] : []))
}

/** The same answer as a turn that may be delayed. */
function calling(calls: readonly Call[]): FakeTurn {
  return {
    text: [],
    toolCalls: calls.map(([name]) => name),
    toolInput: calls.map(([, input]) => JSON.stringify(input)),
    finish: 'tool_calls',
  }
}

const never = new Promise<void>(() => {})
const wait = (ids: readonly string[], more: object = {}): readonly Call[] => [['wait', { ids, ...more }]]

describe('an agent', () => {
  // TV18
  it('that has ended continues after a message, and remembers the conversation', async () => {
    const leader = leads(
      () => [spawn('cat')],
      (ids) => wait(ids),
      ([id]) => [['send_input', { id, message: 'again' }]],
      (ids) => wait(ids),
    )
    const life = await wholeLife(teamWorld({ script: (asked) => leader(asked) ?? heard(asked).join(', ') }))
    expect(resultsIn(life)[3]).toMatchObject({ timed_out: false })
    expect(JSON.stringify(resultsIn(life)[3])).toContain('"completed":"cat, again"')
  })

  // TV19
  it('that is interrupted does not end a wait, and continues with the message', async () => {
    const leader = leads(
      () => [spawn('cat')],
      ([id = '']) => [...wait([id]), ['send_input', { id, message: 'stop', interrupt: true }]],
    )
    const script = (asked: Asked): Answer =>
      leader(asked) ??
      (heard(asked).length === 1 ? { text: ['Never.'], gate: never } : `heard ${heard(asked).join(', ')}`)
    const life = await wholeLife(teamWorld({ script }))
    expect(JSON.stringify(resultsIn(life)[1])).toContain('"completed":"heard cat, stop"')
  })

  // TV19
  it('that is working gets a message before its next request', async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    let wasAsked = (): void => {}
    const works = new Promise<void>((resolve) => (wasAsked = resolve))
    const leader = leads(
      () => [spawn('cat')],
      ([id = '']) => [['send_input', { id, message: 'more' }]],
      (ids) => {
        open()
        return wait(ids)
      },
    )
    const script = (asked: Asked): Answer => {
      const answer = leader(asked)
      if (asked.who === 'parent')
        return asked.turn === 1 ? { ...calling(answer as readonly Call[]), gate: works } : (answer ?? '')
      wasAsked()
      return asked.turn === 0 ? { text: ['First.'], gate } : `heard ${heard(asked).join(', ')}`
    }
    const world = teamWorld({ script })
    const life = await wholeLife(world)
    expect(JSON.stringify(resultsIn(life)[2])).toContain('"completed":"heard cat, more"')
  })

  // TV22
  it('that is closed while it works is stopped; closing it again reports that', async () => {
    const leader = leads(
      () => [spawn('cat')],
      (ids) => wait(ids, { timeout_ms: 20 }),
      ([id]) => [['close_agent', { id }]],
      ([id]) => [
        ['close_agent', { id }],
        ['send_input', { id, message: 'hello' }],
      ],
    )
    const script = (asked: Asked): Answer => leader(asked) ?? { text: ['Never.'], gate: never }
    const life = await wholeLife(teamWorld({ script }))
    const [spawned, waited, closed, again, sent] = life.result.calls.map(({ output }) => output)
    const { agent_id: id } = JSON.parse(spawned ?? '') as { readonly agent_id: string }
    expect(waited).toBe(JSON.stringify({ status: { [id]: 'running' }, timed_out: true }))
    expect([closed, again, sent]).toEqual([
      '{"status":"running"}',
      '{"status":"shutdown"}',
      `agent with id ${id} is closed`,
    ])
  })

  // TV23
  it('waits for a slot beyond max_agents', async () => {
    const leader = leads(
      () => ['cat', 'dog', 'bird'].map((name) => spawn(name)),
      (ids) => wait(ids),
    )
    const life = await wholeLife(
      teamWorld({ settings: { maxAgents: 1 }, script: (asked) => leader(asked) ?? `${asked.who}!` }),
    )
    expect(JSON.stringify(resultsIn(life)[3])).toMatch(/cat!.*dog!.*bird!/)
  })

  // TV23
  it('at the maximum depth is offered no such tools, and told the reason when it calls one', async () => {
    const offers: (readonly string[])[] = []
    const leader = leads(
      () => [spawn('cat')],
      (ids) => wait(ids),
    )
    const script = (asked: Asked): Answer => {
      const answer = leader(asked)
      if (answer !== undefined) return answer
      offers.push((asked.request.tools ?? []).map(({ name }) => name))
      return asked.turn === 0 ? [spawn('kitten')] : asked.told.join()
    }
    const life = await wholeLife(teamWorld({ script }))
    expect(offers[0]).toEqual(['todo'])
    expect(JSON.stringify(resultsIn(life)[1])).toContain('agent depth limit reached (max 1)')
  })
})

describe('a call', () => {
  const id = '67e55044-10b1-426f-9247-bb680e5fe0c8'
  it.each<[string, Call, string]>([
    ['blank text', ['spawn_agent', { message: ' ' }], "Empty message can't be sent to an agent"],
    ['a role that is not there', spawn('cat', { agent_type: 'boss' }), 'Unknown role: boss. Roles: default, worker'],
    ['an agent that is not there', ['send_input', { id, message: 'x' }], `agent with id ${id} not found`],
    ['what is no id', ['send_input', { id: 'x', message: 'x' }], 'invalid agent id x: '],
    ['nobody to wait for', ['wait', { ids: [] }], 'ids must be non-empty'],
    ['no time', ['wait', { ids: [id], timeout_seconds: 0 }], 'must be greater than zero'],
    ['a time before now', ['wait', { ids: [id], timeout_ms: -1 }], 'must be greater than zero'],
    [
      'a text that is given twice',
      ['spawn_agent', { message: 'x', prompt: 'x' }],
      '"message" and "prompt" mean the same',
    ],
    ['an id that is given twice', ['close_agent', { id, thread_id: id }], '"id" and "thread_id" mean the same'],
    ['a text that is not given', ['spawn_agent', { role: 'worker' }], '"message" is missing'],
    ['an unknown agent to close', ['close_agent', { id }], `agent with id ${id} not found`],
  ])('reports %s', async (_, call, message) => {
    const leader = leads(() => [call])
    const { result } = await wholeLife(teamWorld({ script: (asked) => leader(asked) ?? 'No.' }))
    expect(result.calls).toMatchObject([{ output: expect.stringContaining(message), is_error: true }])
  })

  it('waits for all agents that are at work if it names none, and ignores keys that the tool does not have', async () => {
    const leader = leads(
      () => [['spawn_agent', { message: 'cat', priority: 'high' }]],
      () => [['wait', { reason: 'They are needed.' }]],
      () => [['wait', {}]],
    )
    const script = (asked: Asked): Answer => (asked.who === 'cat' ? 'At home.' : (leader(asked) ?? 'Done.'))
    const life = await wholeLife(teamWorld({ script }))
    const [spawned, waited, nobody] = life.result.calls
    expect(spawned).not.toHaveProperty('is_error')
    expect(JSON.parse(waited?.output ?? '{}')).toMatchObject({
      status: {
        [String((JSON.parse(spawned?.output ?? '{}') as { agent_id: string }).agent_id)]: { completed: 'At home.' },
      },
    })
    expect(nobody).toMatchObject({ output: 'none of your agents is working', is_error: true })
  })

  // TV21
  it.each<[object, number]>([
    [{}, 30],
    [{ timeout_seconds: 1 }, 10],
    [{ timeout_ms: 9_999_000 }, 300],
    [{ timeout_seconds: 45 }, 45],
  ])('waits within the limits: %j is %i seconds', async (more, seconds) => {
    const leader = leads(() => wait([id], more))
    const life = await wholeLife(
      teamWorld({ settings: { minWaitMs: 10_000 }, script: (asked) => leader(asked) ?? 'No.' }),
    )
    expect(resultsIn(life)).toEqual([{ status: { [id]: 'not_found' }, timed_out: false }])
    expect(life.sent.find(({ type }) => type === 'collab.waiting_begin')).toMatchObject({ timeout_seconds: seconds })
  })
})

it('a leader that stops calling tools waits for its agents, gets their results, and a warning names those that it never closed', async () => {
  const leader = leads(() => [spawn('cat')])
  const script = (asked: Asked): Answer =>
    asked.who === 'cat' ? 'At home.' : asked.turn === 2 ? `So: ${asked.told.join()}` : (leader(asked) ?? '')
  const life = await wholeLife(teamWorld({ script }))
  expect(life.result.text).toMatch(/So: default [0-9a-f-]{36} is done: At home\./)
  expect(life.sent.find(({ type }) => type === 'warning')).toMatchObject({
    message: 'the model left agents open, which ended with its answer: default 1',
  })
})
