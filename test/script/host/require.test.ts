import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentWorld, aip } from '../../helpers/agents.ts'
import { tempTree } from '../../helpers/temp.ts'

/** Runs `agents/a.lua` with these modules next to it. */
async function run(code: string, modules: { readonly [path: string]: string } = {}): Promise<unknown> {
  const files = Object.fromEntries(Object.entries(modules).map(([path, text]) => [`agents/lua/${path}`, text]))
  const { outputs } = await agentWorld({ 'agents/a.lua': code, ...files }).run('agents/a')
  return outputs[0]
}

describe('require', () => {
  it.each([
    ['demo', 'demo.lua'],
    ['demo', 'demo/init.lua'],
    ['deep.demo', 'deep/demo.lua'],
    ['deep/demo', 'deep/demo.lua'],
    ['größe', 'größe.lua'],
  ])('finds %s in lua/%s', async (name, path) => {
    expect(await run(`return require("${name}").name`, { [path]: 'return { name = "Demo" }' })).toBe('Demo')
  })

  it('prefers lua/x.lua to lua/x/init.lua, and the folder of the agent to the root of its pack', async () => {
    const files = {
      '.aipack/pack/custom/ns/p/sub/a.lua': 'return { require("x"), require("y"), (require("z")) }',
      '.aipack/pack/custom/ns/p/sub/lua/x.lua': 'return "x beside"',
      '.aipack/pack/custom/ns/p/sub/lua/x/init.lua': 'return "x folder"',
      '.aipack/pack/custom/ns/p/sub/lua/y/init.lua': 'return "y beside"',
      '.aipack/pack/custom/ns/p/lua/y.lua': 'return "y root"',
      '.aipack/pack/custom/ns/p/lua/z.lua': 'return "z root"',
    }
    const { run: runAgent } = agentWorld(files)
    expect((await runAgent('ns@p/sub/a')).outputs).toEqual([['x beside', 'y beside', 'z root']])
    await expect(runAgent('.aipack/pack/custom/ns/p/sub/a.lua')).rejects.toThrow("module 'z' not found")
  })

  it('runs a module once per state, and returns true for one without a value', async () => {
    const modules = { 'count.lua': 'loads = (loads or 0) + 1', 'f.lua': 'return false' }
    const code = 'local a, b = require("count"), require("count")\nreturn { a, b, require("f"), require("m").loads() }'
    expect(await run(code, { ...modules, 'm.lua': 'return { loads = function() return loads end }' })).toEqual([
      true,
      true,
      false,
      1,
    ])
  })

  it('runs modules in the real globals: they see aip, CTX and each other, but not the variables of the section', async () => {
    const modules = {
      'one.lua': 'function shared() return type(input) .. type(options) .. type(aip.text.trim) .. type(CTX.PWD) end',
      'two.lua': 'return shared()',
    }
    expect(
      await run('require("one")\nreturn { require("two"), type(input), type(options), null == Null }', modules),
    ).toEqual(['nilnilfunctionstring', 'nil', 'table', true])
  })

  it('passes a module its name, and lets it wait while it is loaded', async () => {
    const modules = { 'm.lua': 'local name, chunk = ...\nreturn { name, chunk, aip.agent.run("../b").outputs[1] }' }
    const world = agentWorld({
      'agents/a.lua': 'return require("m")',
      'agents/lua/m.lua': modules['m.lua'],
      'b.lua': 'return "waited"',
    })
    expect((await world.run('agents/a')).outputs).toEqual([['m', 'agents/lua/m.lua', 'waited']])
  })

  it('accepts a byte order mark and a shebang line', async () => {
    expect(await run('return require("m")', { 'm.lua': '\uFEFF#!/usr/bin/lua\nreturn 7' })).toBe(7)
  })

  it('supports the standard libraries and package.loaded', async () => {
    const modules = { 'm.lua': 'n = (n or 0) + 1\nreturn n' }
    expect(
      await run(
        'local a = require("m")\npackage.loaded.m = nil\nreturn { require("string") == string, a, (require("m")) }',
        modules,
      ),
    ).toEqual([true, 1, 2])
  })

  it('loads again in each section', async () => {
    const { run: runAgent } = agentWorld({
      'a.aip': aip({ Data: 'return require("m").add()', Output: 'return { data, require("m").add() }' }),
      'lua/m.lua': 'local n = 0\nreturn { add = function() n = n + 1 return n end }',
    })
    expect((await runAgent('a')).outputs).toEqual([[1, 1]])
  })

  it('reads each module once in a run, as one observation', async () => {
    const world = agentWorld({
      'a.aip': aip({ Data: 'return require("m")', Output: 'return data + require("m")' }),
      'lua/m.lua': 'return 2',
    })
    expect((await world.run('a', [1, 2, 3])).outputs).toEqual([4, 4, 4])
    const found = world.context.records.filter((record) => record.k === 'obs' && record['name'] === 'require')
    expect(found).toMatchObject([{ p: 'module/. m', value: { text: 'return 2' } }])
  })
})

describe('errors of require', () => {
  async function failure(code: string, modules: { readonly [path: string]: string } = {}): Promise<unknown> {
    return run(code, modules).catch((error: unknown) => error)
  }

  it('name the searched places, at the line of the call', async () => {
    expect(await failure('\nrequire("nope")')).toMatchObject({
      code: 'SCRIPT_FAILED',
      message: "module 'nope' not found: there is no agents/lua/nope.lua, no agents/lua/nope/init.lua",
      place: { file: expect.stringMatching(/agents\/a\.lua$/), line: 2 },
    })
  })

  it.each(['nil', '{}', 'null', '5'])('require a string as the name, not %s', async (value) => {
    expect(await failure(`require(${value})`)).toMatchObject({
      message: expect.stringContaining("bad argument #1 to 'require' (string expected, got "),
      place: { line: 1 },
    })
  })

  it.each([
    ['a syntax error', 'local x = \n= 2', 2, /unexpected symbol/],
    ['an error while it is loaded', '\n\nerror("boom")', 3, /^boom$/],
    ['a mistake while it is loaded', 'local t = nil\nreturn t.x', 2, /attempt to index a nil value/],
  ])('name file and line of the module for %s', async (_, text, line, message) => {
    expect(await failure('require("m")', { 'm.lua': text })).toMatchObject({
      message: expect.stringMatching(message),
      place: { file: expect.stringMatching(/agents\/lua\/m\.lua$/), line, text },
    })
  })

  it('name file and line of the module for a function that is called later', async () => {
    const text = 'return { f = function()\n  error("late")\nend }'
    expect(await failure('local m = require("m")\nm.f()', { 'm.lua': text })).toMatchObject({
      message: 'late',
      place: { file: expect.stringMatching(/m\.lua$/), line: 2, text },
    })
    const caught = 'local ok, e = pcall(require("m").f)\nerror(e, 0)'
    expect(await failure(caught, { 'm.lua': text })).toMatchObject({ message: 'late', place: { line: 2, text } })
  })

  it('name file and line of a module whose path is long', async () => {
    const folder = `${'deep_folder_'.repeat(8)}é`
    const modules = { [`${folder}/m.lua`]: 'error("far")', [`${folder}2/m.lua`]: '\nerror("further")' }
    const code = `pcall(require, "${folder}.m")\nrequire("${folder}2.m")`
    expect(await failure(code, modules)).toMatchObject({
      message: 'further',
      place: { file: expect.stringContaining(`${folder}2/m.lua`), line: 2 },
    })
  })

  it('include the message of a host function', async () => {
    expect(await failure('require("m")', { 'm.lua': '\nreturn aip.file.save("/baton-never", "x")' })).toMatchObject({
      message: expect.stringContaining('outside the workspace'),
      place: { file: expect.stringMatching(/m\.lua$/), line: 2 },
      cause: { code: 'OUTSIDE_WORKSPACE' },
    })
  })

  it('can be caught, and the module can be required again', async () => {
    const modules = { 'm.lua': 'tries = (tries or 0) + 1\nif tries == 1 then error("first") end\nreturn tries' }
    expect(await run('local ok, e = pcall(require, "m")\nreturn { ok, e, (require("m")) }', modules)).toEqual([
      false,
      'agents/lua/m.lua:2: first',
      2,
    ])
    expect(
      await run('local ok, e = pcall(require, "m")\nreturn { ok, e.code }', { 'm.lua': 'error({ code = 5 })' }),
    ).toEqual([false, 5])
  })

  it('name the modules of a cycle', async () => {
    const modules = {
      'a.lua': 'return require("b")',
      'b.lua': '\nlocal c = require("c")',
      'c.lua': 'local a = require("a")',
    }
    expect(await failure('require("a")', modules)).toMatchObject({
      message: 'modules require each other in a cycle: a → b → c → a',
      place: { file: expect.stringMatching(/c\.lua$/), line: 1 },
    })
  })

  it('include the target of a link, also outside', async () => {
    const outside = tempTree({ 'm.lua': 'return 1' })
    const world = agentWorld({ 'a.lua': 'return require("m")' })
    mkdirSync(join(world.folder, 'lua'))
    symlinkSync(join(outside, 'm.lua'), join(world.folder, 'lua/m.lua'))
    expect((await world.run('a')).outputs).toEqual([1])
  })
})
