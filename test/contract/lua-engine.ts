import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import {
  type HostFunction,
  type LuaEngine,
  LuaError,
  type LuaLimits,
  type LuaState,
  type LuaStateOptions,
  type LuaValue,
  type TableReading,
} from '../../src/script/engine.ts'

type Values = readonly LuaValue[]

export interface RunSetup {
  readonly variables?: { readonly [name: string]: LuaValue }
  readonly functions?: readonly HostFunction[]
  readonly modules?: LuaStateOptions['modules']
  readonly limits?: Partial<LuaLimits>
  readonly seed?: () => number
  readonly signal?: AbortSignal
  readonly name?: string
}

export const generousLimits: LuaLimits = { timeMs: 60_000, instructions: 1_000_000, memoryBytes: 256_000_000 }

export function openState(engine: LuaEngine, { functions = [], modules = [], limits, seed }: RunSetup = {}): LuaState {
  return engine.createState({
    functions: [...basicFunctions, ...functions],
    modules,
    limits: { ...generousLimits, ...limits },
    seed: seed ?? (() => 7),
  })
}

/** Runs Lua text in a separate state and closes it. */
export async function runLua(engine: LuaEngine, text: string, setup: RunSetup = {}): Promise<Values> {
  const state = openState(engine, setup)
  try {
    const signal = setup.signal ?? new AbortController().signal
    return await state.run({ name: setup.name ?? 'agents/test.aip', text }, setup.variables ?? {}, signal)
  } finally {
    state.close()
  }
}

/** Runs Lua text that must fail, and returns its error. */
export async function failLua(engine: LuaEngine, text: string, setup: RunSetup = {}): Promise<LuaError> {
  const error: unknown = await runLua(engine, text, setup).then(
    (values) => new Error(`it ended with ${JSON.stringify(values)}`),
    (reason: unknown) => reason,
  )
  if (error instanceof LuaError) return error
  throw error
}

export function hostFunction(path: string, call: HostFunction['call'], tables: TableReading = 'data'): HostFunction {
  return { path, tables, call }
}

async function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 1)
  })
}

function textOf(value: LuaValue): string {
  return typeof value === 'string' ? value : 'no text'
}

const basicFunctions: readonly HostFunction[] = [
  hostFunction('wait', async (values) => {
    await nextTurn()
    return values
  }),
  hostFunction('host.echo', (values) => values),
  hostFunction('host.border', (values) => values, 'border'),
  hostFunction('host.fail', ([message]) => {
    throw new TypeError(textOf(message))
  }),
  hostFunction('host.reject', async ([message]) => {
    await nextTurn()
    throw new TypeError(textOf(message))
  }),
]

/** The behavior of every Lua engine. `load` returns an engine; at most `states` states are open at the same time. */
export function describeLuaEngine(name: string, load: () => Promise<LuaEngine>, { states = 50 } = {}): void {
  describe(`Lua engine ${name}`, () => {
    describeValues(load)
    describeIteration(load)
    describeWaiting(load, states)
    describeErrors(load)
    describeEnvironment(load)
    describeLimits(load)
    describeLibrary(load)
    describeLifetime(load)
  })
}

type Load = () => Promise<LuaEngine>

function describeValues(load: Load): void {
  const roundTrips: readonly (readonly [string, LuaValue])[] = [
    ['true', true],
    ['false', false],
    ['an integer', 42],
    ['a negative integer', -7],
    ['a float', 1.5],
    ['a time in microseconds', 1_795_295_204_543_455],
    ['infinity', Infinity],
    ['an empty text', ''],
    ['a text with NUL', 'a\0b'],
    ['a text outside ASCII', 'grüße 漢字 🙂'],
    ['a text with a byte order mark', '\uFEFFx'],
    ['bytes that are not UTF-8', Uint8Array.of(0xff, 0, 0xfe, 0x80)],
    ['a text of a megabyte', 'xyz ü'.repeat(200_000)],
    ['an empty list', []],
    ['a list with nulls', [1, null, 'x', null]],
    ['an object', { a: 1, b: [true, { c: 'd' }] }],
    ['an object with a key that is no name', { 'a b': { '': 1 } }],
    ['an object with the key __proto__', JSON.parse('{"__proto__": {"x": 1}}') as LuaValue],
  ]
  it.each(roundTrips)('%s is unchanged after a round trip', async (_, value) => {
    const engine = await load()
    expect(await runLua(engine, 'return value, host.echo(value)', { variables: { value } })).toEqual([value, value])
  })

  it('distinguishes integers and floats', async () => {
    const text = 'return math.type(whole), math.type(broken), tostring(whole), whole .. ""'
    const values = await runLua(await load(), text, { variables: { whole: 4, broken: 1.5 } })
    expect(values).toEqual(['integer', 'float', '4', '4'])
  })

  it('returns all values of a chunk, including nil', async () => {
    expect(await runLua(await load(), 'return 1, nil, "x", nil')).toEqual([1, undefined, 'x', undefined])
    expect(await runLua(await load(), 'local x = 1')).toEqual([])
  })

  it('converts a null variable to nil, and null inside a value to the sentinel', async () => {
    const text = 'return top == nil, inside.x == null, type(inside.x), inside.list[1] == NULL'
    const variables = { top: null, inside: { x: null, list: [null] } }
    expect(await runLua(await load(), text, { variables })).toEqual([true, true, 'userdata', true])
  })

  it('has one null sentinel under three names, which is truthy and prints NULL', async () => {
    const text = 'return null == Null and Null == NULL, tostring(null), null and 1, {null}, null'
    expect(await runLua(await load(), text)).toEqual([true, 'NULL', 1, [null], null])
  })

  it('passes values nested 200 levels deep in both directions', async () => {
    let value: LuaValue = { end: true }
    for (let level = 0; level < 200; level++) value = level % 2 === 0 ? [value] : { next: value }
    expect(await runLua(await load(), 'return value', { variables: { value } })).toEqual([value])
  })

  it('reads tables by their border: length first, text keys dropped, holes null, {} an object', async () => {
    const text = 'return host.border({1, 2, x = 3}, {}, {a = 1}, {1, nil, 3})'
    expect(await runLua(await load(), text)).toEqual([[1, 2], {}, { a: 1 }, [1, null, 3]])
  })

  it('reads tables by their keys: mixed ones keep everything as text, {} is a list', async () => {
    const text = 'return host.echo({1, 2}, {}, {1, 2, x = 3}, {[2] = "b"}, {[1.5] = 1, [true] = 2})'
    const expected = [[1, 2], [], { 1: 1, 2: 2, x: 3 }, { 2: 'b' }, { '1.5': 1, true: 2 }]
    expect(await runLua(await load(), text)).toEqual(expected)
  })

  it('keeps an empty list a list, invisibly for the script', async () => {
    const text = `
      local count = 0
      for _ in pairs(list) do count = count + 1 end
      for _ in ipairs(list) do count = count + 1 end
      return list, host.border(list), getmetatable(list), next(list), #list, count`
    const values = await runLua(await load(), text, { variables: { list: [] } })
    expect(values).toEqual([[], [], undefined, undefined, 0, 0])
  })

  it('lets a script modify a list from outside and set its metatable', async () => {
    const text = `
      table.insert(list, 'c')
      table.remove(list, 1)
      local copy = setmetatable(list, { __index = function() return 'default' end })
      return list, copy.missing`
    expect(await runLua(await load(), text, { variables: { list: ['a', 'b'] } })).toEqual([['b', 'c'], 'default'])
  })

  it('preserves the order of keys in objects', async () => {
    const [value] = await runLua(await load(), 'return {zeta = 1, alpha = 2, mid = 3, Beta = 4}')
    expect(Object.keys(value as object)).toEqual(['Beta', 'alpha', 'mid', 'zeta'])
  })

  it.each([
    ['return {a = {b = {1, print or function() end}}}', 'a.b[2] is a function, which cannot leave Lua'],
    ['return {["x y"] = coroutine.create(function() end)}', '["x y"] is a thread, which cannot leave Lua'],
    ['return 1, function() end', 'the value is a function, which cannot leave Lua'],
    ['local t = {} t.child = {parent = t} return t', 'child.parent is a table that contains itself'],
    ['return {list = {{[{}] = 1}}}', 'list[1] has a table as a key, which cannot leave Lua'],
  ])('refuses a result that is not data: %s', async (text, message) => {
    expect(await failLua(await load(), text)).toMatchObject({ message, chunk: 'agents/test.aip' })
  })

  it('refuses an argument that is not data at the place of the call', async () => {
    const error = await failLua(await load(), '\nhost.echo(1, {x = function() end})')
    const message = "bad argument #2 to 'host.echo' (x is a function, which cannot leave Lua)"
    expect(error).toMatchObject({ message, line: 2 })
  })

  it('lets the same table occur in two places', async () => {
    expect(await runLua(await load(), 'local t = {1} return {t, t}')).toEqual([[[1], [1]]])
  })
}

function describeIteration(load: Load): void {
  it('visits 1..#t, other numbers, text in byte order, false, true, then the rest', async () => {
    const text = `
      local t = {'x', 'y', b = 1, a = 2, Z = 3, ['ä'] = 4, ['a\\nb'] = 5, [2.5] = 6, [-1] = 7, [true] = 8, [false] = 9}
      t[function() end] = 10
      local seen = {}
      for key, value in pairs(t) do seen[#seen + 1] = type(key) == 'function' and 'function' or tostring(key) end
      return table.concat(seen, ' ')`
    expect(await runLua(await load(), text)).toEqual(['1 2 -1 2.5 Z a a\nb b ä false true function'])
  })

  it('visits the same order whatever the order of insertion', async () => {
    const text = `
      local function visit(t) local s = '' for k in pairs(t) do s = s .. k .. ' ' end return s end
      local up, down = {}, {}
      for i = 1, 200 do up['key' .. i] = i end
      for i = 200, 1, -1 do down['key' .. i] = i end
      return visit(up) == visit(down)`
    expect(await runLua(await load(), text)).toEqual([true])
  })

  it('allows changing and clearing fields while visiting', async () => {
    const text = `
      local t, seen = {1, 2, 3, a = 1, b = 2, c = 3}, {}
      for key, value in pairs(t) do
        seen[#seen + 1] = tostring(key) .. '=' .. value
        if key == 1 then t[2] = nil end
        if key == 'a' then t.b = nil t.c = 30 end
        t[key] = nil
      end
      return table.concat(seen, ' '), next(t)`
    expect(await runLua(await load(), text)).toEqual(['1=1 3=3 a=1 c=30', undefined])
  })

  it('does not call __index, and follows __pairs', async () => {
    const text = `
      local quiet = setmetatable({a = 1, 5}, {__index = function() error('asked') end})
      local count = 0
      for _ in pairs(quiet) do count = count + 1 end
      local own = setmetatable({}, {__pairs = function(t) return function(_, k) if not k then return 'k', 'v' end end, t, nil end})
      for key, value in pairs(own) do return count, key, value end`
    expect(await runLua(await load(), text)).toEqual([2, 'k', 'v'])
  })

  it('explains what pairs needs', async () => {
    const error = await failLua(await load(), '\nfor _ in pairs(nil) do end')
    expect(error).toMatchObject({ message: "bad argument #1 to 'pairs' (table expected, got nil)", line: 2 })
  })
}

function describeWaiting(load: Load, states: number): void {
  it.each([
    ['in a plain call', 'return wait(1) + wait(2)', [3]],
    ['in a tail call', 'local function f(x) return wait(x) end return f(5)', [5]],
    ['with several values and nil', 'return select("#", wait(nil, 1, nil))', [3]],
    ['in pcall', 'return pcall(function() return wait(4) end)', [true, 4]],
    ['in xpcall', 'return xpcall(function(x) return wait(x) end, tostring, 6)', [true, 6]],
    [
      'before an error in pcall',
      'local ok, e = pcall(function() wait() error({code = 3}) end) return ok, e.code',
      [false, 3],
    ],
    ['in __index', 'return setmetatable({}, {__index = function(_, k) return wait(k) end}).name', ['name']],
    [
      'in __newindex',
      'local log = {} local t = setmetatable({}, {__newindex = function(_, k, v) log[1] = wait(v) end}) t.x = 9 return log[1]',
      [9],
    ],
    ['in __call', 'return setmetatable({}, {__call = function(_, x) return wait(x) end})(8)', [8]],
    ['in __add', 'return setmetatable({}, {__add = function(_, x) return wait(x) end}) + 8', [8]],
    ['in __concat', 'return setmetatable({}, {__concat = function(_, x) return wait(x) end}) .. "s"', ['s']],
    [
      'in __eq',
      'local m = {__eq = function() return wait(true) end} return setmetatable({}, m) == setmetatable({}, m)',
      [true],
    ],
    [
      'in __lt',
      'local m = {__lt = function() return wait(true) end} return setmetatable({}, m) < setmetatable({}, m)',
      [true],
    ],
    ['in __len', 'return #setmetatable({}, {__len = function() return wait(12) end})', [12]],
    ['in __tostring', 'return tostring(setmetatable({}, {__tostring = function() return wait("text") end}))', ['text']],
    [
      'in a coroutine with resume',
      'local co = coroutine.create(function(x) local y = wait(x) local z = coroutine.yield(y) return wait(z) end)' +
        ' return select(2, coroutine.resume(co, 1)), select(2, coroutine.resume(co, 2)), coroutine.status(co)',
      [1, 2, 'dead'],
    ],
    [
      'in a coroutine with wrap',
      'local f = coroutine.wrap(function() coroutine.yield(wait(1)) return wait(2) end) return f(), f()',
      [1, 2],
    ],
    [
      'in a coroutine in a coroutine',
      'return coroutine.wrap(function() return wait(1) + coroutine.wrap(function() return wait(2) end)() end)()',
      [3],
    ],
    [
      'before an error in a coroutine',
      'local co = coroutine.create(function() wait() error("late", 0) end) local ok, e = coroutine.resume(co) return ok, e',
      [false, 'late'],
    ],
    [
      'in a sort comparator',
      'local t = {3, 1, 2} table.sort(t, function(a, b) return wait(a > b) end) return t',
      [[3, 2, 1]],
    ],
    ['in a gsub callback', 'return (("a-b"):gsub("%a", function(c) return wait(c:upper()) end))', ['A-B']],
    [
      'in an iterator of a for loop',
      'local sum = 0 for i in function(_, i) i = wait((i or 0) + 1) if i < 4 then return i end end do sum = sum + i end return sum',
      [6],
    ],
    [
      'in ipairs over __index',
      'local n = 0 for _, v in ipairs(setmetatable({}, {__index = function(_, i) return wait(i < 3 and i or nil) end})) do n = n + v end return n',
      [3],
    ],
    [
      'in __pairs',
      'for k in pairs(setmetatable({}, {__pairs = function(t) return next, {[wait("k")] = 1} end})) do return k end',
      ['k'],
    ],
    ['in a loaded chunk', 'return load("return wait(...)")(3)', [3]],
    [
      'in the reader of load',
      'local parts = {"return ", "5"} return load(function() return wait(table.remove(parts, 1)) end)()',
      [5],
    ],
    ['between goto and label', 'local i = 0 ::top:: i = wait(i + 1) if i < 3 then goto top end return i', [3]],
  ] as const)('waits for a host function %s', async (_, text, expected) => {
    expect(await runLua(await load(), text)).toEqual(expected)
  })

  it('passes a rejected promise to pcall as an error of the call', async () => {
    const text = 'local ok, e = pcall(function() host.reject("refused") end) return ok, type(e), tostring(e)'
    expect(await runLua(await load(), text)).toEqual([false, 'string', 'agents/test.aip:1: refused'])
  })

  it('raises an error if waiting is impossible, and stays usable', async () => {
    const text = 'return xpcall(error, function() local ok, e = pcall(wait, 1) return e end)'
    const [, message] = await runLua(await load(), text)
    expect(message).toContain("'wait' has to wait for its result")
    const inner = `
      local outcome
      xpcall(error, function()
        outcome = { coroutine.resume(coroutine.create(function() return wait(1) end)) }
      end)
      return outcome[1], outcome[2]`
    expect(await runLua(await load(), inner)).toEqual([
      false,
      expect.stringContaining("'wait' has to wait for its result"),
    ])
  })

  it('hides from a script that it runs in a coroutine', async () => {
    const text = `
      local _, main = coroutine.running()
      local inner = coroutine.wrap(function() return coroutine.isyieldable(), select(2, coroutine.running()) end)
      return main, coroutine.isyieldable(), inner()`
    expect(await runLua(await load(), text)).toEqual([true, false, true, false])
    expect(await failLua(await load(), '\ncoroutine.yield(1)')).toMatchObject({
      message: 'attempt to yield from outside a coroutine',
      line: 2,
    })
  })

  it(`isolates ${states} suspended runs in their own states`, async () => {
    const engine = await load()
    const text = 'local sum = 0 for i = 1, 5 do sum = sum + wait(i) * factor end own = factor return sum, own'
    const runs = Array.from({ length: states }, async (_, factor) => runLua(engine, text, { variables: { factor } }))
    expect(await Promise.all(runs)).toEqual(Array.from({ length: states }, (_, factor) => [15 * factor, factor]))
  })

  it('isolates suspended runs of one state', async () => {
    const state = openState(await load())
    const { signal } = new AbortController()
    const text = 'local x = wait(input) local y = wait(x) return y + input'
    const runs = Array.from({ length: 50 }, async (_, input) => state.run({ name: 'x', text }, { input }, signal))
    expect(await Promise.all(runs)).toEqual(Array.from({ length: 50 }, (_, input) => [2 * input]))
    state.close()
  })

  it('runs a chunk of another state inside a host function', async () => {
    const engine = await load()
    const nested = hostFunction('nested', async ([input]) =>
      runLua(engine, 'return wait(input) .. "!"', { variables: { input } }),
    )
    expect(await runLua(engine, 'return nested("deep") .. nested("er")', { functions: [nested] })).toEqual(['deep!er!'])
  })
}

function describeErrors(load: Load): void {
  it('locates a runtime error and removes the position from the message', async () => {
    const error = await failLua(await load(), 'local t\n\nreturn t.x', { name: 'pack/agent.aip' })
    expect(error).toMatchObject({
      chunk: 'pack/agent.aip',
      line: 3,
      message: expect.stringMatching(/^attempt to index a nil value/),
    })
    expect(error.traceback).toContain('pack/agent.aip:3: in main chunk')
    expect(error.traceback).not.toContain('?: in')
  })

  it('locates a syntax error', async () => {
    const error = await failLua(await load(), 'local x = 1\nlocal = 2')
    expect(error).toMatchObject({
      chunk: 'agents/test.aip',
      line: 2,
      message: expect.stringMatching(/^<name> expected/),
    })
  })

  it('keeps long chunk names complete in error, traceback and message', async () => {
    const folder = 'a-folder-with-a-long-name/'.repeat(4)
    const error = await failLua(await load(), '\nlocal ok, e = pcall(error, "x") error("inner")', {
      name: `${folder}one.aip`,
    })
    expect(error).toMatchObject({ chunk: `${folder}one.aip`, line: 2, message: 'inner' })
    expect(error.traceback).toContain(`${folder}one.aip:2: in main chunk`)
  })

  it('distinguishes two long chunk names with the same end', async () => {
    const end = 'x'.repeat(80)
    const modules = [{ name: `first/${end}`, text: '\n\nfunction fail() error("from the module") end' }]
    const error = await failLua(await load(), 'fail()', { modules, name: `second/${end}` })
    expect(error).toMatchObject({ chunk: `first/${end}`, line: 3, message: 'from the module' })
    expect(error.traceback).toContain(`second/${end}:1: in main chunk`)
  })

  it.each([
    ['error("plain")', 'plain'],
    ['error("no position", 0)', 'no position'],
    ['error({message = "from message"})', 'from message'],
    ['error({error = "from error"})', 'from error'],
    ['error({code = 1, list = {true}})', '{"code":1,"list":[true]}'],
    ['error(setmetatable({}, {__tostring = function() return "from tostring" end}))', 'from tostring'],
    ['error()', 'the script raised an error without a message (nil)'],
    ['error(42)', '42'],
    ['error(print or function() end)', 'the script raised a function as an error'],
  ])('converts %s to a message and locates it', async (text, message) => {
    expect(await failLua(await load(), `\n${text}`)).toMatchObject({ message, chunk: 'agents/test.aip', line: 2 })
  })

  it('reports the error of a host function as the cause of an uncaught one', async () => {
    const cause = new BatonError('FILE_UNREADABLE', 'cannot read a.md', { hint: 'create it' })
    const fail = (): never => {
      throw cause
    }
    const functions = [
      hostFunction('aip.file.load', fail),
      hostFunction('aip.web.get', async () => Promise.reject(cause)),
    ]
    for (const text of ['\naip.file.load()', '\naip.web.get()', '\nlocal x = aip.web.get() return x']) {
      const error = await failLua(await load(), text, { functions })
      expect(error).toMatchObject({ message: 'cannot read a.md', chunk: 'agents/test.aip', line: 2 })
      expect(error.cause).toBe(cause)
    }
  })

  it('keeps the cause when a caught error is raised again, also with a text prefix', async () => {
    for (const text of [
      'error(e)',
      'error(e, 0)',
      'error("while loading: " .. e)',
      'error("while loading: " .. tostring(e))',
    ]) {
      const error = await failLua(await load(), `local _, e = pcall(host.fail, "broken")\n${text}`)
      expect(error.cause).toBeInstanceOf(TypeError)
      expect(error.message).toContain('broken')
    }
  })

  it('has no cause when a caught host error is unrelated to the uncaught one', async () => {
    const error = await failLua(await load(), 'pcall(host.fail, "broken") error("something else")')
    expect(error.cause).toBeUndefined()
  })

  it('passes the script a string with the position for a host error', async () => {
    const text = '\nlocal ok, e = pcall(function() host.fail("broken") end) return ok, e, type(e)'
    expect(await runLua(await load(), text)).toEqual([false, 'agents/test.aip:2: broken', 'string'])
  })

  it('locates errors inside modules, loaded text and coroutines', async () => {
    const modules = [{ name: 'lib/mod.lua', text: 'function broken()\n  error("in module")\nend' }]
    expect(await failLua(await load(), 'broken()', { modules })).toMatchObject({ chunk: 'lib/mod.lua', line: 2 })
    const loaded = await failLua(await load(), 'load("\\n\\nerror(\\"in text\\")", "@made.lua")()')
    expect(loaded).toMatchObject({ chunk: 'made.lua', line: 3, message: 'in text' })
    const thread = await failLua(
      await load(),
      '\nlocal ok, e = coroutine.resume(coroutine.create(function()\n local x = 1 + {} end)) error(e, 0)',
    )
    expect(thread).toMatchObject({ chunk: 'agents/test.aip', line: 3 })
  })

  it('can run more chunks in the same state after an error', async () => {
    const state = openState(await load())
    const { signal } = new AbortController()
    await expect(state.run({ name: 'x', text: 'error("first")' }, {}, signal)).rejects.toThrow('first')
    await expect(state.run({ name: 'x', text: 'not lua' }, {}, signal)).rejects.toThrow(LuaError)
    expect(await state.run({ name: 'x', text: 'return 5' }, {}, signal)).toEqual([5])
    state.close()
  })

  it('rejects every run when a module fails', async () => {
    const modules = [{ name: 'lib/bad.lua', text: '\nerror("cannot start")' }]
    const error = await failLua(await load(), 'return 1', { modules })
    expect(error).toMatchObject({ message: 'cannot start', chunk: 'lib/bad.lua', line: 2 })
  })
}

function describeEnvironment(load: Load): void {
  it('makes variables visible to the chunk but not to functions of modules', async () => {
    const modules = [{ name: 'mod', text: 'function see() return input, shared end shared = "global"' }]
    const text = 'return input, shared, see()'
    expect(await runLua(await load(), text, { modules, variables: { input: 1 } })).toEqual([
      1,
      'global',
      undefined,
      'global',
    ])
  })

  it('isolates assignments of a chunk from the next run and from modules', async () => {
    const modules = [{ name: 'mod', text: 'function see() return leak end' }]
    const state = openState(await load(), { modules })
    const { signal } = new AbortController()
    expect(await state.run({ name: 'x', text: 'leak = 1 return leak, see()' }, {}, signal)).toEqual([1, undefined])
    expect(await state.run({ name: 'x', text: 'return leak, input' }, {}, signal)).toEqual([undefined, undefined])
    state.close()
  })

  it('runs modules in order with the host functions available', async () => {
    const modules = [
      { name: 'one', text: 'first = host.echo("one")' },
      { name: 'two', text: 'host.second = function() return first .. " two" end' },
    ]
    expect(await runLua(await load(), 'return host.second()', { modules })).toEqual(['one two'])
  })

  it('gives loaded text the globals, not the environment of the chunk', async () => {
    const text = 'own = 1 local e = {x = 5} return load("return own")(), load("return x", "n", "t", e)()'
    expect(await runLua(await load(), text)).toEqual([undefined, 5])
  })

  it('places host functions in nested tables', async () => {
    const functions = ['a.b.c', 'a.b.d', 'a.e', 'f'].map((path) => hostFunction(path, () => [path]))
    expect(await runLua(await load(), 'return a.b.c(), a.b.d(), a.e(), f()', { functions })).toEqual([
      'a.b.c',
      'a.b.d',
      'a.e',
      'f',
    ])
  })
}

function describeLimits(load: Load): void {
  const endless = 'while true do end'
  const escapes: readonly (readonly [string, string])[] = [
    ['a plain loop', endless],
    ['pcall in a loop', `while true do pcall(function() ${endless} end) end`],
    ['xpcall with a handler that loops', `while true do xpcall(error, function() ${endless} end) end`],
    ['a coroutine', `coroutine.wrap(function() ${endless} end)()`],
    [
      'a coroutine in pcall in a coroutine',
      `while true do coroutine.resume(coroutine.create(function() while true do pcall(coroutine.wrap(function() ${endless} end)) end end)) end`,
    ],
    [
      'a metamethod',
      `while true do pcall(function() return setmetatable({}, {__index = function() ${endless} end}).x end) end`,
    ],
    ['a gsub callback', `while true do pcall(string.gsub, 'x', 'x', function() ${endless} end) end`],
    [
      'a sort of tables with __lt',
      `local m = {__lt = function() ${endless} end} while true do pcall(table.sort, {setmetatable({}, m), setmetatable({}, m)}) end`,
    ],
  ]
  it.each(escapes)('ends %s at the time limit', async (_, text) => {
    expect(await failLua(await load(), text, { limits: { timeMs: 30 } })).toMatchObject({ limit: 'time' })
  })

  it.each(escapes)('ends %s at the instruction limit', async (_, text) => {
    expect(await failLua(await load(), text, { limits: { instructions: 100 } })).toMatchObject({
      limit: 'instructions',
    })
  })

  it('names the line that was running when a limit was reached', async () => {
    const error = await failLua(await load(), `local x = 1\n${endless}`, { limits: { instructions: 100 } })
    expect(error).toMatchObject({
      chunk: 'agents/test.aip',
      line: 2,
      message: 'the script ran more than 100 thousand instructions',
    })
  })

  it('does not count the time a host function waits', async () => {
    const slow = hostFunction('slow', async () => new Promise((resolve) => setTimeout(() => resolve([1]), 900)))
    const text = 'slow() for i = 1, 1000 do end return "done"'
    expect(await runLua(await load(), text, { functions: [slow], limits: { timeMs: 800 } })).toEqual(['done'])
  })

  it('counts the time a host function works, and yields to the event loop after a long one', async () => {
    const busy = hostFunction('busy', () => {
      const end = performance.now() + 100
      while (performance.now() < end);
      return []
    })
    const ended = { limits: { timeMs: 400 }, functions: [busy] }
    const text = 'while true do pcall(busy) end'
    expect(await failLua(await load(), text, ended)).toMatchObject({ limit: 'time' })
    const inCallback =
      'table.concat(setmetatable({}, { __len = function() return 9 end, __index = function() busy() end }))'
    expect(await failLua(await load(), `while true do pcall(function() ${inCallback} end) end`, ended)).toMatchObject({
      limit: 'time',
    })
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('it turned')), 150)
    const endless = { limits: { timeMs: 60_000 }, functions: [busy], signal: controller.signal }
    await expect(runLua(await load(), text, endless)).rejects.toThrow('it turned')
  })

  it('calls no host function after a limit', async () => {
    let calls = 0
    const count = hostFunction('count', () => [++calls])
    const text = `local t = setmetatable({}, {__close = count}) pcall(function() ${endless} end) count()`
    await failLua(await load(), text, { functions: [count], limits: { instructions: 50 } })
    expect(calls).toBe(0)
  })

  it('yields to the event loop while Lua runs', async () => {
    const engine = await load()
    const controller = new AbortController()
    const reason = new Error('it turned')
    let turns = 0
    const timer = setInterval(() => (turns += 1) === 3 && controller.abort(reason), 1)
    await expect(runLua(engine, endless, { signal: controller.signal })).rejects.toBe(reason)
    clearInterval(timer)
  })

  it.each([
    ['an endless loop', endless],
    ['an endless loop in pcall', `while true do pcall(function() ${endless} end) end`],
    [
      'an endless loop in a coroutine',
      `while true do coroutine.resume(coroutine.create(function() ${endless} end)) end`,
    ],
    ['a host function that never answers', 'never()'],
    ['a loop that catches failing calls', 'while true do pcall(host.reject, "x") end'],
  ])('ends %s with the reason when aborted', async (_, text) => {
    const controller = new AbortController()
    const reason = new Error('stopped by the user')
    setTimeout(() => controller.abort(reason), 20)
    const functions = [hostFunction('never', async () => new Promise(() => undefined))]
    await expect(runLua(await load(), text, { functions, signal: controller.signal })).rejects.toBe(reason)
  })

  it('runs nothing when it was aborted before', async () => {
    let calls = 0
    const count = hostFunction('count', () => [++calls])
    const signal = AbortSignal.abort(new Error('too late'))
    await expect(runLua(await load(), 'count()', { functions: [count], signal })).rejects.toThrow('too late')
    expect(calls).toBe(0)
  })

  it('computes the same when it is stopped between instructions all the time', async () => {
    const text = `
      local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
      local produce = coroutine.wrap(function() for i = 1, 8000 do coroutine.yield(i) end return 0 end)
      local sum, parts = 0, {}
      for i = 1, 8000 do sum = sum + produce() end
      for i = 1, 8000 do parts[#parts + 1] = ('%d'):format(i % 10) end
      local text = table.concat(parts):gsub('0', function() return '' end)
      return fib(21), sum, #text`
    const expected = [10_946, 32_004_000, 7_200]
    const engine = await load()
    const runs = Array.from({ length: 4 }, async () => runLua(engine, text))
    expect(await Promise.all(runs)).toEqual([expected, expected, expected, expected])
  })
}

function describeLibrary(load: Load): void {
  it('has no functions with outside effects', async () => {
    const text = `
      local present = {}
      for _, name in ipairs({'io', 'require', 'package', 'dofile', 'loadfile', 'print'}) do
        if _G[name] ~= nil then present[#present + 1] = name end
      end
      for name in pairs(os) do present[#present + 1] = 'os.' .. name end
      for name in pairs(debug) do present[#present + 1] = 'debug.' .. name end
      present[#present + 1] = string.dump and 'string.dump'
      return table.concat(present, ' ')`
    expect(await runLua(await load(), text)).toEqual(['debug.traceback'])
  })

  it('loads text only', async () => {
    const text =
      'local ok, e = load("\\27Lua") local no, why = load("return 1", "n", "b") return ok, e, no, why, load("return 2", "n", "bt")()'
    expect(await runLua(await load(), text)).toEqual([
      undefined,
      expect.stringContaining('binary chunk'),
      undefined,
      "attempt to load a text chunk (mode is 'b')",
      2,
    ])
  })

  it('requests a seed at the first random number and repeats its sequence', async () => {
    const engine = await load()
    const draws = 'local t = {} for i = 1, 5 do t[i] = math.random(1000000) end return t'
    let asked = 0
    const seed = (): number => {
      asked++
      return 1234
    }
    const first = await runLua(engine, draws, { seed })
    expect(asked).toBe(1)
    expect(await runLua(engine, draws, { seed })).toEqual(first)
    expect(await runLua(engine, draws, { seed: () => 99 })).not.toEqual(first)
    await runLua(engine, 'return math.floor(1)', { seed })
    expect(asked).toBe(2)
    const reseeded = await runLua(
      engine,
      'math.randomseed(5) local a = math.random(1000) math.randomseed(5) return a == math.random(1000)',
      { seed },
    )
    expect([reseeded, asked]).toEqual([[true], 2])
  })

  it.each([
    ['("abc"):gsub("%w", function(c) return c .. c end)', ['aabbcc', 3]],
    ['("abc"):gsub("", function() return "-" end)', ['-a-b-c-', 4]],
    ['("abc"):gsub("b*", function() return "-" end)', ['-a-c-', 3]],
    ['("hello world"):gsub("o", function() return nil end)', ['hello world', 2]],
    ['("hello"):gsub("l", function() return false end, 1)', ['hello', 1]],
    ['("hello"):gsub("^h", function() return "J" end)', ['Jello', 1]],
    ['("k=v, x=y"):gsub("(%w+)=(%w+)", function(k, v) return v .. "=" .. k end)', ['v=k, y=x', 2]],
    ['("abc"):gsub("()", function(p) return p end)', ['1a2b3c4', 4]],
    ['("THE (quick) fox"):gsub("%f[%a]%a+", function(w) return w:lower() end)', ['the (quick) fox', 3]],
    ['(123):rep(2):gsub("2", function() return 0 end)', ['103103', 2]],
    ['("abc"):gsub("%w", function() return "x" end, 0)', ['abc', 0]],
    ['("a.b"):gsub("%.", {["."] = "!"})', ['a!b', 1]],
    ['("abc"):gsub("b", "%0%0")', ['abbc', 1]],
  ] as const)('replaces as Lua does: %s', async (text, expected) => {
    expect(await runLua(await load(), `return ${text.replace('(123):rep', '("123"):rep')}`)).toEqual(expected)
  })

  it('refuses a replacement that is not text', async () => {
    const error = await failLua(await load(), '\n;("x"):gsub("x", function() return {} end)')
    expect(error).toMatchObject({ message: 'invalid replacement value (a table)', line: 2 })
  })

  it('sorts with a comparator, stably', async () => {
    const text = `
      local t = {}
      for i = 1, 500 do t[i] = {key = (i * 7919) % 10, place = i} end
      table.sort(t, function(a, b) return a.key < b.key end)
      for i = 2, #t do
        if t[i - 1].key > t[i].key or t[i - 1].key == t[i].key and t[i - 1].place > t[i].place then return i end
      end
      local small = {2, 1}
      table.sort(small, function(a, b) return a < b end)
      return 'sorted', #t, small`
    expect(await runLua(await load(), text)).toEqual(['sorted', 500, [1, 2]])
  })

  it('orders and compares text by bytes', async () => {
    const text =
      'local t = {"b", "a\\nb", "ab", "a", "B", "ä"} table.sort(t) return t, "a\\nb" < "ab", "\\t\\t" == "\\x99"'
    expect(await runLua(await load(), text)).toEqual([['B', 'a', 'a\nb', 'ab', 'b', 'ä'], true, false])
  })

  it('collects garbage on request and supports no other option', async () => {
    expect(await runLua(await load(), 'return collectgarbage(), type(collectgarbage("count"))')).toEqual([0, 'number'])
    const error = await failLua(await load(), '\ncollectgarbage("stop")')
    expect(error).toMatchObject({ message: expect.stringContaining("'collectgarbage'"), line: 2 })
  })

  it('never runs finalizers', async () => {
    const text = `
      local ran = false
      local meta = {__gc = function() ran = true end}
      setmetatable({}, meta)
      collectgarbage()
      return ran, meta.__gc ~= nil`
    expect(await runLua(await load(), text)).toEqual([false, true])
  })
}

function describeLifetime(load: Load): void {
  it('starts every state without data of an earlier one', async () => {
    const engine = await load()
    await runLua(engine, '_G.leak = 1 string.leak = 2 getmetatable("").leak = 3')
    expect(await runLua(engine, 'return leak, string.leak, getmetatable("").leak')).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('rejects a run that is suspended when its state is closed', async () => {
    const state = openState(await load(), {
      functions: [hostFunction('never', async () => new Promise(() => undefined))],
    })
    const run = state.run({ name: 'x', text: 'never()' }, {}, new AbortController().signal)
    setTimeout(() => state.close(), 5)
    await expect(run).rejects.toThrow('the Lua state was closed')
  })

  it('can be closed twice, also by a host function, and returns nothing afterwards', async () => {
    const holder: { state?: LuaState } = {}
    const close = hostFunction('close', () => {
      holder.state?.close()
      return []
    })
    const state = openState(await load(), { functions: [close] })
    holder.state = state
    const { signal } = new AbortController()
    await expect(state.run({ name: 'x', text: 'close() while true do end' }, {}, signal)).rejects.toThrow('closed')
    state.close()
    await expect(state.run({ name: 'x', text: 'return 1' }, {}, signal)).rejects.toThrow('closed')
  })
}
