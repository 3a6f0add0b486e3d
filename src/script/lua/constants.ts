/** `lua_type` codes. These numbers and the others here are the same in Lua 5.3 and 5.4. */
export const luaType = {
  none: -1,
  nil: 0,
  boolean: 1,
  lightUserdata: 2,
  number: 3,
  string: 4,
  table: 5,
} as const

/** What resuming a thread, a protected call and loading return; everything above `yield` is an error. */
export const luaStatus = { ok: 0, yield: 1, memoryError: 4 } as const

/** Pseudo index of the registry table; upvalue n of a running C function is at `registry - n`. */
export const registry = -1_001_000
/** Key of the globals in the registry. */
export const registryGlobals = 2
/** Hook mask: call the hook after a number of instructions. */
export const countMask = 8
