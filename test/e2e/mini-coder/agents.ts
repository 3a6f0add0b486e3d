import { expect, it } from 'vitest'
import { aip } from '../../helpers/agents.ts'
import { createWorld, type WorldOptions } from './world.ts'

const fields = `
return table.concat({
  CTX.AGENT_NAME, CTX.AGENT_FILE_NAME, CTX.AGENT_FILE_STEM, aip.path.diff(CTX.AGENT_FILE_DIR, CTX.WORKSPACE_DIR),
  tostring(CTX.PACK_IDENTITY), tostring(CTX.PACK_SUB_PATH),
}, "|")`

const files = {
  '.aipack/pack/custom/own/tools/main.aip': aip({ Output: fields }),
  '.aipack/pack/custom/own/tools/sub/main.aip': aip({ Output: 'return require("words").greet(input)' }),
  '.aipack/pack/custom/own/tools/sub/lua/words.lua':
    'return { greet = function(name) return require("root") .. name end }',
  '.aipack/pack/custom/own/tools/lua/root.lua': 'return "from the root of the pack: "',
  '.aipack/pack/custom/own/tools/empty/main.aip': '',
  '.aipack/pack/custom/own/both/main.aip': aip({ Output: 'return "workspace"' }),
  'agents/hello.aip': aip({
    Options: 'model = "gpt-x-low"',
    Output: 'return "Hello \'" .. input .. "\' from " .. CTX.AGENT_FILE_NAME .. " with " .. options.model',
  }),
  'agents/caller.aip': aip({
    Output: 'return { answer = aip.agent.run("hello", { input = "me" }).outputs[1] }',
  }),
  'agents/backticks.aip':
    '# Data\n\n````lua\nlocal fence = [[\n```\n# Output\n```\n]]\nreturn fence:gsub("\\n", "/")\n````\n\n# Output\n\n````lua\nreturn data .. input\n````\n',
  'agents/reshape.aip': aip({
    'Before All': `
local reshaped = {}
for i, value in ipairs(inputs) do reshaped[i] = value .. "-" .. i - 1 end
table.insert(reshaped, "C")
return aip.flow.before_all_response({ inputs = reshaped })`,
    Data: 'return "Data with input: \'" .. input .. "\'"',
    Output: 'print(data)',
  }),
  'agents/folder/main.aip': aip({ Output: fields }),
  'agents/reflect.aip': aip({ Output: fields }),
  'agents/unfinished.aip': '# Output\n\n```lua\nreturn "no end\n```\n',
  'driver.aip': aip({
    Output: `
print("nested: " .. aip.agent.run("agents/caller").outputs[1].answer)
for _, name in ipairs({ "own@tools", "agents/reflect", "agents/folder" }) do print(aip.agent.run(name).outputs[1]) end
print(tostring(CTX.PACK_IDENTITY), tostring(CTX.PARENT_RUN_UID), type(CTX.RUN_NUM))
print(aip.agent.run("own@both").outputs[1], aip.agent.run("own@base").outputs[1])`,
  }),
  'nope.aip': aip({ Output: 'aip.agent.run("nope@nope")' }),
}

const userFiles = {
  '.aipack-base/pack/custom/own/both/main.aip': aip({ Output: 'return "base"' }),
  '.aipack-base/pack/installed/own/base/main.aip': aip({ Output: 'return "installed"' }),
}

/** P09 and P12: script agents, how they are named, and what they know about themselves. */
export function agentScenarios(engine: WorldOptions['engine']): void {
  it.each([
    ['a name without ending', ['agents/hello', '-i', 'input-01'], "Hello 'input-01' from hello.aip with gpt-x-low\n"],
    ['fences of four backticks', ['agents/backticks', '-i', 'x'], '```/# Output/```/x\n'],
    [
      'inputs that Before All changed',
      ['agents/reshape', '-i', 'one', '-i', 'two'],
      "Data with input: 'one-0'\nData with input: 'two-1'\nData with input: 'C'\n",
    ],
    ['modules of the agent and of its pack', ['own@tools/sub', '-i', 'me'], 'from the root of the pack: me\n'],
    ['a file without sections', ['own@tools/empty'], ''],
  ])('runs %s', async (_, args, stdout) => {
    const run = await createWorld(files, { engine }).run(args)
    expect(run.stderr).toBe('')
    expect(run.stdout).toBe(stdout)
    expect(run.code).toBe(0)
  })

  it('finds agents from the folder of their caller and packs in order of priority', async () => {
    const world = createWorld(files, { engine, userFiles })
    const refused = await world.run(['driver'])
    expect(refused.code).toBe(6)
    expect(refused.stderr).toContain('"own@both" is ambiguous')
    await world.trust('.aipack/pack/custom/own/both')
    const run = await world.run(['driver'])
    expect(run.stderr).toBe('')
    expect(run.stdout.split('\n')).toEqual([
      "nested: Hello 'me' from hello.aip with gpt-x-low",
      'own@tools|main.aip|main|.aipack/pack/custom/own/tools|own@tools|nil',
      'agents/reflect|reflect.aip|reflect|agents|nil|nil',
      'agents/folder|main.aip|main|agents/folder|nil|nil',
      'nil',
      'nil',
      'number',
      'workspace',
      'installed',
      '',
    ])
    expect(run.code).toBe(0)
  })

  it.each([
    [
      'an input that is missing',
      ['agents/hello'],
      1,
      /attempt to concatenate a nil value \((?:global|upvalue|local|field) 'input'\)/,
    ],
    ['an agent that is missing', ['missing-agent'], 2, /No agent found for local path: 'missing-agent'/],
    [
      'a string without end',
      ['agents/unfinished'],
      1,
      /agents\/unfinished\.aip:4[\s\S]*unfinished string|unfinished string[\s\S]*agents\/unfinished\.aip:4/,
    ],
    ['a pack that is missing', ['nope@nope'], 2, /No aipack matches for nope@nope/],
    ['a pack that is missing, named by an agent', ['nope'], 2, /No aipack matches for nope@nope/],
  ])('fails for %s', async (_, args, code, message) => {
    const run = await createWorld(files, { engine }).run(args)
    expect(run.stderr).toMatch(message)
    expect(run.code).toBe(code)
    expect(run.stdout).toBe('')
  })
}
