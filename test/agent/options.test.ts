import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scriptAgentOptions, mergeOptions, shownOptions } from '../../src/agent/options.ts'
import { createFakeProvider, type FakeProvider } from '../helpers/fake-model.ts'
import { agentWorld, type AgentWorld, aip } from '../helpers/agents.ts'
import { withScope } from '../../src/event/context.ts'

describe('options of script agents', () => {
  it('are merged, later ones win; aliases are combined and null is ignored', () => {
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
  ])('are passed with what the model %s stands for: %s (vector 18)', (model, resolved) => {
    const options = { model, model_aliases: { x: 'target' } }
    expect(shownOptions(options)).toEqual({ ...options, resolved_model: resolved })
  })

  it('come from scripts, in which an empty table is an empty list for a key with a list', () => {
    const options = { tools: {}, fallback_models: {}, model_aliases: [] }
    expect(scriptAgentOptions(options, 'a.aip')).toEqual({ tools: [], fallback_models: [], model_aliases: {} })
  })

  it('are passed without resolved_model if no model is set', () => {
    expect(shownOptions({ top_p: 1 })).toEqual({ top_p: 1 })
  })

  it('are available in every section, with resolved_model for the options of that section', async () => {
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

  describe('that are invalid', () => {
    const asking = (sections: { readonly [heading: string]: string }): ReturnType<typeof world> =>
      world({ 'a.aip': aip(sections) + '# User\n\nHi\n' })
    const world = (files: { readonly [path: string]: string }): AgentWorld & { readonly provider: FakeProvider } => {
      const provider = createFakeProvider([])
      return { ...agentWorld(files, { provider }), provider }
    }

    it.each([
      ['{ temperature = "hot" }', '"temperature" must be a number, not "hot"'],
      ['{ model = 7 }', '"model" must be non-empty text, not the number 7'],
      ['{ input_concurrency = 0 }', '"input_concurrency" must be a whole number of at least 1, not the number 0'],
      ['{ input_concurrency = 1.5 }', '"input_concurrency" must be a whole number of at least 1, not the number 1.5'],
      ['{ allow_run_on_task_fail = 1 }', '"allow_run_on_task_fail" must be true or false, not the number 1'],
      ['{ model_aliases = { x = 1 } }', '"model_aliases" must be a table of strings, not a table'],
    ])('end aip.agent.run before a model is asked: %s', async (options, problem) => {
      const { run, provider } = world({
        'a.lua': `local x = 1\nlocal r = aip.agent.run("b", { input = 1, options = ${options} })\nreturn r`,
        'b.aip': '# User\n\nHi\n',
      })
      await expect(run('a')).rejects.toMatchObject({ message: `options of "b": ${problem}`, place: { line: 2 } })
      expect(provider.requests).toEqual([])
    })

    it.each([
      ['Before All', 'before_all_response', '{ model = 7 }', ': "model" must be non-empty text, not the number 7'],
      ['Before All', 'before_all_response', '7', ' must be a table, not the number 7'],
      ['Data', 'data_response', '{ top_p = {} }', ': "top_p" must be a number, not a table'],
      ['Data', 'data_response', '{ { temperature = 1 } }', ' must be a table, not a list'],
    ])('fail in %s where they are returned: %s %s', async (heading, flow, options, problem) => {
      const { run, provider } = asking({ [heading]: `local x = 1\nreturn aip.flow.${flow}({ options = ${options} })` })
      await expect(run('a')).rejects.toMatchObject({
        code: 'SCRIPT_FAILED',
        message: `options of aip.flow.${flow}${problem}`,
        place: { line: 5, column: 8 },
      })
      expect(provider.requests).toEqual([])
    })

    it('do not include null, an empty table, or keys that nothing reads', async () => {
      const { run } = agentWorld({
        'a.lua': `local none = { model = null, model_aliases = {}, fallback_models = {}, colour = 1 }
          local child = aip.agent.run("b", { options = none }).outputs[1]
          return { child, aip.agent.run("c", { options = {} }).outputs[1], aip.agent.run("c", { options = null }).outputs[1] }`,
        'b.aip': aip({
          Options: 'model = "m"\nfallback_models = ["f"]',
          Data: 'return aip.flow.data_response({ options = { top_p = null, model_aliases = {}, fallback_models = {} } })',
          Output: 'return { options.model, options.fallback_models, tostring(options.top_p) }',
        }),
        'c.lua': 'return "c"',
      })
      expect((await run('a')).outputs).toEqual([[['m', [], 'nil'], 'c', 'c']])
    })
  })

  it('of a child come from the config, not from the front matter of its parent', async () => {
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
    const inPrompt = withScope(context, { options: { model: 'front matter' }, configOptions: { model: 'config' } })
    const request = { kind: 'script', agent, inputs: null, options: {} } as const
    expect(await context.services.agents.run(request, inPrompt)).toMatchObject({
      outputs: [['front matter', ['config,0.5', 'config,nil']]],
    })
  })
})
