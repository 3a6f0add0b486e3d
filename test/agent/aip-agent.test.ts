import { describe, expect, it } from 'vitest'
import { agentWorld, aip } from '../helpers/agents.ts'

describe('sections of a script-only agent', () => {
  it('can transform inputs in Before All, and keeps outputs in input order (vector 22)', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        'Before All':
          'for i, v in ipairs(inputs) do inputs[i] = v .. "-" .. (i - 1) end\ninputs[#inputs + 1] = "C"\nreturn aip.flow.before_all_response({ inputs = inputs })',
        Data: 'return "Data with input: \'" .. input .. "\'"',
        Output: 'return data',
      }),
    })
    const { outputs } = await run('a', ['one', 'two'])
    expect(outputs).toEqual(["Data with input: 'one-0'", "Data with input: 'two-1'", "Data with input: 'C'"])
  })

  it('passes a plain Before All value to Data and Output (vector 23)', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        'Before All': 'return "Some Before All"',
        Data: 'return before_all .. " - Some Data"',
        Output: 'return data .. " - " .. input.path',
      }),
    })
    expect((await run('a', [{ path: './some-random/file.txt' }])).outputs).toEqual([
      'Some Before All - Some Data - ./some-random/file.txt',
    ])
  })

  it('replaces input, data and options with a data response (vector 24)', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        Options: 'model = "first"',
        Data: 'return aip.flow.data_response({ input = "new input", data = "hello", options = { model = "another-model" } })',
        Output: 'return input .. "|" .. data .. "|" .. options.model',
      }),
    })
    expect((await run('a', ['old'])).outputs).toEqual(['new input|hello|another-model'])
  })

  it.each(['aip.flow.skip()', 'aip.flow.skip("no")'])(
    'returns null for an input that Data skips by %s (vector 25)',
    async (skip) => {
      const { run, context } = agentWorld({
        'a.aip': aip({ Data: `if input == 1 then return ${skip} end`, Output: 'return "v" .. input' }),
      })
      expect((await run('a', [1, 2, 3])).outputs).toEqual([null, 'v2', 'v3'])
      expect(context.sent.filter(({ type }) => type === 'task.skipped')).toHaveLength(1)
    },
  )

  it('runs neither tasks nor After All when Before All skips (vector 26)', async () => {
    const { run, context } = agentWorld({
      'a.aip': aip({
        'Before All': 'return aip.flow.skip("nothing to do")',
        Output: 'print("no")',
        'After All': 'print("no")',
      }),
    })
    expect(await run('a')).toMatchObject({
      end: 'skipped',
      reason: 'nothing to do',
      outputs: [],
      afterAll: undefined,
    })
    expect(context.sent.filter(({ type }) => type === 'print')).toEqual([])
  })

  it.each([
    ['Data', 'aip.flow.redo_run()', 'Data may not return aip.flow.redo_run()', 'Only Before All or After All may.'],
    ['Output', 'aip.flow.redo_run()', 'Output may not return aip.flow.redo_run()', 'Only Before All or After All may.'],
    [
      'Data',
      'aip.flow.before_all_response({})',
      'Data may not return aip.flow.before_all_response()',
      'Only Before All may.',
    ],
    ['Output', 'aip.flow.data_response({})', 'Output may not return aip.flow.data_response()', 'Only Data may.'],
  ])('refuses in %s %s (vector 27)', async (heading, code, message, hint) => {
    const { run } = agentWorld({ 'a.aip': aip({ [heading]: `return ${code}` }) })
    await expect(run('a')).rejects.toMatchObject({ message, hint })
  })

  it.each(['Before All', 'After All'])('requests a redo from %s', async (heading) => {
    const { run } = agentWorld({ 'a.aip': aip({ [heading]: 'return aip.flow.redo_run()' }) })
    expect((await run('a')).end).toBe('redo')
  })

  it('names unknown keys of a response (vector 28)', async () => {
    const { run } = agentWorld({
      'a.aip': aip({ 'Before All': 'return aip.flow.before_all_response({ inpts = {} })' }),
    })
    await expect(run('a')).rejects.toThrow('BeforeAllResponse has unknown keys: inpts')
  })

  it('runs one task with a nil input for an empty list of inputs (vector 29)', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        'Before All': 'return aip.flow.before_all_response({ inputs = {} })',
        Data: 'return tostring(input)',
        Output: 'return data',
      }),
    })
    expect((await run('a', ['x'])).outputs).toEqual(['nil'])
  })

  it('continues after a failed input if configured (vector 30)', async () => {
    const { run, context } = agentWorld({
      'a.aip': aip({
        Options: 'allow_run_on_task_fail = true',
        Output: 'if input == 2 then error("kaboom") end\nreturn input',
        'After All': 'return outputs[2].error',
      }),
    })
    const { outputs, afterAll } = await run('a', [1, 2, 3])
    expect(outputs).toMatchObject([1, { error: expect.stringContaining('kaboom') }, 3])
    expect(afterAll).toContain('kaboom')
    // the section, and the input it belongs to
    const failures = context.records.filter(({ k }) => k === 'failed')
    expect(failures).toMatchObject([{ error: { message: 'kaboom' } }, { error: { message: 'a.aip:10: kaboom' } }])
  })

  it('otherwise fails and does not run After All (vector 31)', async () => {
    const { run, context } = agentWorld({
      'a.aip': aip({ Output: 'if input == 2 then error("kaboom") end', 'After All': 'print("no")' }),
    })
    await expect(run('a', [1, 2, 3])).rejects.toMatchObject({
      code: 'SCRIPT_FAILED',
      message: 'kaboom',
      place: { line: 4 },
    })
    expect(context.sent.filter(({ type }) => type === 'print')).toEqual([])
  })

  it('passes the null sentinel for skipped outputs to After All', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        Output: 'if input == 2 then return input end',
        'After All': 'return { first = outputs[1] == null, type = type(outputs[1]), second = outputs[2] }',
      }),
    })
    expect((await run('a', [1, 2])).afterAll).toEqual({ first: true, type: 'userdata', second: 2 })
  })

  it('does nothing for an empty file', async () => {
    const { run } = agentWorld({ 'a.aip': '' })
    expect(await run('a')).toMatchObject({ end: 'done', outputs: [], afterAll: undefined })
  })
})

describe('concurrent inputs', () => {
  it('have fresh state in each section', async () => {
    const { run } = agentWorld({
      'a.aip': aip({ Data: 'leak = (leak or 0) + 1\nreturn leak', Output: 'return { data, leak or "none" }' }),
    })
    expect((await run('a', [1, 2])).outputs).toEqual([
      [1, 'none'],
      [1, 'none'],
    ])
  })

  it('overlap up to input_concurrency', async () => {
    const { run, context } = agentWorld({
      'a.aip': aip({
        Options: 'input_concurrency = 3',
        Output: 'return aip.agent.run("b.lua", { input = input }).outputs[1]',
      }),
      'b.lua': 'return input * 2',
    })
    expect((await run('a', [1, 2, 3, 4])).outputs).toEqual([2, 4, 6, 8])
    const children = context.sent.filter(({ type, agent }) => type === 'agent.started' && agent.endsWith('agent/b.lua'))
    expect(children.map(({ agent }) => agent)).toEqual([
      'main/task/0/output#0/agent/b.lua',
      'main/task/1/output#0/agent/b.lua',
      'main/task/2/output#0/agent/b.lua',
      'main/task/3/output#0/agent/b.lua',
    ])
  })
})
