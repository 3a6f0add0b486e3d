import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { openApprovals } from '../../src/journal/open-approvals.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import {
  type Answer,
  type Asked,
  type Call,
  type Life,
  type TaskWorld,
  wholeLife,
  answeredCalls,
} from '../helpers/task-world.ts'
import { openMemoryRecords } from '../helpers/memory-journal.ts'
import { core } from '../helpers/series.ts'
import { agentsIn, spawn, teamWorld } from '../helpers/team-world.ts'

/** A leader whose agent starts an agent, ends, and writes to that agent when it gets a message to continue. */
function leading(asked: Asked): Answer {
  const { who, turn } = asked
  const [own = ''] = agentsIn(asked)
  if (who === 'kitten') return `kitten ${turn}`
  if (who.startsWith('cat')) {
    const turns: readonly Answer[] = [
      [spawn('kitten')],
      [['wait', { ids: [own] }]],
      'cat waits for more',
      [['send_input', { id: own, message: 'more' }]],
      [['wait', { ids: [own] }]],
    ]
    return turns[turn] ?? `cat heard ${asked.told.join()}`
  }
  const turns: readonly Answer[] = [
    [spawn('cat')],
    [['wait', { ids: [own] }]],
    [['send_input', { id: own, message: 'go on' }]],
    [['wait', { ids: [own] }]],
    [['close_agent', { id: own }]],
  ]
  return turns[turn] ?? 'Done.'
}

it('an agent whose spawner has ended exists in a resumed run, and nothing is paid twice', async () => {
  const settings = { maxDepth: 2 }
  const whole: JournalRecord[] = []
  const expected = await wholeLife(teamWorld({ script: leading, settings }), whole)
  expect(expected.result.calls[3]?.output).toContain('kitten 1')
  for (let lives = core(24, 0); lives < whole.length; lives += core(9, 1)) {
    const where = `killed after ${lives} records`
    const world = teamWorld({ script: leading, settings })
    const records: JournalRecord[] = []
    if ((await world.live(records, lives)) !== undefined) break
    const paid = answeredCalls(records)
    const before = world.asked.length
    const life = await wholeLife(world, records)
    expect(life.result.calls[3]?.output, where).toContain('kitten 1')
    expect(life.result.text, where).toBe('Done.')
    expect(world.asked.length - before, where).toBe(answeredCalls(records).size - paid.size)
    expect(world.asked.filter((one) => one.startsWith('kitten')).length, where).toBeLessThanOrEqual(3)
  }
})

it('the last pieces of work of unclosed agents are in a replay', async () => {
  const script = (asked: Asked): Answer => {
    const { who, turn } = asked
    if (who !== 'parent') return turn % 2 === 0 ? [['todo', { todos: [] }]] : `${who} ${turn}`
    const ids = agentsIn(asked)
    if (turn === 0) return [spawn('cat'), spawn('dog')]
    if (turn === 1) return [['wait', { ids }]]
    if (turn < 4) return ids.map((id) => ['send_input', { id, message: `more ${turn}` }])
    return `Done: ${asked.told.join()}`
  }
  const world = teamWorld({ script })
  const records: JournalRecord[] = []
  const life = await wholeLife(world, records)
  expect(life.result.text).toContain('Done: ')
  expect(await world.replay(records)).toBeUndefined()
})

/**
 * A leader whose agent starts an agent and is interrupted or fails; when it gets a message to continue, it works with
 * the agent that it started.
 */
function breaking(how: 'interrupted' | 'failed' | 'asking'): (asked: Asked) => Answer {
  const never = new Promise<void>(() => {})
  let reach = (): void => {}
  const reached = new Promise<void>((resolve) => (reach = resolve))

  function cat(asked: Asked): Answer {
    const [own = ''] = agentsIn(asked)
    const said = JSON.stringify(asked.request.messages)
    const goesOn = said.includes('go on')
    // the call that needed approval is a turn of the conversation
    const turn = said.includes('"name":"todo"') ? asked.turn - 1 : asked.turn
    const turns: readonly Answer[] = [
      [spawn('kitten')],
      [['wait', { ids: [own] }]],
      [['send_input', { id: own, message: 'more' }]],
      [['wait', { ids: [own] }]],
    ]
    if (goesOn || turn < 2) return turns[turn] ?? `cat heard ${asked.told.join()}`
    reach()
    if (how === 'asking') return [['todo', { todos: [] }]]
    if (how === 'interrupted') return { text: ['Never.'], gate: never }
    return { text: [], failure: new BatonError('MODEL_FAILED', 'no answer') }
  }

  return (asked) => {
    const { who, turn } = asked
    if (who === 'kitten') return `kitten ${turn}`
    if (who.startsWith('cat')) return cat(asked)
    const [own = ''] = agentsIn(asked)
    const goOn: Call = ['send_input', { id: own, message: 'go on', interrupt: how !== 'failed' }]
    const turns: readonly Answer[] = [
      [spawn('cat')],
      how !== 'failed'
        ? {
            text: [],
            gate: reached.then(() => delay(how === 'asking' ? 20 : 0)),
            toolCalls: ['glob'],
            toolInput: '{"pattern":"*.md"}',
            finish: 'tool_calls',
          }
        : [['wait', { ids: [own] }]],
      [goOn],
      [['wait', { ids: [own] }]],
      [['close_agent', { id: own }]],
    ]
    return turns[turn] ?? 'Done.'
  }
}

const nobodyYet = async (): Promise<never> => {
  throw new BatonError('WAITING_FOR_APPROVAL', 'waiting for a person')
}

it.each([
  { how: 'interrupted', what: 'was interrupted' },
  { how: 'failed', what: 'failed' },
  { how: 'asking', what: 'was interrupted while it waited for a person' },
] as const)('an agent whose spawner $what exists in a resumed run, and nothing is paid twice', async ({ how }) => {
  const settings = { maxDepth: 2 }
  const whole: JournalRecord[] = []
  const isAsking = how === 'asking'
  const rules = [{ tool: 'todo', effect: 'ask', origin: 'test' }] as const
  const begun = (): TaskWorld =>
    teamWorld({
      script: breaking(how),
      settings,
      tools: ['todo', 'glob'],
      ...(isAsking ? { rights: { rules }, approver: nobodyYet } : {}),
    })
  const expected = await wholeLife(begun(), whole)
  expect(expected.result.calls[3]?.output).toContain('kitten 1')
  for (let lives = core(24, 0); lives < whole.length; lives += core(9, 1)) {
    const where = `killed after ${lives} records`
    const world = begun()
    const records: JournalRecord[] = []
    if ((await world.live(records, lives)) !== undefined) break
    const before = world.asked.length
    const paid = answeredCalls(records)
    const life = await wholeLife(world, records)
    expect(life.result.calls[3]?.output, where).toContain('kitten 1')
    expect(life.result.text, where).toBe('Done.')
    // the request that did not end successfully is made again if its piece had not ended successfully
    expect(world.asked.length - before - (answeredCalls(records).size - paid.size), where).toBeLessThanOrEqual(1)
    expect(await world.replay(records), where).toBeUndefined()
    // nothing is asked anymore on behalf of a stopped agent
    const index = await indexRun(openMemoryRecords([...records], noMask), { keeps: 'unfinished' })
    expect(openApprovals(index), where).toEqual([])
  }
})

it('the usage of an agent excludes that of agents it started, also when a record answers', async () => {
  const settings = { maxDepth: 2 }
  const usedBy = ({ sent }: Life): readonly number[] =>
    sent.flatMap((one) =>
      one.type === 'agent.completed' && one.id !== undefined && one.usage !== undefined ? [one.usage.calls] : [],
    )
  const script = (asked: Asked): Answer => {
    const { who, turn } = asked
    const ids = agentsIn(asked)
    if (who === 'kitten') return turn < 2 ? [['todo', { todos: [] }]] : 'kitten'
    const turns: readonly Answer[] = [[spawn(who === 'parent' ? 'cat' : 'kitten')], [['wait', { ids }]]]
    return turns[turn] ?? who
  }
  const whole: JournalRecord[] = []
  expect(usedBy(await wholeLife(teamWorld({ script, settings }), whole))).toEqual([3, 3])
  for (let lives = core(30, 0); lives < whole.length; lives += core(9, 1)) {
    const world = teamWorld({ script, settings })
    const records: JournalRecord[] = []
    if ((await world.live(records, lives)) !== undefined) break
    expect(usedBy(await wholeLife(world, records)).toSorted(), `killed after ${lives} records`).toEqual([3, 3])
  }
})
