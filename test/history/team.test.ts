import { expect, it } from 'vitest'
import { recordTeam } from './team-fixture.ts'
it('x', async () => {
  const teams = await (await recordTeam()).teams()
  console.log(JSON.stringify(teams, null, 1))
  expect(1).toBe(1)
})
