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
 * `pairs` in a fixed order: 1..#t, then other numbers ascending, then strings in byte order, then false and true, then
 * the rest in the order of `next`. The keys after the list part are collected when the list part is done; a key that
 * was removed meanwhile is skipped, as with `next`. `ipairs` is written in Lua so that a host function may wait inside
 * `__index`.
 */
const iteration = String.raw`
local function append(list, count, more)
  move(more, 1, #more, count + 1, list)
  return count + #more
end

-- Keys of every kind except 1..border, for tables that have more than string keys.
local function mixed_keys(t, border, strings)
  local ordered, others, number_count, other_count = {}, {}, 0, 0
  local booleans = {}
  for key in next, t do
    local kind = type(key)
    if kind == 'number' then
      if key < 1 or key > border or math_type(key) ~= 'integer' then
        number_count = number_count + 1
        ordered[number_count] = key
      end
    elseif kind == 'boolean' then
      booleans[key and 2 or 1] = key
    elseif kind ~= 'string' then
      other_count = other_count + 1
      others[other_count] = key
    end
  end
  native.sort(ordered)
  local count = append(ordered, number_count, strings)
  if booleans[1] == false then count = append(ordered, count, { false }) end
  if booleans[2] then count = append(ordered, count, { true }) end
  return ordered, append(ordered, count, others)
end

local function ordered_keys(t, border)
  local strings, count, has_others = keys(t, border)
  if count > 1 then native.sort(strings) end
  if has_others then return mixed_keys(t, border, strings) end
  return strings, count
end

local function key_iterator(t, border, fetch)
  local list, count = ordered_keys(t, border)
  local position = 0
  if fetch then
    return function()
      while position < count do
        position = position + 1
        local key = list[position]
        local value = fetch(t, key)
        if value ~= nil then return key, value end
      end
    end
  end
  return function()
    while position < count do
      position = position + 1
      local key = list[position]
      local value = t[key]
      if value ~= nil then return key, value end
    end
  end
end

local function element_iterator(t, border, fetch)
  local index, rest = 0, nil
  return function()
    while index < border do
      index = index + 1
      local value
      if fetch then value = fetch(t, index) else value = t[index] end
      if value ~= nil then return index, value end
    end
    rest = rest or key_iterator(t, border, fetch)
    return rest()
  end
end

function pairs(t)
  local meta = metatable_of(t)
  local fetch
  if meta then
    local iterate = rawget(meta, '__pairs')
    if iterate then
      local step, subject, first = iterate(t)
      return step, subject, first
    end
    if rawget(meta, '__index') ~= nil then fetch = rawget end
  end
  if type(t) ~= 'table' then error("bad argument #1 to 'pairs' (table expected, got " .. type(t) .. ')', 2) end
  local border = rawlen(t)
  if border == 0 then return key_iterator(t, 0, fetch), t, nil end
  return element_iterator(t, border, fetch), t, nil
end

local function next_element(t, index)
  index = index + 1
  local value = t[index]
  if value ~= nil then return index, value end
end

function ipairs(t)
  if t == nil then error("bad argument #1 to 'ipairs' (table expected, got nil)", 2) end
  return next_element, t, 0
end
`

/**
 * `table.sort` with a comparator and `string.gsub` with a function, written in Lua so that a host function may wait in
 * the callback. The sort is a stable merge sort. Without a callback the native functions run.
 */
const callbacks = String.raw`
local function merge(source, target, run)
  local low, before = run.low, run.before
  local left, right, place = low, run.middle, low
  local left_end, right_end = run.middle, run.high
  while left < left_end and right < right_end do
    if before(source[right], source[left]) then
      target[place] = source[right]
      right = right + 1
    else
      target[place] = source[left]
      left = left + 1
    end
    place = place + 1
  end
  move(source, left, left_end - 1, place, target)
  move(source, right, right_end - 1, place + left_end - left, target)
end

function table.sort(t, before)
  if type(before) ~= 'function' or type(t) ~= 'table' then return native.sort(t, before) end
  local length = #t
  local source, target = {}, {}
  for index = 1, length do source[index] = t[index] end
  local width = 1
  local run = { before = before }
  while width < length do
    local low = 1
    while low <= length do
      run.low = low
      run.middle = low + width <= length and low + width or length + 1
      run.high = low + 2 * width <= length and low + 2 * width or length + 1
      merge(source, target, run)
      low = low + 2 * width
    end
    source, target = target, source
    width = 2 * width
  end
  for index = 1, length do t[index] = source[index] end
end

local function replacement(replace, whole, ...)
  local value
  if select('#', ...) == 0 then value = replace(whole) else value = replace(...) end
  if not value then return whole end
  local kind = type(value)
  if kind ~= 'string' and kind ~= 'number' then error('invalid replacement value (a ' .. kind .. ')', 4) end
  return value
end

-- First and last byte of a match and its replacement; nil for an empty match at the end of the previous one.
local function substitute(text, call, first, last, ...)
  if first == nil then return nil end
  if last < first and first == call.ended then return first, last, nil end
  return first, last, replacement(call.replace, native.sub(text, first, last), ...)
end

function string.gsub(text, pattern, replace, limit)
  if type(replace) ~= 'function' then return native.gsub(text, pattern, replace, limit) end
  if type(text) == 'number' then text = native.tostring(text) end
  if type(pattern) == 'number' then pattern = native.tostring(pattern) end
  if type(text) ~= 'string' or type(pattern) ~= 'string' or limit ~= nil and not math_type(limit) then
    return native.gsub(text, pattern, replace, limit)
  end
  local is_anchored = native.sub(pattern, 1, 1) == '^'
  local parts, size, position, count = {}, 0, 1, 0
  local call = { replace = replace }
  while limit == nil or count < limit do
    local first, last, value = substitute(text, call, native.find(text, pattern, position))
    if first == nil then break end
    if value == nil then
      if position > #text then break end
      size = size + 1
      parts[size] = native.sub(text, position, position)
      position = position + 1
    else
      if first > position then
        size = size + 1
        parts[size] = native.sub(text, position, first - 1)
      end
      size = size + 1
      parts[size] = value
      count = count + 1
      position = last + 1
      call.ended = position
    end
    if is_anchored then break end
  end
  parts[size + 1] = native.sub(text, position)
  return concat(parts), count
end
`

/**
 * Lua text that every engine runs once in a fresh state, before host functions are installed. It is valid Lua 5.3 and
 * 5.4. Engines load it without line information, so that errors raised inside it name the script's line and tracebacks
 * can omit these frames.
 */
export const prelude = [natives, globals, iteration, coroutines, callbacks, 'return tostring'].join('\n')
