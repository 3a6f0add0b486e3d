import { textOf } from '../../src/event/message.ts'
import { expect, it } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { agentWorld } from '../helpers/agents.ts'

const four = '````'
const three = '```'

// fences of three and of four backticks are distinct states
it('runs sections fenced by four backticks that contain fences of three and headings', async () => {
  const { run } = agentWorld({
    'a.aip': `# Options

${four}toml
model = "m-${three}"
${four}

# Data

${four}lua
local text = [[
${three}lua
# Output
${three}
]]
return text
${four}

# Output \t

${four}lua
return { data, options.model }
${four}
`,
  })
  expect((await run('a')).outputs).toEqual([[`${three}lua\n# Output\n${three}\n`, `m-${three}`]])
})

it('preserves fences in a prompt, including headings inside them', async () => {
  const provider = createFakeProvider([{ text: ['ok'] }])
  const { run } = agentWorld(
    {
      'a.aip': `# User

${four}md
# Not a section
${three}
# Nor this
${three}
${four}

# Assistant

{{input}}
`,
    },
    { provider },
  )
  await run('a', ['an input'])
  expect(provider.requests[0]?.messages.map((message) => [message.role, textOf(message).trim()])).toEqual([
    ['user', `${four}md\n# Not a section\n${three}\n# Nor this\n${three}\n${four}`],
    ['assistant', 'an input'],
  ])
})

it('uses only the first Lua fence of a heading, of any length', async () => {
  const { run } = agentWorld({
    'a.aip': `# Output

${three}text
return "no Lua"
${three}

${four}lua
return "first"
${four}

${three}lua
return "second"
${three}
`,
  })
  expect((await run('a')).outputs).toEqual(['first'])
})

it('reports the line in the file for code fenced by four backticks', async () => {
  const { run } = agentWorld({ 'a.aip': `# Output\n\n${four}lua\n-- ${three}\nlocal x = nil .. ""\n${four}\n` })
  await expect(run('a')).rejects.toMatchObject({ place: { line: 5 } })
})
