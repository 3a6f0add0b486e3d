/** What a script can notice of the engine it runs on, as docs/lua.md lists it under "The two engines". */
export interface LuaDifference {
  readonly name: string
  /** A Lua expression, and its value on each engine as JSON. */
  readonly text: string
  readonly lua54: string
  readonly fengari: string
}

export const luaDifferences: readonly LuaDifference[] = [
  { name: 'version', text: '_VERSION', lua54: '"Lua 5.4"', fengari: '"Lua 5.3"' },
  { name: 'integers have 32 bits and wrap', text: '2147483647 + 1', lua54: '2147483648', fengari: '-2147483648' },
  { name: 'larger whole numbers are floats', text: 'math.type(4294967296)', lua54: '"integer"', fengari: '"float"' },
  { name: 'range of integers', text: 'math.maxinteger', lua54: '"9223372036854775807"', fengari: '2147483647' },
  { name: 'bit operations on 32 bits', text: '1 << 40', lua54: '1099511627776', fengari: '0' },
  {
    name: 'text of whole floats beyond 32 bits',
    text: 'tostring(2.0^31)',
    lua54: '"2147483648.0"',
    fengari: '"2147483648"',
  },
  { name: 'packing 8-byte integers', text: '(pcall(string.pack, "<i8", 2^40))', lua54: 'true', fengari: 'false' },
  {
    name: 'a loop up to the largest integer',
    text: '(function() local n = 0 for _ = math.maxinteger - 1, math.maxinteger do n = n + 1 if n == 9 then break end end return n end)()',
    lua54: '2',
    fengari: '9',
  },
  { name: 'arithmetic on numbers in text', text: 'math.type("10" + 1)', lua54: '"integer"', fengari: '"float"' },
  {
    name: 'constant and closing variables',
    text: 'load("local x <const> = 1") ~= nil',
    lua54: 'true',
    fengari: 'false',
  },
  { name: 'coroutine.close', text: 'type(coroutine.close)', lua54: '"function"', fengari: '"nil"' },
  { name: 'warn', text: 'type(warn)', lua54: '"function"', fengari: '"nil"' },
  { name: '%p in string.format', text: '(pcall(string.format, "%p", {}))', lua54: 'true', fengari: 'false' },
  {
    name: 'weak tables',
    text: '(function() local t = setmetatable({}, {__mode = "v"}) t[1] = {} collectgarbage() return t[1] == nil end)()',
    lua54: 'true',
    fengari: 'false',
  },
  {
    name: 'memory_mb counts all a script holds',
    text: '(function() local t = {} for i = 1, 300000 do t[i] = {i} end return #t end)()',
    lua54: '"memory"',
    fengari: '300000',
  },
]
