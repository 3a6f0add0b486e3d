import { describe, expect, it } from 'vitest'
import { type HostFunction, type LuaEngine, LuaError, type LuaValue } from '../../src/script/engine.ts'
import { core } from '../helpers/series.ts'
import { failLua, hostFunction, runLua } from './lua-engine.ts'

type Load = () => Promise<LuaEngine>

export interface SafetyTraits {
  /** Whether the memory of a state is counted, or only long strings and the heap of the process are checked. */
  readonly memory: 'counted' | 'rough'
  /** Whether the state lives in a separate thread. */
  readonly isolated: boolean
}

/** Every way a script could try to escape, persist, or exhaust resources. `load` returns an engine. */
export function describeLuaSafety(name: string, load: Load, traits: SafetyTraits): void {
  describe(`what a script cannot do in ${name}`, () => {
    describeReach(load)
    describeTricks(load)
    describeHostBorder(load)
    describeEndless(load)
    describeMemory(load, traits)
    if (traits.isolated) describeKills(load)
  })
}

/** The part that a thread could affect: the boundary of host functions, memory, and being ended from outside. */
export function describeThreadSafety(name: string, load: Load, traits: SafetyTraits): void {
  describe(`what a script cannot do in ${name}`, () => {
    describeHostBorder(load)
    describeMemory(load, traits)
    describeKills(load)
  })
}

function describeReach(load: Load): void {
  it('globals and their tables contain only these names', async () => {
    const text = `
      local names, seen = {}, {}
      local function visit(t, path)
        if seen[t] then return end
        seen[t] = true
        for key, value in pairs(t) do
          local name = path .. tostring(key)
          if type(value) == 'table' then visit(value, name .. '.') else names[#names + 1] = name end
        end
      end
      visit(_G, '')
      table.sort(names)
      return names`
    const [names] = await runLua(await load(), text)
    // lua54 has the additions of 5.4 to 5.3
    const added = new Set(['warn', 'coroutine.close'])
    expect((names as readonly string[]).filter((found) => !added.has(found))).toEqual(knownNames)
  })

  it.each([
    'io',
    'os.execute',
    'os.exit',
    'os.getenv',
    'os.remove',
    'os.rename',
    'os.tmpname',
    'package',
    'require',
    'module',
    'loadlib',
    'dofile',
    'loadfile',
    'loadstring',
    'newproxy',
    'js',
    'fengari',
    'debug.getregistry',
    'debug.getupvalue',
    'debug.setupvalue',
    'debug.upvaluejoin',
    'debug.getlocal',
    'debug.getinfo',
    'debug.sethook',
    'debug.getmetatable',
    'debug.setmetatable',
    'debug.getuservalue',
    'debug.debug',
    'string.dump',
  ])('there is no %s', async (path) => {
    expect(await runLua(await load(), `return ${path}`)).toEqual([undefined])
  })

  it('binary chunks are not loaded, under any name for the mode', async () => {
    const text = `
      local results = {}
      local chunk = '\\27Lua\\x54\\0\\x19\\x93\\r\\n\\x1a\\n'
      for index, mode in ipairs({'b', 'bt', 't', 'tb', ''}) do results[index] = load(chunk, 'x', mode) == nil end
      results[6] = load(chunk) == nil
      results[7] = load(function() local part = chunk chunk = nil return part end) == nil
      return results`
    expect(await runLua(await load(), text)).toEqual([Array.from({ length: 7 }, () => true)])
  })

  it('there is no userdata but null anywhere', async () => {
    const text = `
      local found, seen = {}, {}
      local function visit(value, path)
        if type(value) == 'userdata' and value ~= null or type(value) == 'thread' then found[#found + 1] = path end
        if type(value) ~= 'table' or seen[value] then return end
        seen[value] = true
        visit(getmetatable(value), path .. '<meta>')
        for key, item in next, value do visit(key, path .. '<key>') visit(item, path .. '.' .. tostring(key)) end
      end
      visit(_G, '_G')
      visit(getmetatable(''), 'string')
      visit(input, 'input')
      return found`
    expect(await runLua(await load(), text, { variables: { input: [{ a: [null, {}] }] } })).toEqual([{}])
  })
}

const knownNames = `
  NULL Null _VERSION assert collectgarbage
  coroutine.create coroutine.isyieldable coroutine.resume coroutine.running coroutine.status coroutine.wrap coroutine.yield
  debug.traceback error getmetatable host.border host.echo host.fail host.reject ipairs load
  math.abs math.acos math.asin math.atan math.ceil math.cos math.deg math.exp math.floor math.fmod math.huge math.log
  math.max math.maxinteger math.min math.mininteger math.modf math.pi math.rad math.random math.randomseed math.sin
  math.sqrt math.tan math.tointeger math.type math.ult
  next null pairs pcall rawequal rawget rawlen rawset select setmetatable
  string.byte string.char string.find string.format string.gmatch string.gsub string.len string.lower string.match
  string.pack string.packsize string.rep string.reverse string.sub string.unpack string.upper
  table.concat table.insert table.move table.pack table.remove table.sort table.unpack tonumber tostring type
  utf8.char utf8.charpattern utf8.codepoint utf8.codes utf8.len utf8.offset wait xpcall`
  .trim()
  .split(/\s+/)

function describeTricks(load: Load): void {
  it.each([
    'setmetatable(null, {})',
    'rawset(null, "x", 1)',
    'null.x = 1',
    'return null.x',
    'return null()',
    'return null + 1',
    'return #null',
    'return null .. ""',
    'return null < null',
    'getmetatable(null).__index = {}',
    'for _ in pairs(null) do end',
  ])('the null sentinel cannot be changed: %s', async (text) => {
    await failLua(await load(), text)
    expect(await runLua(await load(), 'return getmetatable(null), tostring(null), ({[null] = 1})[NULL]')).toEqual([
      false,
      'NULL',
      1,
    ])
  })

  it('the host and other states cannot be accessed through the metatable of strings', async () => {
    const engine = await load()
    const text = `
      local meta = getmetatable('')
      meta.__index = function() return function() return 'taken' end end
      meta.__eq, meta.__lt, meta.__len, meta.__concat = error, error, error, error
      meta.__tostring, meta.__name, meta.__pairs, meta.__metatable = error, 'x', error, 'locked'
      return ('abc'):upper(), host.echo({ key = 'value', 'one' }), ('a' .. 'b') == 'ab'`
    const expected = ['taken', { 1: 'one', key: 'value' }, true]
    expect(await runLua(engine, text)).toEqual(expected)
    expect(await runLua(engine, 'return ("abc"):upper(), #"abc", getmetatable("").__metatable')).toEqual([
      'ABC',
      3,
      undefined,
    ])
  })

  it('the host keeps working when a script replaces every global function', async () => {
    const text = `
      local keep, wait_for, call, each = host.echo, wait, pcall, next
      for name, value in each, _G do
        if type(value) == 'table' and value ~= _G then
          for inner in each, value do if value ~= host then value[inner] = nil end end
        end
      end
      type, tostring, pairs, ipairs, error, setmetatable, getmetatable, rawget = nil
      return keep({1, {a = 2}}), wait_for('late'), call(function() return wait_for('later') end)`
    expect(await runLua(await load(), text)).toEqual([[1, { a: 2 }], 'late', true, 'later'])
  })

  it('the mark of lists is hidden, and not confused with other metatables', async () => {
    const text = `
      local other = setmetatable({}, { __metatable = 'mine', __index = error, __len = error, __pairs = error })
      return getmetatable(list), host.border(setmetatable({}, {})), host.border(other), other, getmetatable(other)`
    expect(await runLua(await load(), text, { variables: { list: [] } })).toEqual([undefined, {}, {}, {}, 'mine'])
  })

  it('no metamethod runs while values cross', async () => {
    const text = `
      local asked = 0
      local function ask() asked = asked + 1 return 'asked' end
      local meta = { __index = ask, __len = ask, __pairs = ask, __tostring = ask, __eq = ask, __call = ask }
      local value = setmetatable({ a = setmetatable({}, meta) }, meta)
      host.echo(value)
      host.border(value)
      return asked`
    expect(await runLua(await load(), text)).toEqual([0])
  })
}

function describeHostBorder(load: Load): void {
  it('host functions have no metatable, fields or values inside', async () => {
    const text = `
      local ok = { pcall(function() return host.echo.constructor end) }
      return getmetatable(host.echo), type(host.echo), ok[1], pcall(setmetatable, host.echo, {})`
    expect((await runLua(await load(), text)).slice(0, 4)).toEqual([undefined, 'function', false, false])
    const shown = 'return tostring(host.echo):match("^[%a ]+: [%w():]*")~= nil, tostring(host.echo):find("=>", 1, true)'
    expect(await runLua(await load(), shown)).toEqual([true, undefined])
  })

  const thrown: readonly (readonly [string, unknown, string])[] = [
    ['an error', new TypeError('broken'), 'broken'],
    ['text', 'only text', 'only text'],
    ['nothing', undefined, 'undefined'],
    ['an object', { secret: 'x' }, '[object Object]'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
  ]
  it.each(thrown)('%s that the host throws or rejects with becomes text', async (_, value, message) => {
    const functions = [
      hostFunction('bad.now', () => {
        throw value
      }),
      hostFunction('bad.later', async () => {
        throw value
      }),
    ]
    const text = `
      local _, now = pcall(bad.now)
      local _, later = pcall(bad.later)
      return type(now), now, type(later), later`
    expect(await runLua(await load(), text, { functions })).toEqual(['string', message, 'string', message])
  })

  const strange: readonly (readonly [string, unknown])[] = [
    ['a function', () => 1],
    ['a function inside', { a: [() => 1] }],
    ['a date', new Date(0)],
    ['a map', new Map([[1, 2]])],
    ['a symbol', Symbol('s')],
  ]
  it.each(strange)('the script gets an error instead of %s', async (_, value) => {
    const functions: readonly HostFunction[] = [
      hostFunction('strange.now', () => [value as LuaValue]),
      hostFunction('strange.later', async () => [value as LuaValue]),
    ]
    const text =
      'local now, a = pcall(strange.now) local later, b = pcall(strange.later) return now, later, type(a), type(b)'
    expect(await runLua(await load(), text, { functions })).toEqual([false, false, 'string', 'string'])
  })

  it('a function, a coroutine or the script itself cannot be passed to the host', async () => {
    const values = ['function() end', 'coroutine.create(function() end)', 'error', '_G', '{ f = print or error }']
    for (const value of values) {
      const [ok, message] = await runLua(await load(), `return pcall(host.echo, ${value})`)
      expect([ok, String(message)]).toEqual([false, expect.stringContaining("bad argument #1 to 'host.echo'")])
    }
  })
}

const endless = 'while true do end'

function describeEndless(load: Load): void {
  it.each([
    ['a loop after a caught error', `pcall(error, 'x') ${endless}`],
    ['a loop after an error caught with a handler', `xpcall(error, function(e) return e end, 'x') ${endless}`],
    ['a loop after a caught error in a coroutine', `coroutine.wrap(function() pcall(error, 'x') ${endless} end)()`],
    ['a loop after a coroutine that failed', `coroutine.resume(coroutine.create(error)) ${endless}`],
    ['errors caught for ever', 'while true do pcall(error) end'],
    ['handlers that fail in handlers', 'local function h() error(h) end while true do xpcall(error, h) end'],
    ['tail calls without end', 'local function f() return f() end f()'],
    ['deep recursion caught for ever', 'local function f() return 1 + f() end while true do pcall(f) end'],
    ['goto', '::top:: goto top'],
    ['chunks loaded for ever', 'while true do load("return 1")() end'],
    [
      'a metamethod chain',
      'local t t = setmetatable({}, {__index = function(_, k) return t[k .. "x"] end}) while true do pcall(function() return t.x end) end',
    ],
    ['an iterator without end', 'for _ in function() return 1 end do end'],
    [
      'coroutines that make coroutines',
      'while true do pcall(coroutine.wrap(function() pcall(coroutine.wrap(function() end)) end)) end',
    ],
    [
      'a comparator that never agrees',
      'while true do pcall(table.sort, {3, 1, 2, 5, 4}, function() return true end) end',
    ],
    ['a callback in a callback', `('x'):gsub('x', function() table.sort({1, 2}, function() ${endless} end) end)`],
  ])('%s is ended', async (_, text) => {
    expect(await failLua(await load(), text, { limits: { timeMs: 60 } })).toMatchObject({ limit: 'time' })
  })

  it('a loop that waits and catches is ended', async () => {
    const text = "while true do pcall(function() wait(1) error('x') end) end"
    // only Lua's own time in between counts, which is a small part of the elapsed time
    expect(await failLua(await load(), text, { limits: { timeMs: 15 } })).toMatchObject({ limit: 'time' })
  })

  it('an error with endless text is ended', async () => {
    const text = `error(setmetatable({}, { __tostring = function() ${endless} end }))`
    expect(await failLua(await load(), text, { limits: { timeMs: 60 } })).toBeInstanceOf(LuaError)
  })

  it.each([
    ['functions', 'local function f() return 1 + f() end f()'],
    [
      'metamethods',
      'local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x',
    ],
    ['coroutines', 'local f f = function() return coroutine.wrap(f)() end return f()'],
    ['patterns', 'return ("("):rep(300):find(("("):rep(300) .. (")"):rep(300))'],
    ['brackets in the source', 'return load("return " .. ("("):rep(10000) .. "1" .. (")"):rep(10000))()'],
    ['tables in the source', 'return load("return " .. ("{"):rep(10000) .. ("}"):rep(10000))()'],
  ])('nesting %s too deeply is an error, after which the engine stays usable', async (_, text) => {
    const engine = await load()
    expect(await failLua(engine, text)).toBeInstanceOf(LuaError)
    expect(await runLua(engine, 'return 1')).toEqual([1])
  })
}

function describeMemory(load: Load, { memory, isolated }: SafetyTraits): void {
  const limits = { memoryBytes: 8 * 1024 * 1024, timeMs: 60_000 }
  const strings: readonly (readonly [string, string])[] = [
    ['a string that doubles', 'local s = "x" while true do s = s .. s end'],
    ['one huge repetition', 'return #("x"):rep(2000000000)'],
    ['repetition with a separator', 'return #("x"):rep(2000, ("y"):rep(1000000))'],
    [
      'joining the same text',
      'local t, s = {}, ("x"):rep(1000000) for i = 1, 2000 do t[i] = s end return #table.concat(t)',
    ],
    ['replacing each character', 'return #(("x"):rep(100000):gsub("x", ("y"):rep(100000)))'],
    ['formatting', 'local s = ("x"):rep(4000000) return #("%s%s%s%s"):format(s, s, s, s)'],
    ['what pcall catches', 'while true do pcall(string.rep, "x", 2000000000) end'],
  ]
  const structures: readonly (readonly [string, string])[] = [
    ['a table that grows', 'local t = {} while true do t[#t + 1] = { #t } end'],
    ['texts in a table', 'local t = {} while true do t[#t + 1] = ("x"):rep(100000) .. #t end'],
    ['coroutines that are kept', 'local t = {} while true do t[#t + 1] = coroutine.create(function() end) end'],
    ['closures that are kept', 'local t = {} while true do local n = #t t[n + 1] = function() return n end end'],
  ]
  // in the main thread the second engine ends these only when the process is short of heap
  const bombs = memory === 'counted' || isolated ? [...strings, ...structures] : strings

  // a thread ends all of them in the same way
  const tried = bombs.filter((_, index) => !isolated || index % core(4, 1) === 0)

  it.each(tried)('a script that uses up everything is ended: %s', async (_, text) => {
    const engine = await load()
    expect(await failLua(engine, text, { limits })).toMatchObject({
      limit: 'memory',
      message: 'the script needs more than 8388608 bytes of memory',
    })
    expect(await runLua(engine, 'return 1')).toEqual([1])
  })

  it('a script may discard much more memory than it may hold', async () => {
    const text = 'local last for i = 1, 5000 do last = ("x"):rep(10000) .. i end return #last'
    expect(await runLua(await load(), text, { limits })).toEqual([10_004])
  })
}

/** Only a separate thread can be ended during one long native call; docs/lua.md says so. */
function describeKills(load: Load): void {
  const pathological = 'return ("a"):rep(40):find(("a?"):rep(40) .. ("a"):rep(40))'

  it('one endless native call is ended at the time limit', async () => {
    const engine = await load()
    expect(await failLua(engine, pathological, { limits: { timeMs: 100 }, name: 'agents/slow.aip' })).toMatchObject({
      limit: 'time',
      message: 'the script ran longer than 100 ms',
      chunk: 'agents/slow.aip',
    })
    expect(await runLua(engine, 'return 1')).toEqual([1])
  })

  it('one endless native call is ended when it is aborted', async () => {
    const controller = new AbortController()
    const reason = new Error('stopped by the user')
    setTimeout(() => controller.abort(reason), 50)
    await expect(runLua(await load(), pathological, { signal: controller.signal })).rejects.toBe(reason)
  })
}
