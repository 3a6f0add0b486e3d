import { expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

it('a run that has reached max_turns is resumed with a higher one where it stopped', async () => {
  const replies = ['one', 'two', 'three'].map((content) =>
    callsTools(['todo', { todos: [{ content, status: 'pending' }] }]),
  )
  const model = await startToolModel([...replies, { text: 'Done.' }])
  const cwd = tempTree({ 'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\nmax_turns = 2\n+++\nPlan.\n' })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree() }
  const stopped = await baton(['ask.md'], { cwd, env })
  expect(stopped).toMatchObject({ code: 4, stderr: expect.stringContaining('Raise max_turns') })
  expect(model.requests.length).toBe(2)
  const resumed = await baton(['resume', '--last', '-c', 'max_turns=9'], { cwd, env })
  expect(resumed, resumed.stderr).toMatchObject({ code: 0, stdout: 'Done.\n' })
  // the first two answers come from the record
  expect(model.requests.length).toBe(4)
})
