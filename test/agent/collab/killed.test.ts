import { expect, it } from 'vitest'
import { textOf } from '../../../src/event/message.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { core } from '../../helpers/series.ts'
import type { Answer, Asked, Life, TaskWorld } from '../../helpers/task-world.ts'
import { agentsIn, spawn, teamWorld } from '../../helpers/team-world.ts'

const never = new Promise<void>(() => {})

/** All that a conversation was told by others, in order. */
function heard({ request }: Asked): readonly string[] {
  return request.messages.flatMap((message) => (message.role === 'user' ? [textOf(message)] : []))
}

/** Spawns two agents, writes to both, interrupts one of them, waits, writes again, waits and closes both. */
function leading(asked: Asked): Answer {
  const { who, turn } = asked
  if (who === 'cat') return turn === 0 ? [['todo', { todos: [] }]] : `cat heard ${heard(asked).slice(1).join(', ')}`
  if (who === 'dog') {
    return heard(asked).length === 1 ? { text: ['Never.'], gate: never } : `dog heard ${heard(asked).at(-1)}`
  }
  const [cat = '', dog = ''] = agentsIn(asked)
  const turns: readonly Answer[] = [
    [spawn('cat'), spawn('dog', { role: 'worker' })],
    [
      ['send_input', { id: cat, message: 'more' }],
      ['send_input', { id: dog, message: 'come', interrupt: true }],
    ],
    [['wait', { ids: [cat, dog] }]],
    [['send_input', { id: cat, message: 'again' }]],
    [['wait', { ids: [cat] }]],
    [
      ['close_agent', { id: cat }],
      ['close_agent', { id: dog }],
    ],
  ]
  return turns[turn] ?? 'Done.'
}

async function only(world: TaskWorld, records: JournalRecord[]): Promise<Life> {
  const life = await world.live(records)
  if (life === undefined) throw new Error('nobody kills this process')
  return life
}

/** Places of model calls with a good end. */
function answered(records: readonly JournalRecord[]): ReadonlySet<string> {
  return new Set(
    records.flatMap((one) => (one.k === 'ended' && one.status === 'ok' && one.kind === 'model' ? [one.p] : [])),
  )
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

// agents that work at once: with one, the other waits for its turn
it.each([6, 1, 2, 3, 4].slice(0, core(2, 5)))(
  'a leader that is killed at any record has the same agents, and neither a message nor a paid call twice (%i at once)',
  async (maxAgents) => {
    const settings = { maxAgents }
    const whole: JournalRecord[] = []
    const expected = await only(teamWorld({ script: leading, settings }), whole)
    const told = toldIn(expected)
    expect(told.slice(4)).toMatchObject([
      JSON.stringify({
        status: { 'agent-0': { completed: 'cat heard more' }, 'agent-1': { completed: 'dog heard come' } },
        timed_out: false,
      }),
      expect.stringContaining('submission_id'),
      JSON.stringify({ status: { 'agent-0': { completed: 'cat heard more, again' } }, timed_out: false }),
      JSON.stringify({ status: { completed: 'cat heard more, again' } }),
      JSON.stringify({ status: { completed: 'dog heard come' } }),
    ])
    const world = teamWorld({ script: leading, settings })
    const step = core(12, 1)
    let points = 0
    for (let lives = 0; lives < whole.length; lives += step) {
      const records: JournalRecord[] = []
      const where = `killed after ${lives} records`
      // with how many records it ends depends on the pace of its agents
      if ((await world.live(records, lives)) !== undefined) break
      points += 1
      const paid = answered(records)
      const before = world.asked.length
      const life = await only(world, records)
      expect(toldIn(life), where).toEqual(told)
      expect(spawned(records), where).toBe(2)
      // that one waits until it is interrupted
      const asked = world.asked.slice(before).filter((one) => one !== 'dog/0')
      const dogs = [...answered(records)].filter((place) => place.includes('worker') && !paid.has(place)).length
      const others = answered(records).size - paid.size - dogs
      expect(asked.filter((one) => !one.startsWith('dog')).length, where).toBe(others)
      expect(
        life.sent.filter((one) => one.type === 'warning'),
        where,
      ).toEqual([])
    }
  },
)
