import { textIn } from '../helpers/messages.ts'
import { describe, expect, it } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { agentWorld, aip } from '../helpers/agents.ts'

const look = (value: string): string => `{ ${value} == nil, ${value} == null, type(${value}) }`

// null inside a value is the sentinel everywhere, null alone is nil everywhere
describe('null inside a value', () => {
  it('is the sentinel in each section that the value reaches', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        'Before All': 'return { x = null, list = { 1, null, 3 } }',
        Data: `return { seen = ${look('before_all.x')}, length = #before_all.list, hole = before_all.list[2] == Null, deep = { { y = NULL } } }`,
        Output: `return { data.seen, data.length, data.hole, ${look('data.deep[1].y')}, ${look('input.z.z')} }`,
        'After All': `return { ${look('before_all.x')}, outputs[1][5] }`,
      }),
    })
    const sentinel = [false, true, 'userdata']
    const result = await run('a', [{ z: { z: null } }])
    expect(result.outputs).toEqual([[sentinel, 3, true, sentinel, sentinel]])
    expect(result.afterAll).toEqual([sentinel, sentinel])
  })

  it('is the sentinel in inputs and outputs of an agent', async () => {
    const { run } = agentWorld({
      'a.lua': `
local r = aip.agent.run("b.aip", { input = { x = null } })
return { ${look('r.outputs[1].x')}, ${look('r.outputs[1].got')}, ${look('r.after_all.x')}, r.outputs[2] == nil }`,
      'b.aip': aip({
        Output: 'return { x = null, got = input.x }',
        'After All': 'return { x = null }',
      }),
    })
    const sentinel = [false, true, 'userdata']
    expect((await run('a.lua')).outputs).toEqual([[sentinel, sentinel, sentinel, true]])
  })

  it('is false and empty in a prompt', async () => {
    const provider = createFakeProvider([{ text: ['ok'] }])
    const { run } = agentWorld(
      {
        'a.aip': `${aip({ Data: 'return { x = null, list = { null, 2 } }' })}
# User

[{{data.x}}]{{#if data.x}}yes{{else}}no{{/if}}{{#each data.list}}<{{this}}>{{/each}}
`,
      },
      { provider },
    )
    await run('a')
    expect(textIn(provider.requests[0]?.messages[0]).trim()).toBe('[]no<><2>')
  })

  it.each([
    ['YAML', 'yaml', 'x: null\ny: { z: ~, list: [null] }'],
    ['JSON', 'json', '{ "x": null, "y": { "z": null, "list": [null] } }'],
  ])('of %s in a meta block is the sentinel', async (_, lang, meta) => {
    const { run } = agentWorld({
      'a.lua': `
local meta = aip.md.extract_meta(input)
return { ${look('meta.x')}, ${look('meta.y.z')}, meta.y.list[1] == null, nil_if_null(meta.x) == nil, value_or(meta.x, 5) }`,
    })
    const sentinel = [false, true, 'userdata']
    const text = `\`\`\`${lang}\n#!meta\n${meta}\n\`\`\`\n`
    expect((await run('a.lua', [text])).outputs).toEqual([[sentinel, sentinel, true, true, 5]])
  })
})

describe('null alone', () => {
  it('is nil as the value of a section, and in the outputs of another agent', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        'Before All': 'return null',
        Data: 'return null',
        Output: 'return { before_all == nil, data == nil, input == nil }',
        'After All': 'return null',
      }),
      'b.lua': `
local r = aip.agent.run("c.aip", { inputs = { 1, 2, 3 } })
return { r.outputs[1] == nil, r.outputs[2], r.outputs[3] == nil, r.after_all == nil }`,
      'c.aip': aip({ Output: 'if input == 2 then return "two" end return null', 'After All': 'return null' }),
    })
    const result = await run('a')
    expect(result.outputs).toEqual([[true, true, true]])
    expect(result.afterAll ?? null).toBeNull()
    expect((await run('b.lua')).outputs).toEqual([[true, 'two', true, true]])
  })
})
