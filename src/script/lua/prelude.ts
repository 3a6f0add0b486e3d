import { callbacks, iteration } from './prelude-functions.ts'

/**
 * First part of the prelude: names its arguments and saves the standard functions that are replaced below.
 *
 * The engine calls the prelude with: the null sentinel; the metatable that marks lists; the marker that a coroutine
 * yields while a host function waits; `paused(thread)`, true if the engine itself stopped this thread between two
 * instructions; `refuse(id)`, which makes the wait with this id fail where waiting is impossible; `seed()`; `keys(t,
 * border)`, which returns the string keys of a table as a list, their number, and whether there are other keys outside
 * 1..border; and a table whose keys are the threads the engine runs chunks in. It returns its `tostring`.
 *
 * Functions in `native` are called through the table, so that Lua's own argument errors name them.
 */
const natives = String.raw`
local null, list, waiting, paused, refuse, seed, keys, runs = ...
local error, next, pcall, rawequal, rawget, rawlen, rawset, select, type =
  error, next, pcall, rawequal, rawget, rawlen, rawset, select, type
local concat, move, math_type, metatable_of = table.concat, table.move, math.type, debug.getmetatable
local globals = _G
local native = {
  collectgarbage = collectgarbage,
  find = string.find,
  getmetatable = getmetatable,
  gsub = string.gsub,
  isyieldable = coroutine.isyieldable,
  load = load,
  random = math.random,
  randomseed = math.randomseed,
  resume = coroutine.resume,
  running = coroutine.running,
  setmetatable = setmetatable,
  sort = table.sort,
  sub = string.sub,
  tostring = tostring,
  yield = coroutine.yield,
}
`

/**
 * Removes functions that reach outside or break the engine, and replaces those that must behave the same on every
 * engine. Finalizers (`__gc`) never run: the engine could not stop an endless one, and a state is short-lived.
 */
const globals = String.raw`
debug.setmetatable(null, { __metatable = false, __name = 'null', __tostring = function() return 'NULL' end })
dofile, loadfile, require, package, io, print = nil, nil, nil, nil, nil, nil
os = {}
debug = { traceback = debug.traceback }
string.dump = nil
globals.null, globals.Null, globals.NULL = null, null, null

function getmetatable(value)
  local meta = native.getmetatable(value)
  if rawequal(meta, list) then return nil end
  return meta
end

function setmetatable(value, meta)
  local finalizer = type(meta) == 'table' and rawget(meta, '__gc')
  if not finalizer then return native.setmetatable(value, meta) end
  rawset(meta, '__gc', nil)
  local ok, message = pcall(native.setmetatable, value, meta)
  rawset(meta, '__gc', finalizer)
  if not ok then error(message, 2) end
  return value
end

function tostring(...)
  local value = ...
  local kind = type(value)
  if kind == 'table' or kind == 'userdata' then
    local meta = metatable_of(value)
    local convert = meta and rawget(meta, '__tostring')
    if convert ~= nil and convert ~= false then
      local text = convert(value)
      if type(text) == 'number' then return native.tostring(text) end
      if type(text) ~= 'string' then error("'__tostring' must return a string", 2) end
      return text
    end
  end
  return native.tostring(...)
end

function collectgarbage(option)
  if option == nil or option == 'collect' then return native.collectgarbage('collect') end
  if option == 'count' or option == 'step' then return native.collectgarbage(option) end
  error("bad argument #1 to 'collectgarbage' ('collect', 'count' or 'step' expected)", 2)
end

-- Only text is loaded: crafted binary chunks can corrupt the memory of Lua.
function load(chunk, name, mode, ...)
  if type(chunk) == 'function' then
    local parts, count = {}, 0
    while true do
      local part = chunk()
      if part == nil or part == '' then break end
      if type(part) ~= 'string' then return nil, 'reader function must return a string' end
      count = count + 1
      parts[count] = part
    end
    chunk = concat(parts)
    if name == nil then name = '=(load)' end
  end
  if mode ~= nil and not native.find(mode, 't', 1, true) then
    return nil, "attempt to load a text chunk (mode is '" .. mode .. "')"
  end
  return native.load(chunk, name, 't', ...)
end

local seeded = false

function math.random(...)
  if not seeded then
    seeded = true
    native.randomseed(seed())
  end
  return native.random(...)
end

function math.randomseed(...)
  seeded = true
  if select('#', ...) == 0 then return native.randomseed(seed()) end
  return native.randomseed(...)
end
`

/**
 * Lets host functions wait inside coroutines of the script. A waiting host function yields the marker and a number;
 * `resume` and `wrap` pass both on to the engine and not to the script. The hook may also stop a coroutine between two
 * instructions so that the event loop gets a turn; the number is then 0.
 */
const coroutines = String.raw`
local create, status, close = coroutine.create, coroutine.status, coroutine.close

local function settle(co, ok, ...)
  if not ok then return ok, ... end
  local tag, id = ...
  if tag == waiting then
    if native.isyieldable() then native.yield(waiting, id) else refuse(id) end
    return settle(co, native.resume(co))
  end
  if tag == nil and paused(co) then
    if native.isyieldable() then native.yield(waiting, 0) end
    return settle(co, native.resume(co))
  end
  return ok, ...
end

function coroutine.resume(co, ...)
  return settle(co, native.resume(co, ...))
end

local function unwrap(co, ok, ...)
  if ok then return ... end
  local message = ...
  if status(co) == 'dead' and close then close(co) end
  if type(message) == 'string' then error(message, 2) end
  error(message, 0)
end

function coroutine.wrap(f)
  local co = create(f)
  return function(...) return unwrap(co, settle(co, native.resume(co, ...))) end
end

function coroutine.running()
  local co, is_main = native.running()
  return co, is_main or runs[co] == true
end

function coroutine.isyieldable(...)
  if select('#', ...) == 0 and runs[native.running()] then return false end
  return native.isyieldable(...)
end
`

/**
 * Lua text that every engine runs once in a fresh state, before host functions are installed. It is valid Lua 5.3 and
 * 5.4. Engines load it without line information, so that errors raised inside it name the script's line and tracebacks
 * can omit these frames.
 */
export const prelude = [natives, globals, iteration, coroutines, callbacks, 'return tostring'].join('\n')
