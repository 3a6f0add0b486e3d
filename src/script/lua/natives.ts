/**
 * First part of the prelude: names what the engine hands over and keeps the standard functions that are replaced below.
 *
 * The engine calls the prelude with: the null sentinel; the metatable that marks lists; the marker that a coroutine yields
 * while a host function waits; `paused(thread)`, true when the engine itself stopped this thread between two
 * instructions; `refuse(id)`, makes the wait with this id fail because nobody can wait here; `seed()`; `keys(t, border)`, which
 * gives the string keys of a table as a list, their number, and whether there are keys other than those and 1..border; and
 * a table whose keys are the threads the engine runs chunks in. It returns its `tostring`.
 *
 * Functions in `native` are called through the table, so that Lua's own argument errors name them.
 */
export const natives = String.raw`
local null, list, waiting, paused, refuse, seed, keys, runs = ...
local error, next, pcall, rawequal, rawget, rawlen, rawset, select, type =
  error, next, pcall, rawequal, rawget, rawlen, rawset, select, type
local concat, math_type, metatable_of = table.concat, math.type, debug.getmetatable
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
