import { expect, it } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { agentWorld } from '../helpers/agents.ts'

const agent = `# Options

\`\`\`toml
[model_aliases]
x = "target"
loop = "x"
\`\`\`

# User

Go.

# Output

\`\`\`lua
return { options.model, options.resolved_model }
\`\`\`
`

// vector 18: one level, and one effort after the name of an alias
it.each([
  ['x', 'target'],
  ['x-high', 'target-high', 'high'],
  ['x-xhigh', 'target-xhigh', 'xhigh'],
  ['x-zero', 'target-zero', 'none'],
  ['x-high-low', 'x-high-low'],
  ['x-huge', 'x-huge'],
  ['y-high', 'y-high'],
  ['y', 'y'],
  ['loop', 'x'],
])('the model %s is requested as %s, and scripts see both names', async (model, asked, effort?: string) => {
  const provider = createFakeProvider([{ text: ['ok'] }])
  const { run } = agentWorld({ 'a.aip': agent }, { provider })
  const { outputs } = await run('a', null, { model })
  expect(outputs).toEqual([[model, asked]])
  // the effort is sent separately: not every host splits it off the name
  const name = effort === undefined ? asked : 'target'
  expect(provider.requests.map((request) => [request.model, request.reasoning_effort])).toEqual([[name, effort]])
})

it('an alias of the caller is merged with those of the agent and overrides them', async () => {
  const provider = createFakeProvider([{ text: ['a'] }, { text: ['b'] }])
  const { run } = agentWorld({ 'a.aip': agent }, { provider })
  const options = { model_aliases: { x: 'mine', z: 'other' } }
  await run('a', null, { ...options, model: 'x-low' })
  await run('a', null, { ...options, model: 'loop' })
  expect(provider.requests.map((request) => request.model)).toEqual(['mine', 'x'])
  expect(provider.requests[0]?.reasoning_effort).toBe('low')
})
