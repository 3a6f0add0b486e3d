import { describe, expect, it } from 'vitest'
import { agentWorld } from '../helpers/agents.ts'

async function lua(code: string, more: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const { run } = agentWorld({ 'a.lua': code, ...more })
  return (await run('a.lua')).outputs[0]
}

// sub-agents pass on state by merging it into one table that several of them hold
describe('merging', () => {
  it.each(['merge', 'merge_deep'])('by %s modifies the shared table and returns it', async (merge) => {
    expect(
      await lua(`
local state = { params = { a = 1 } }
local held = state.params
local given = aip.lua.${merge}(state.params, { b = 2 })
return { given == held, held.b, state.params == held }`),
    ).toEqual([true, 2, true])
  })

  it.each(['merge', 'merge_deep'])(
    'by %s shares the inner tables of its sources, so that later changes are visible',
    async (merge) => {
      expect(
        await lua(`
local inner = { n = 1 }
local first, second = aip.lua.${merge}({}, { x = inner }), aip.lua.${merge}({}, { x = inner })
first.x.n = 2
return { inner.n, second.x.n, first.x == second.x }`),
      ).toEqual([2, 2, true])
    },
  )

  it('by merge replaces an inner table, by merge_deep extends the existing one', async () => {
    expect(
      await lua(`
local function inner_after(merge)
  local old, new = { a = 1 }, { b = 2 }
  local target = { x = old }
  merge(target, { x = new })
  return { target.x == new, target.x == old, old, new }
end
return { inner_after(aip.lua.merge), inner_after(aip.lua.merge_deep) }`),
    ).toEqual([
      [true, false, { a: 1 }, { b: 2 }],
      [false, true, { a: 1, b: 2 }, { b: 2 }],
    ])
  })

  it('ignores null as an argument, and keeps it as a value inside a source', async () => {
    expect(
      await lua('local t = aip.lua.merge({ a = 1, b = 2 }, null, nil, { a = null }) return { t.a == null, t.b }'),
    ).toEqual([true, 2])
  })
})

it('a table passed to another agent is a copy: changes do not come back', async () => {
  expect(
    await lua(
      `
local shared = { list = { 1 } }
local r = aip.agent.run("b.lua", { input = { shared = shared, again = shared } })
return { #shared.list, r.outputs[1] }`,
      { 'b.lua': 'table.insert(input.shared.list, 2)\nreturn { #input.shared.list, #input.again.list }' },
    ),
  ).toEqual([1, [2, 1]])
})
