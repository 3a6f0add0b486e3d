import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { LuaEngine } from '../../src/script/engine.ts'
import { createState } from '../../src/script/lua/state.ts'
import { createWasmRuntime, loadLua54 } from '../../src/script/lua54/engine.ts'
import { webAssembly } from '../../src/script/lua54/webassembly.ts'
import { describeLuaEngine, failLua, generousLimits, hostFunction, openState, runLua } from '../contract/lua-engine.ts'
import { core } from '../helpers/series.ts'

const wasmFile = createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm')

const shared = loadLua54()
describeLuaEngine('lua54', async () => shared)

describe('numbers of 64 bits', () => {
  it.each([2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n])('keeps the integer %s', async (value) => {
    const values = await runLua(await shared, 'return value, math.type(value), {value}', { variables: { value } })
    expect(values).toEqual([value, 'integer', [value]])
  })

  it('converts integers that do not fit to floats', async () => {
    const variables = { big: 2n ** 70n, wide: 1e300, edge: 2 ** 53, zero: -0 }
    const text = 'return big == 2.0^70, wide, math.type(edge), edge == 2^53, 1 / zero'
    expect(await runLua(await shared, text, { variables })).toEqual([true, 1e300, 'float', true, -Infinity])
  })

  it('prints a time in microseconds without a fraction', async () => {
    const text = 'return tostring(time), time + 1, 1 << 40, 2147483647 + 1'
    const values = await runLua(await shared, text, { variables: { time: 1_795_295_204_543_455 } })
    expect(values).toEqual(['1795295204543455', 1_795_295_204_543_456, 2 ** 40, 2 ** 31])
  })
})

describe('syntax of Lua 5.4', () => {
  it('can wait inside <close> and closes in order', async () => {
    const text = `
      local log = {}
      local function closing(name) return setmetatable({}, {__close = function() log[#log + 1] = wait(name) end}) end
      do
        local a <close> = closing('a')
        local b <close> = closing('b')
        local c <const> = wait('body')
        log[1] = c
      end
      return log`
    expect(await runLua(await shared, text)).toEqual([['body', 'b', 'a']])
  })

  it('closes variables when an error propagates', async () => {
    const text = `
      local closed
      local ok = pcall(function()
        local a <close> = setmetatable({}, {__close = function(_, e) closed = wait(e) end})
        error('x', 0)
      end)
      return ok, closed`
    expect(await runLua(await shared, text)).toEqual([false, 'x'])
  })
})

describe('memory', () => {
  const limits = { memoryBytes: 4_000_000 }
  it.each([
    ['tables', 'local t = {} while true do t[#t + 1] = {} end'],
    ['strings', 'local t = {} while true do t[#t + 1] = ("x"):rep(10000) .. #t end'],
    ['one long string', 'return ("x"):rep(1e9)'],
    ['one growing string', 'local s = "x" while true do s = s .. s end'],
    ['what pcall catches', 'while true do pcall(function() local t = {} while true do t[#t + 1] = {} end end) end'],
    ['what pcall caught', 'local ok, e = pcall(string.rep, "x", 1e9) return ok, e'],
    ['coroutines', 'local t = {} while true do t[#t + 1] = coroutine.create(function() end) end'],
    ['a value that is returned to it', 'return #host.echo(("x"):rep(1000000), ("x"):rep(1000000), ("y"):rep(1900000))'],
  ])('is limited for a script that needs too much: %s', async (_, text) => {
    expect(await failLua(await shared, text, { limits })).toMatchObject({
      limit: 'memory',
      message: 'the script needs more than 4000000 bytes of memory',
    })
  })

  it('is counted as held, not as discarded', async () => {
    const text = 'local last for i = 1, 100000 do last = {i, ("x"):rep(100)} end return last[1]'
    expect(await runLua(await shared, text, { limits })).toEqual([100_000])
  })

  it('is separate for each state', async () => {
    const engine = await shared
    const other = openState(engine, { limits })
    await failLua(engine, 'local t = {} while true do t[#t + 1] = {} end', { limits })
    expect(
      await other.run({ name: 'x', text: 'return #("x"):rep(1000000)' }, {}, new AbortController().signal),
    ).toEqual([1_000_000])
    other.close()
  })

  it('refuses variables that are larger than the limit', async () => {
    const error = await failLua(await shared, 'return #big .. ""', {
      limits,
      variables: { big: 'x'.repeat(5_000_000) },
    })
    expect(error.limit).toBe('memory')
  })

  it('is released by many states, however they end', async () => {
    const { Module } = webAssembly()
    const runtime = createWasmRuntime(new Module(readFileSync(wasmFile)))
    const engine: LuaEngine = { name: 'lua54', createState: (options) => createState(runtime, options) }
    const size = (): number => runtime.wasm.lua.memory.buffer.byteLength
    const functions = [hostFunction('never', async () => new Promise(() => undefined))]
    const endings = [
      async () => runLua(engine, 'local t = {} for i = 1, 100 do t[i] = {i} end return wait(t)'),
      async () => failLua(engine, 'local t = wait({}) error({t})'),
      async () => failLua(engine, 'while true do end', { limits: { instructions: 2 } }),
      async () => failLua(engine, 'return ("x"):rep(1e9)', { limits }),
      async () => failLua(engine, 'not lua'),
      async () => {
        const state = openState(engine, { functions })
        const run = state.run({ name: 'x', text: 'never()' }, {}, new AbortController().signal)
        state.close()
        await expect(run).rejects.toThrow('closed')
      },
    ]
    const runAll = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++) await endings[index % endings.length]?.()
    }
    await runAll(60)
    const block = runtime.wasm.lua.malloc(64)
    runtime.wasm.lua.free(block)
    const before = size()
    await runAll(core(600, 2_000))
    expect(size()).toBe(before)
    const after = runtime.wasm.lua.malloc(64)
    expect(Math.abs(after - block)).toBeLessThan(2_000_000)
  })
})

describe('the instance', () => {
  it('survives host functions that recursively run chunks in each other', async () => {
    const engine = await shared
    const nested = hostFunction('nested', ([depth]) => {
      const level = Number(depth) + 1
      const state = openState(engine, { functions: [nested] })
      state
        .run({ name: 'x', text: `return nested(${level})` }, {}, new AbortController().signal)
        .finally(() => state.close())
        .catch(() => undefined)
      return [level]
    })
    await runLua(engine, 'return nested(0)', { functions: [nested] }).catch(() => undefined)
    expect(await runLua(engine, 'return 1')).toEqual([1])
  })

  it('is replaced after a fault: a stack that is exhausted within Lua', async () => {
    const engine = await loadLua54()
    const state = openState(engine)
    const survivor = openState(engine)
    // nested calls of C functions need a lot of stack and little time
    const text = 'return load("return " .. ("("):rep(150) .. "1" .. (")"):rep(150))()'
    const { signal } = new AbortController()
    const measure = (depth: number): number => {
      try {
        return measure(depth + 1)
      } catch {
        return depth
      }
    }
    const dive = (depth: number): Promise<unknown> =>
      depth > 0 ? dive(depth - 1) : state.run({ name: 'x', text }, {}, signal).catch((error: unknown) => error)
    let outcome = ''
    for (let depth = measure(0); depth > 0 && !outcome.includes('engine failed'); depth -= 20) {
      try {
        outcome = String(await dive(depth))
      } catch (error) {
        outcome = String(error)
      }
    }
    expect(outcome).toContain('the Lua engine failed: Maximum call stack size exceeded')
    await expect(survivor.run({ name: 'x', text: 'return 1' }, {}, signal)).rejects.toThrow('stopped after a fault')
    state.close()
    survivor.close()
    expect(await runLua(engine, 'return 1')).toEqual([1])
  })

  it('ends deep recursion in Lua as an error', async () => {
    const engine = await shared
    expect(await failLua(engine, 'local function f() return 1 + f() end f()')).toMatchObject({
      message: expect.stringMatching(/stack overflow/),
    })
    expect(
      await failLua(
        engine,
        'local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x',
      ),
    ).toMatchObject({
      message: expect.stringMatching(/stack overflow/),
    })
    const text = 'local f f = function() return coroutine.wrap(f)() end return f()'
    expect(await failLua(engine, text)).toMatchObject({ message: expect.stringMatching(/overflow|too many/) })
    expect(await runLua(engine, 'return 1')).toEqual([1])
  })

  it('raises an error of the seed at the call of the random function', async () => {
    const seed = (): number => {
      throw new Error('no seed')
    }
    const error = await failLua(await shared, '\nlocal x = math.random()', { seed })
    expect(error).toMatchObject({ message: 'no seed', line: 2 })
    const modules = [{ name: 'm', text: 'local ok = pcall(math.random) again = not ok' }]
    expect(await runLua(await shared, 'return again', { seed, modules })).toEqual([true])
  })

  it('repeats the order of raw next in a fresh engine', async () => {
    const text = 'local s = "" for k in next, {a = 1, b = 2, c = 3, d = 4, e = 5, f = 6} do s = s .. k end return s'
    const orders = await Promise.all([1, 2, 3].map(async () => runLua(await loadLua54(), text)))
    expect(new Set(orders.map(String)).size).toBe(1)
  })
})

describe('the wasm file', () => {
  it('can be anywhere', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'baton-lua-'))
    const copy = join(folder, 'lua.wasm')
    await copyFile(wasmFile, copy)
    expect(await runLua(await loadLua54({ wasmFile: copy }), 'return _VERSION')).toEqual(['Lua 5.4'])
    await rm(folder, { recursive: true })
  })

  it('is named when it is missing or damaged', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'baton-lua-'))
    const broken = join(folder, 'broken.wasm')
    await writeFile(broken, 'no wasm')
    await expect(loadLua54({ wasmFile: broken })).rejects.toMatchObject({
      code: 'FILE_UNREADABLE',
      message: expect.stringContaining(broken),
    })
    await expect(loadLua54({ wasmFile: join(folder, 'none.wasm') })).rejects.toMatchObject({ code: 'FILE_UNREADABLE' })
    await rm(folder, { recursive: true })
  })
})

describe('limits', () => {
  it('apply to all runs of a state together', async () => {
    const state = openState(await shared, { limits: { ...generousLimits, instructions: 1_000 } })
    const { signal } = new AbortController()
    const text = 'for i = 1, 300000 do end'
    const runOften = async (): Promise<void> => {
      for (let run = 0; run < 10; run++) await state.run({ name: 'x', text }, {}, signal)
    }
    await expect(runOften()).rejects.toMatchObject({ limit: 'instructions' })
    await expect(state.run({ name: 'x', text: 'return 1' }, {}, signal)).rejects.toMatchObject({
      limit: 'instructions',
    })
    state.close()
  })
})
