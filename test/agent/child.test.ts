import { describe, expect, it } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { agentWorld, aip } from '../helpers/agents.ts'

describe('aip.agent.run', () => {
  it('resolves names relative to the folder of the caller', async () => {
    const { run } = agentWorld({
      'deep/a.lua': 'return aip.agent.run("b").outputs[1]',
      'deep/b.lua': 'return "deep"',
      'b.lua': 'return "top"',
    })
    expect((await run('deep/a.lua')).outputs).toEqual(['deep'])
  })

  it('or relative to agent_base_dir', async () => {
    const { run, folder } = agentWorld({
      'deep/a.lua': 'return aip.agent.run("b", { agent_base_dir = input }).outputs[1]',
      'deep/b.lua': 'return "deep"',
      'b.lua': 'return "top"',
    })
    expect((await run('deep/a.lua', [folder])).outputs).toEqual(['top'])
  })

  it('returns nil for null outputs, and for the result of After All', async () => {
    const { run } = agentWorld({
      'a.lua':
        'local r = aip.agent.run("b.aip", { inputs = { 1, 2, 3 } })\nreturn { r.outputs[1] == nil, r.outputs[2], r.after_all, r.redo_requested }',
      'b.aip': aip({ Output: 'if input == 2 then return "two" end', 'After All': 'return #inputs' }),
    })
    expect((await run('a.lua')).outputs).toEqual([[true, 'two', 3, false]])
  })

  it('places input before inputs and merges options over those of the agent', async () => {
    const { run } = agentWorld({
      'a.lua':
        'return aip.agent.run("b.aip", { input = "x", inputs = { "y" }, options = { model = "given" } }).outputs',
      'b.aip': aip({
        Options: 'model = "own"\ntemperature = 0.5',
        Output: 'return input .. options.model .. options.temperature',
      }),
    })
    expect((await run('a.lua')).outputs).toEqual([['xgiven0.5', 'ygiven0.5']])
  })

  it('raises errors, which pcall can catch', async () => {
    const { run } = agentWorld({ 'a.lua': 'local ok, e = pcall(aip.agent.run, "nobody")\nreturn { ok, tostring(e) }' })
    expect((await run('a.lua')).outputs).toEqual([[false, expect.stringContaining('there is no agent "nobody"')]])
  })
})

describe('nested agents', () => {
  it('are refused in a cycle, naming its path', async () => {
    const { run } = agentWorld({ 'a.lua': 'return aip.agent.run("b.lua")', 'b.lua': 'return aip.agent.run("a.lua")' })
    await expect(run('a.lua')).rejects.toThrow('agents run each other in a cycle: a.lua → b.lua → a.lua')
  })

  it('may run themselves with different inputs', async () => {
    const { run } = agentWorld({
      'a.lua': 'if input == 0 then return 0 end\nreturn 1 + aip.agent.run("a.lua", { input = input - 1 }).outputs[1]',
    })
    expect((await run('a.lua', [7])).outputs).toEqual([7])
  })

  it('stop at a depth of 8', async () => {
    const { run } = agentWorld({ 'a.lua': 'return aip.agent.run("a.lua", { input = (input or 0) + 1 })' })
    await expect(run('a.lua')).rejects.toThrow(/cycle: a\.lua(?: → a\.lua){8}$/)
  })

  it('report the depth if nothing repeats', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [`a${n}.lua`, `return aip.agent.run("a${n + 1}.lua")`]),
    )
    const { run } = agentWorld(files)
    await expect(run('a0.lua')).rejects.toThrow(/nested more than 8 deep: a0\.lua/)
  })

  it('fail at the place of the agent that failed', async () => {
    const { run, folder } = agentWorld({
      'a.lua': '\naip.agent.run("deep/b")',
      'deep/b.lua': '\n\nerror("kaboom")',
    })
    await expect(run('a.lua')).rejects.toMatchObject({
      message: expect.stringContaining('kaboom'),
      place: { file: `${folder}/deep/b.lua`, line: 3 },
    })
  })
})

describe('the error of an agent, as its calling script sees it,', () => {
  const fail = { 'deep/fail.aip': aip({ Output: 'local x = input\nerror("boom " .. x)' }) }

  it.each([
    ['pcall(aip.agent.run, "deep/fail", { input = 1 })', 'deep/fail.aip:5: boom 1'],
    [
      'pcall(function() local r = aip.agent.run("deep/fail", { input = 1 }) return r end)',
      'a.lua:1: deep/fail.aip:5: boom 1',
    ],
    ['pcall(aip.agent.run, "between", { input = 1 })', 'deep/fail.aip:5: boom 1'],
    ['pcall(aip.agent.run, "returns")', 'returns.lua:2: the value is a function, which cannot leave Lua'],
  ])('names the failed line: %s', async (call, message) => {
    const { run } = agentWorld({
      ...fail,
      'a.lua': `local ok, e = ${call}\nreturn { ok, e }`,
      'between.lua': 'local r = aip.agent.run("deep/fail", { input = input })\nreturn r',
      'returns.lua': '\nreturn print',
    })
    expect((await run('a.lua')).outputs).toEqual([[false, message]])
  })

  it('is the output of a failed input if others continue', async () => {
    const { run, context } = agentWorld({
      'a.aip': aip({ Options: 'allow_run_on_task_fail = true', Output: 'local r = input.x.y\nreturn r' }),
    })
    const message = "a.aip:10: attempt to index a nil value (field 'x')"
    expect((await run('a', [{}])).outputs).toEqual([{ error: message }])
    expect(context.sent).toContainEqual(
      expect.objectContaining({ type: 'warning', message: `input 1 of a failed: ${message}` }),
    )
  })

  it.each([
    ['local r = aip.agent.run("deep/fail", { input = 1 })', 'boom 1'],
    ['local ok, e = pcall(aip.agent.run, "deep/fail", { input = 1 })\nerror(e, 0)', 'boom 1'],
    ['local ok, e = pcall(aip.agent.run, "deep/fail", { input = 1 })\nerror("linting: " .. e)', 'linting: boom 1'],
  ])('omits that line if people see it elsewhere: %s', async (code, message) => {
    const { run, folder } = agentWorld({ ...fail, 'a.lua': code })
    await expect(run('a.lua')).rejects.toMatchObject({
      message,
      place: { file: `${folder}/deep/fail.aip`, line: 5 },
    })
  })
})

describe('nested agents with their own concurrency limits', () => {
  const agent = (concurrency: number, code: string): string =>
    aip({ Options: `input_concurrency = ${concurrency}`, Output: code })

  it.each([
    [1, 1],
    [1, 8],
    [3, 1],
    [3, 8],
    [40, 8],
  ])('end without deadlock (outer %i, inner %i), outputs in input order', async (outer, inner) => {
    const inputs = Array.from({ length: 6 }, (_, index) => index)
    const { run } = agentWorld(
      {
        'outer.aip': agent(
          outer,
          'return aip.agent.run("inner", { inputs = { input * 10, input * 10 + 1, input * 10 + 2 } }).outputs',
        ),
        'inner.aip': agent(inner, 'return aip.agent.run("leaf", { input = input }).outputs[1]'),
        'leaf.aip': `# User\n\n{{input}}\n${aip({ Output: 'return input' })}`,
      },
      { provider: createFakeProvider(() => ({ text: ['x'], gate: new Promise((resolve) => setTimeout(resolve, 2)) })) },
    )
    expect((await run('outer', inputs)).outputs).toEqual(
      inputs.map((input) => [0, 1, 2].map((offset) => input * 10 + offset)),
    )
  })
})
