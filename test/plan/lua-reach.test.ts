import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { reachOf } from '../../src/plan/planner.ts'
import { tempTree } from '../helpers/temp.ts'

describe('the agents that Lua code may start', () => {
  it.each([
    'return 1',
    'local text = aip.file.load("a").content\nreturn aip.text.trim(text)',
    'return aip.agent.extract_options(options)',
    'return { agent_result = input.agent_config }',
    '-- not what load and aip do\nreturn "see aip and _G"',
  ])('are none for %s', (code) => {
    expect(reachOf(code, [])).toMatchObject({ names: [], mayRunAgents: false })
  })

  it('include agents that are run by their names', () => {
    const code = 'aip.agent.run("a.aip")\naip.agent.run("pro@coder", { input = 1 })\naip.agent.run("a.aip")'
    expect(reachOf(code, [])).toMatchObject({ names: ['a.aip', 'pro@coder'], mayRunAgents: true })
  })

  it.each([
    'aip.agent.run("a" .. name)',
    'local run = aip.agent.run',
    'local a = aip return a',
    'return aip["agent"]',
    'return load("return aip")()',
    'return _G',
    'require(name)',
    'return "--" .. tostring(aip)',
  ])('may be any for %s', (code) => {
    expect(reachOf(code, [])).toMatchObject({ names: [], mayRunAgents: true })
  })

  it('include those in modules that the code requires, directly or through other modules, also in a cycle', () => {
    const folder = tempTree({
      'lua/a.lua': 'require("b")\nreturn 1\n',
      'lua/b.lua': 'require("a")\nreturn aip.agent.run("deep.aip")\n',
      'lua/c.lua': 'return aip.flow.redo_run()\n',
    })
    expect(reachOf('require("a")', [folder])).toEqual({ names: ['deep.aip'], mayRunAgents: true, mayRedo: false })
    expect(reachOf('require("c")', [folder])).toEqual({ names: [], mayRunAgents: false, mayRedo: true })
    expect(reachOf('require("c")', [join(folder, 'nowhere')])).toMatchObject({ mayRedo: false })
  })
})
