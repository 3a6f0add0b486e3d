import { describe, expect, it } from 'vitest'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { type Answer, type Asked, type Call, type Life, taskWorld } from '../../helpers/task-world.ts'

const find = (what: string, more: object = {}): Call => [
  'task',
  { description: `find ${what}`, prompt: what, subagent_type: 'finder', ...more },
]

/** Two agents in the background, each of which uses a tool; the parent has nothing else to do. */
function twoInBackground({ who, turn, told }: Asked): Answer {
  if (who !== 'parent') return turn === 0 ? [['todo', { todos: [] }]] : `${who} is at home`
  if (turn === 0) return [find('cat', { run_in_background: true }), find('dog', { run_in_background: true })]
  return told.some((text) => text.includes('is done')) ? `I know of ${told.join(' and ')}` : 'I wait.'
}

const cat = /agent a[0-9a-f]{8} \(find cat\) is done: cat is at home/g
const dog = /agent a[0-9a-f]{8} \(find dog\) is done: dog is at home/g

function textsOf({ result }: Life): string {
  return JSON.stringify(result.messages)
}

describe('agents in the background', () => {
  it('are waited for, and tell their caller once when they have ended', async () => {
    const world = taskWorld({ script: twoInBackground })
    const life = await world.live([])
    expect(life?.result.end).toBe('done')
    const told = textsOf(life as Life)
    expect([told.match(cat)?.length, told.match(dog)?.length]).toEqual([2, 2].map(() => expect.any(Number)))
    expect(world.asked.filter((one) => !one.startsWith('parent')).toSorted()).toEqual([
      'cat/0',
      'cat/1',
      'dog/0',
      'dog/1',
    ])
  })
})

it('a caller with two agents in the background that is killed at any record pays for nothing twice, and is told once', async () => {
  const whole: JournalRecord[] = []
  const first = taskWorld({ script: twoInBackground })
  const expected = await first.live(whole)
  expect(expected?.result.end).toBe('done')
  expect(whole.length).toBeGreaterThan(20)
  let again = 0
  for (let lives = 0; lives < whole.length; lives += 1) {
    const world = taskWorld({ script: twoInBackground })
    const records: JournalRecord[] = []
    const where = `killed after ${lives} records`
    expect(await world.live(records, lives), where).toBe(undefined)
    const paid = answered(records)
    const before = [...world.asked]
    const life = await world.live(records)
    if (life === undefined) throw new Error(where)
    expect(life.result.end, where).toBe('done')
    const userTexts = life.result.messages.filter(({ role }) => role === 'user')
    const told = JSON.stringify(userTexts)
    expect([told.match(cat)?.length, told.match(dog)?.length], where).toEqual([1, 1])
    // one record of an answer for each request; those in flight were made once more, and are listed
    expect(answered(records).size - paid.size, where).toBe(world.asked.length - before.length)
    again += life.repeated.length
  }
  expect(again).toBeGreaterThan(3)
})

/** Places of model calls with a good end. */
function answered(records: readonly JournalRecord[]): ReadonlySet<string> {
  return new Set(
    records.flatMap((one) => (one.k === 'ended' && one.status === 'ok' && one.kind === 'model' ? [one.p] : [])),
  )
}
