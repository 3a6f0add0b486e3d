import { expect, it } from 'vitest'
import { untilEnded } from '../../../src/team/collab/tools.ts'
import { leaderId } from '../../../src/event/collab.ts'
import { done, mailOf, settled, testTeam } from '../../helpers/team.ts'

it('an agent has ended if its recorded close belongs to its last piece of work, not to an earlier one with the same text', async () => {
  const { team, spawn, wait } = testTeam()
  const id = spawn(1, () => done('same'))
  await wait([id])
  const first = team.endOf(id)
  team.send(id, mailOf('more', leaderId))
  await wait([id])
  const second = team.endOf(id)

  const resumed = testTeam()
  resumed.spawn(1, () => done('same'))
  await resumed.wait([id])
  const { signal } = new AbortController()
  let isOver = false
  const status = { completed: 'same' }
  const over = untilEnded(id, { status, end: second ?? '' }, { team: resumed.team, signal }).then(() => (isOver = true))
  await settled()
  expect([first === second, isOver]).toEqual([false, false])

  resumed.team.send(id, mailOf('more', leaderId))
  await over
  expect(resumed.team.endOf(id)).toBe(second)
})
