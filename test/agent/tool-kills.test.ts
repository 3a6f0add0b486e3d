import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type EditingLife, editingWorld } from '../helpers/editing-loop.ts'

/** Names and contents of the files of a folder. */
function filesOf(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

// the soak row T1 does the same with 100 rounds
it('a loop of tools that is killed at any record repeats no call that was paid for, and leaves the same files', async () => {
  const rounds = 8
  const whole = editingWorld(rounds)
  const end = await whole.live(Infinity)
  expect(end).toMatchObject({ kind: 'ended', text: `All ${rounds} rounds are done.` })
  expect(whole.asked).toEqual(Array.from({ length: rounds + 1 }, () => 1))
  const expected = filesOf(whole.folder)
  expect(Object.keys(expected).length).toBeGreaterThan(3)
  let again = 0
  for (let lives = 0; lives < whole.records.length; lives += 1) {
    const where = `killed after ${lives} records`
    const world = editingWorld(rounds)
    expect((await world.live(lives)).kind, where).toBe('killed')
    const paid = world.paidTurns()
    const before = [...world.asked]
    const resumed: EditingLife = await world.live(Infinity)
    expect(resumed, where).toEqual(end)
    for (const turn of paid) expect(world.asked[turn], `${where}: turn ${turn}`).toBe(before[turn])
    again += world.asked.reduce((sum, count) => sum + count - 1, 0)
    expect(filesOf(world.folder), where).toEqual(expected)
  }
  // each request was in flight at one of the records
  expect(again).toBeGreaterThanOrEqual(rounds + 1)
})

it('a loop of tools that is killed again and again comes to the same end', async () => {
  const rounds = 12
  const whole = editingWorld(rounds)
  const end = await whole.live(Infinity)
  const world = editingWorld(rounds)
  let last: EditingLife = { kind: 'killed' }
  let processes = 0
  for (; last.kind === 'killed' && processes < 200; processes += 1) last = await world.live(7)
  expect(last).toEqual(end)
  expect(processes).toBeGreaterThan(8)
  expect(filesOf(world.folder)).toEqual(filesOf(whole.folder))
})
