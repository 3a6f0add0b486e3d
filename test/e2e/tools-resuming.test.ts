import { expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import type { ModelReply } from '../helpers/model-server.ts'
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

it.each([
  ['max_rounds', 'tools = ["todo"]', 'Done.\n'],
  ['max_turns', 'tools = ["todo"]', 'Done.\n'],
  ['max_rounds', 'mode = "code"', 'Done.\n'],
])(
  'a run that has reached %s with %s makes the refused calls when it is resumed, and pays for nothing twice',
  async (limit, how, said) => {
    const isCode = how.includes('code')
    const call = (content: string): ModelReply =>
      isCode ? { text: `log('${content}')` } : callsTools(['todo', { todos: [{ content, status: 'pending' }] }])
    const end = isCode ? { text: "output('Done.'); done()" } : { text: 'Done.' }
    // the first task ends in time
    const model = await startToolModel([call('one'), end, call('two'), call('three'), call('four'), end])
    const cwd = tempTree({
      'ask.md': `+++\nmodel = "m"\n${how}\n${limit} = 2\ninput_concurrency = 1\ntemplate = true\n+++\nPlan {{input}}.\n`,
    })
    const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree() }
    const stopped = await baton(['ask.md', '-i', 'a', '-i', 'b'], { cwd, env })
    expect(stopped, stopped.stderr).toMatchObject({ code: 4, stdout: `==> a <==\n${said}` })
    expect(model.requests).toHaveLength(4)
    const resumed = await baton(['resume', '--last', '-c', `${limit}=9`], { cwd, env })
    expect(resumed, resumed.stderr).toMatchObject({ code: 0, stdout: `==> a <==\n${said}\n==> b <==\n${said}` })
    expect(model.requests).toHaveLength(6)
    expect(JSON.stringify(model.requests.at(-1)?.body)).not.toMatch(/Exceeded|Reached maximum|not run/)
  },
)
