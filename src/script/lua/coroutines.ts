/**
 * Lets host functions wait inside coroutines of the script (spec/lua-engines.md 4.3). A waiting host function yields the
 * marker and a number; `resume` and `wrap` hand both outward to the engine instead of to the script. The engine may also
 * stop a coroutine between two instructions to let other work happen; number 0 stands for that.
 */
export const coroutines = String.raw`
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
