import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import type { LuaEngine } from '../../../src/script/engine.ts'
import { loadFengari } from '../../../src/script/fengari/engine.ts'
import type { Runtime } from '../../../src/script/lua/core.ts'
import { createState } from '../../../src/script/lua/state.ts'
import { createWasmRuntime } from '../../../src/script/lua54/engine.ts'
import { webAssembly } from '../../../src/script/lua54/webassembly.ts'
import { failLua, runLua } from '../../contract/lua-engine.ts'

const wasmFile = createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm')

const freshRuntime = (): Runtime => createWasmRuntime(new (webAssembly().Module)(readFileSync(wasmFile)))
const engineOf = (runtime: Runtime): LuaEngine => ({
  name: 'lua54',
  createState: (options) => createState(runtime, options),
})
const engines = { lua54: async () => engineOf(freshRuntime()), fengari: loadFengari }

describe.each(['lua54', 'fengari'] as const)('host modules in %s, in state after state', (name) => {
  it('report the module and the line of an error in every state', async () => {
    const engine = await engines[name]()
    const modules = [{ name: 'lib/mod.lua', text: 'local text = "in module"\n\nfunction broken()\n  error(text)\nend' }]
    for (let state = 0; state < 4; state++) {
      const error = await failLua(engine, '\nbroken()', { modules })
      expect(error).toMatchObject({ chunk: 'lib/mod.lua', line: 4, message: 'in module' })
      expect(error.traceback).toContain("lib/mod.lua:4: in function 'broken'")
      expect(error.traceback).toContain('agents/test.aip:2: in main chunk')
    }
  })

  it('fail in the same way in every state, at run time and in their syntax', async () => {
    const engine = await engines[name]()
    for (let state = 0; state < 4; state++) {
      const modules = [{ name: 'lib/bad.lua', text: '\nerror("cannot start")' }]
      expect(await failLua(engine, 'return 1', { modules })).toMatchObject({ chunk: 'lib/bad.lua', line: 2 })
      const wrong = [{ name: 'lib/wrong.lua', text: '\n\nnot lua' }]
      expect(await failLua(engine, 'return 1', { modules: wrong })).toMatchObject({ chunk: 'lib/wrong.lua', line: 3 })
    }
  })

  it('start again with variables of their own', async () => {
    const engine = await engines[name]()
    const modules = [{ name: 'count', text: 'local calls = 0 function count() calls = calls + 1 return calls end' }]
    for (let state = 0; state < 4; state++) {
      expect(await runLua(engine, 'return count() + count()', { modules })).toEqual([3])
    }
  })

  it('keep long texts and large numbers in every state', async () => {
    const engine = await engines[name]()
    const long = 'long text '.repeat(40_000)
    const modules = [{ name: 'mod', text: `function values() return #'${long}', 2147483647, -1.5e300, 'ä\\0b' end` }]
    for (let state = 0; state < 3; state++) {
      expect(await runLua(engine, 'return values()', { modules })).toEqual([
        long.length,
        2_147_483_647,
        -1.5e300,
        'ä\0b',
      ])
    }
  })

  it('keep their long names when they are loaded in another order', async () => {
    const engine = await engines[name]()
    const end = 'x'.repeat(80)
    const one = { name: `one/${end}`, text: 'function one() error("x") end' }
    const two = { name: `two/${end}`, text: 'function two() error("x") end' }
    for (const modules of [[one, two], [two], [two], [one, two], [one, two], [two, one], [two, one], [two]]) {
      for (const { name } of modules) {
        const error = await failLua(engine, `${name.slice(0, 3)}()`, { modules })
        expect(error).toMatchObject({ chunk: name, line: 1, message: 'x' })
      }
    }
  })
})

describe('compiled host modules', () => {
  it('are compiled for the first two states, and then no more', async () => {
    const runtime = freshRuntime()
    const codes: unknown[] = []
    for (let state = 0; state < 3; state++) {
      // copies, as a worker receives them
      const modules = [{ name: 'mod', text: 'function value() return 7 end' }]
      expect(await runLua(engineOf(runtime), 'return value()', { modules })).toEqual([7])
      codes.push(...[...runtime.modules.values()].map(({ code }) => code))
    }
    expect(codes).toEqual([undefined, expect.any(Uint8Array), codes[1]])
    expect(codes[2]).toBe(codes[1])
  })

  it('are the only cached code: scripts are compiled each time, and may not be binary', async () => {
    const runtime = freshRuntime()
    const engine = engineOf(runtime)
    const script = 'return value() + 1'
    const modules = [{ name: 'mod', text: 'function value() return 7 end' }]
    for (let state = 0; state < 3; state++) await runLua(engine, script, { modules })
    expect([...runtime.modules.keys()]).toEqual(modules.map(({ text }) => text))

    const code = Buffer.from(runtime.modules.get(modules[0]?.text ?? '')?.code ?? [])
    expect(code.subarray(0, 4).toString('latin1')).toBe('\x1bLua')
    const binary = code.toString('latin1')
    const refused = { message: expect.stringContaining('attempt to load a binary chunk') }
    for (let state = 0; state < 3; state++) {
      expect(await failLua(engine, binary)).toMatchObject(refused)
      expect(await failLua(engine, 'return 1', { modules: [{ name: 'mod', text: binary }] })).toMatchObject(refused)
    }
  })

  it('do not accumulate when every state has different ones', async () => {
    const runtime = freshRuntime()
    for (let state = 0; state < 300; state++) {
      const modules = [{ name: 'mod', text: `value = ${state}` }]
      expect(await runLua(engineOf(runtime), 'return value', { modules })).toEqual([state])
    }
    expect(runtime.modules.size).toBeLessThanOrEqual(100)
  })
})
