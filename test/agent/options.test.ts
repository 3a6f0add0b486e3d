import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { mergeOptions, shownOptions } from '../../src/agent/options.ts'
import { agentWorld, aip } from '../helpers/agents.ts'

describe('options of script agents (spec/aipack.md 4.1, 4.2)', () => {
  it('are merged, later ones win; aliases join and null says nothing', () => {
    expect(
      mergeOptions({ model: 'a', top_p: 0.5, model_aliases: { x: '1', y: '1' } }, undefined, {
        model: null,
        top_p: 0,
        model_aliases: { y: '2' },
      }),
    ).toEqual({ model: 'a', top_p: 0, model_aliases: { x: '1', y: '2' } })
  })

  it.each([
    ['x', 'target'],
    ['x-high', 'target-high'],
    ['y-high', 'y-high'],
    ['y', 'y'],
  ])('are shown with what the model %s stands for: %s (vector 18)', (model, resolved) => {
    const options = { model, model_aliases: { x: 'target' } }
    expect(shownOptions(options)).toEqual({ ...options, resolved_model: resolved })
  })

  it('are shown without resolved_model where no model is set', () => {
    expect(shownOptions({ top_p: 1 })).toEqual({ top_p: 1 })
  })

  it('reach every section, with resolved_model for the options of that section', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        Options: 'model = "small-high"\nmodel_aliases = { small = "tiny", big = "huge" }',
        'Before All':
          'return aip.flow.before_all_response({ before_all = options.resolved_model, options = { model = "big" } })',
        Data: 'return aip.flow.data_response({ data = options.resolved_model, options = { model = "other" } })',
        Output: 'return { before_all, data, options.model, options.resolved_model }',
        'After All': 'return options.resolved_model',
      }),
    })
    const { outputs, afterAll } = await run('a')
    expect(outputs).toEqual([['tiny-high', 'huge', 'other', 'other']])
    expect(afterAll).toBe('huge')
  })

  it('of a child come from the config, not from the front matter its parent started with', async () => {
    const show = 'return tostring(options.model) .. "," .. tostring(options.top_p)'
    const world = agentWorld({
      'a.lua': `local child = aip.agent.run("b", { options = { top_p = 0.5 } }).outputs[1]\nreturn { options.model, child }`,
      'b.lua': `local grandchild = aip.agent.run("c").outputs[1]\nreturn { (function() ${show} end)(), grandchild }`,
      'c.lua': show,
    })
    const { context, folder } = world
    const agent = {
      kind: 'lua',
      name: 'a',
      file: join(folder, 'a.lua'),
      text: `local child = aip.agent.run("b", { options = { top_p = 0.5 } }).outputs[1]\nreturn { options.model, child }`,
    } as const
    const inPrompt = { ...context, options: { model: 'front matter' }, configOptions: { model: 'config' } }
    const { outputs } = await context.agents.run({ agent, inputs: null, options: {} }, inPrompt)
    expect(outputs).toEqual([['front matter', ['config,0.5', 'config,nil']]])
  })
})
