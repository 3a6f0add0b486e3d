import { expect, it } from 'vitest'
import { type EditingLife, editingWorld } from '../helpers/editing-loop.ts'
import { tryEditing, uninterruptedEditing } from '../helpers/editing-trial.ts'
import { core } from '../helpers/series.ts'

// the soak row T1 does the same with 100 rounds
it('a tool loop that is killed at any record repeats no paid call, and leaves the same files', async () => {
  const rounds = core(2, 4)
  const whole = await uninterruptedEditing(rounds)
  expect(whole.end).toMatchObject({ kind: 'ended', text: `All ${rounds} rounds are done.` })
  expect(Object.keys(whole.files).length).toBeGreaterThan(3)
  let again = 0
  for (let lives = core(2, 0); lives < whole.records; lives += core(5, 1)) {
    const tried = await tryEditing(whole, lives)
    expect(tried, `killed after ${lives} records`).toMatchObject({ problems: [], wasKilled: true })
    again += tried.again
  }
  // each request was in flight at one of all records
  expect(again).toBeGreaterThanOrEqual(core(1, rounds + 1))
})

it('a tool loop that is killed repeatedly has the same result', async () => {
  const rounds = 5
  const whole = await uninterruptedEditing(rounds)
  const world = editingWorld(rounds)
  let last: EditingLife = { kind: 'killed' }
  let processes = 0
  // each process dies after twelve of its own records
  for (; last.kind === 'killed' && processes < 60; processes += 1) last = await world.live(12)
  expect(last).toEqual(whole.end)
  expect(processes).toBeGreaterThan(4)
})

// the soak row T2 does the same with 40 rounds, at every record
it('a loop of programs that is killed at some records repeats no paid call, and leaves the same files', async () => {
  const rounds = 2
  const whole = await uninterruptedEditing(rounds, 'code')
  expect(whole.end).toMatchObject({ kind: 'ended', text: 'Round 1.\n\nRound 2.\n\nAll 2 rounds are done.' })
  let again = 0
  for (let lives = 1; lives < whole.records; lives += core(5, 2)) {
    const tried = await tryEditing(whole, lives)
    expect(tried, `killed after ${lives} records`).toMatchObject({ problems: [], wasKilled: true })
    again += tried.again
  }
  expect(again).toBeGreaterThan(0)
})
