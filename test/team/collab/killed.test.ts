import { expect, it } from 'vitest'
import { textOf } from '../../../src/event/message.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { core } from '../../helpers/series.ts'
import { type Answer, type Asked, type Life, wholeLife, answeredCalls } from '../../helpers/task-world.ts'
import { agentsIn, spawn, teamWorld } from '../../helpers/team-world.ts'

const never = new Promise<void>(() => {})

/** Everything that others told a conversation, in order. */
function heard({ request }: Asked): readonly string[] {
  return request.messages.flatMap((message) => (message.role === 'user' ? [textOf(message)] : []))
}

/** Alternately an agent that has todos and one that waits until it is interrupted. */
function namesOf(agents: number): readonly string[] {
  return Array.from({ length: agents }, (_, index) => `${index % 2 === 0 ? 'cat' : 'dog'}${index}`)
}

/** Spawns agents, writes to all, interrupts every second one, waits, writes again, waits and closes all. */
function leading(agents: number): (asked: Asked) => Answer {
  const names = namesOf(agents)
  return (asked) => {
    const { who, turn } = asked
    if (who.startsWith('cat')) {
      return turn === 0 ? [['todo', { todos: [] }]] : `${who} heard ${heard(asked).slice(1).join(', ')}`
    }
    if (who.startsWith('dog')) {
      return heard(asked).length === 1 ? { text: ['Never.'], gate: never } : `${who} heard ${heard(asked).at(-1)}`
    }
    const ids = agentsIn(asked)
    const cats = ids.filter((_, index) => index % 2 === 0)
    const turns: readonly Answer[] = [
      names.map((name) => spawn(name, name.startsWith('dog') ? { role: 'worker' } : {})),
      ids.map((id) =>
        cats.includes(id)
          ? ['send_input', { id, message: 'more' }]
          : ['send_input', { id, message: 'come', interrupt: true }],
      ),
      [['wait', { ids }]],
      cats.map((id) => ['send_input', { id, message: 'again' }]),
      [['wait', { ids: cats }]],
      ids.map((id) => ['close_agent', { id }]),
    ]
    return turns[turn] ?? 'Done.'
  }
}

function spawned(records: readonly JournalRecord[]): number {
  return records.filter((one) => one.k === 'obs' && one.name === 'spawn_agent').length
}

/** What the leader was told, without the ids of agents, which are random. */
function toldIn({ result }: Life): readonly string[] {
  const ids = new Map<string, string>()
  const named = (text: string): string =>
    text.replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      ids.set(id, ids.get(id) ?? `agent-${ids.size}`)
      return ids.get(id) ?? ''
    })
  return result.calls.map(({ output }) => named(output))
}

/** What the leader learns from its waits and closes. */
function toldWhole(agents: number): readonly unknown[] {
  const names = namesOf(agents).map((name, index) => ({ name, id: `agent-${index}`, isCat: name.startsWith('cat') }))
  const cats = names.filter(({ isCat }) => isCat)
  const end = (name: string, text: string): object => ({ completed: `${name} heard ${text}` })
  const first = names.map(({ name, id, isCat }) => [id, end(name, isCat ? 'more' : 'come')])
  const second = cats.map(({ name, id }) => [id, end(name, 'more, again')])
  return [
    JSON.stringify({ status: Object.fromEntries(first), timed_out: false }),
    ...cats.map(() => expect.stringContaining('submission_id')),
    JSON.stringify({ status: Object.fromEntries(second), timed_out: false }),
    ...names.map(({ name, isCat }) => JSON.stringify({ status: end(name, isCat ? 'more, again' : 'come') })),
  ]
}

let points = 0

// how many agents work at the same time: if fewer, others wait for their turn
const teams = [
  [2, 6],
  [2, 1],
  [1, 1],
  [2, 2],
  [3, 6],
  [3, 2],
  [4, 4],
  [5, 3],
  [6, 6],
  [6, 1],
] as const

it.each(teams.slice(0, core(2, teams.length)))(
  'a leader of %i agents that is killed at any record has the same agents, and no message or paid call twice (%i at once)',
  async (agents, maxAgents) => {
    const settings = { maxAgents }
    const whole: JournalRecord[] = []
    const script = leading(agents)
    const expected = await wholeLife(teamWorld({ script, settings }), whole)
    const told = toldIn(expected)
    expect(told.slice(2 * agents)).toEqual(toldWhole(agents))
    const world = teamWorld({ script, settings })
    const step = core(12, 1)
    for (let lives = 0; lives < whole.length; lives += step) {
      const records: JournalRecord[] = []
      const where = `killed after ${lives} records`
      // the number of records at its end depends on the speed of its agents
      if ((await world.live(records, lives)) !== undefined) break
      points += 1
      const paid = answeredCalls(records)
      const before = world.asked.length
      const life = await wholeLife(world, records)
      expect(toldIn(life), where).toEqual(told)
      expect(spawned(records), where).toBe(agents)
      // a dog waits until it is interrupted: its first request does not end
      const asked = world.asked.slice(before)
      const dogs = [...answeredCalls(records)].filter((place) => place.includes('worker') && !paid.has(place)).length
      const others = answeredCalls(records).size - paid.size - dogs
      expect(asked.filter((one) => !one.startsWith('dog')).length, where).toBe(others)
      expect(
        life.sent.filter((one) => one.type === 'warning'),
        where,
      ).toEqual([])
    }
  },
)

it('the series of kills has the stated length', () => {
  process.stdout.write(`${points} points at which the leader of a team was killed\n`)
  expect(points).toBeGreaterThanOrEqual(core(8, 300))
})
