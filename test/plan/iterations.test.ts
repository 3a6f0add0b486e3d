import { describe, expect, it } from 'vitest'
import { planIn, planPromptIn, workspaceOf } from './helpers.ts'

const iterated = (iterate: string, front = ''): string =>
  `+++\nmodel = "offline::extractive"\nmax_tokens = 100\nmax_rounds = 1\nretry.max_attempts = 1\n${front}\n[iterate]\n${iterate}\n+++\nExplain.\n`

async function requestsOf(files: { readonly [path: string]: string }, call: Parameters<typeof planIn>[1] = {}) {
  const { total } = await planIn(workspaceOf(files), call)
  const { at_least, as_written, at_most } = total.requests
  return [at_least, as_written, at_most]
}

describe('the plan of iterations', () => {
  it('includes the calls of all iterations, for all tasks', async () => {
    const ask = iterated('condition = "4"')
    expect(await requestsOf({ 'ask.md': ask })).toEqual([4, 4, 4])
    const each = iterated('condition = "4"', 'template = true')
    expect(await requestsOf({ 'ask.md': each }, { inputs: ['a', 'b'] })).toEqual([8, 8, 8])
    expect(await requestsOf({ 'ask.md': iterated('condition = "4"\nuntil = "true"') })).toEqual([1, 4, 4])
    expect(await requestsOf({ 'ask.md': iterated('until = "true"') })).toEqual([1, 100, 100])
    expect(await requestsOf({ 'ask.md': iterated('condition = "1h"\nmax_iterations = 7') })).toEqual([1, 7, 7])
    expect(await requestsOf({ 'ask.md': iterated('condition = "150"') })).toEqual([150, 150, 150])
  })

  it('grows by the summaries that later iterations get, unless they get none', async () => {
    const inputOf = async (iterate: string): Promise<number> =>
      (await planIn(workspaceOf({ 'ask.md': iterated(iterate) }))).total.input_tokens.at_most ?? 0
    const [none, some] = [await inputOf('condition = "9"\ncontext = false'), await inputOf('condition = "9"')]
    expect(some).toBeGreaterThan(none + 9 * 8 * 100)
  })

  it('includes summaries by the model, or what replaces them', async () => {
    const files = { 'ask.md': iterated('condition = "3"\nsummarizer = "llm"', 'fallback_models = ["ollama::x"]') }
    const { target, asks } = await planPromptIn(workspaceOf(files))
    expect(target.summaries).toMatchObject({ at: 'iteration/*/summary', agent: null })
    expect(target.summaries?.asks.map(({ requests }) => requests.at_most)).toEqual([9, 9])
    expect(asks.map(({ model, requests }) => [model, requests.at_most])).toEqual([
      ['offline::extractive', 12],
      ['ollama::x', 12],
    ])
  })

  it('includes the calls of an agent that writes the summaries', async () => {
    const ask = iterated('condition = "3"\nsummarizer = "sum.md"')
    const sum = '+++\nmodel = "offline::extractive"\nmax_rounds = 1\nretry.max_attempts = 1\n+++\nSum it up.\n'
    expect(await requestsOf({ 'ask.md': ask, 'sum.md': sum })).toEqual([6, 6, 6])
    const lua = iterated('condition = "3"\nsummarizer = "sum.lua"')
    expect(await requestsOf({ 'ask.md': lua, 'sum.lua': 'return "did it"\n' })).toEqual([3, 3, 3])
    const program = '[agents.sum]\ncommand = "sum"\nsandbox = { mode = "danger-full-access" }\n'
    const command = iterated('condition = "3"\nsummarizer = "sum"')
    const planned = await planIn(workspaceOf({ 'ask.md': command, '.state/config/config.toml': program }))
    expect(planned.total.unpriced).toContain('sum')
    const asking = { 'ask.md': lua, 'sum.lua': 'return aip.agent.run("b.aip", { input = "x" })\n' }
    const { total, open } = await planIn(workspaceOf(asking))
    expect(total.requests).toEqual({ at_least: 3, as_written: 3, at_most: null })
    expect(open).toEqual([{ by: 'iteration/*/summary', what: ['the agents it runs'] }])
  })

  it('includes all runs of an agent', async () => {
    const files = { 'a.aip': '# User\n\nSay it\n' }
    const call = {
      file: 'a.aip',
      model: 'offline::extractive',
      overrides: ['iterate.condition="5"', 'retry.max_attempts=1'],
    }
    const plan = await planIn(workspaceOf(files), call)
    expect(plan.target).toMatchObject({ kind: 'aip', iterations: { at_least: 5, at_most: 5 } })
    expect(plan.total.requests.as_written).toBe(5)
  })
})
