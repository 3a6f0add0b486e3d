import type { LuaEngine } from '../engine.ts'
import { luaStatus } from '../lua/constants.ts'
import { createInterrupts } from '../lua/interrupts.ts'
import { prelude } from '../lua/prelude.ts'
import type { Library } from './api.ts'
import type { Runtime } from './core.ts'
import { loadLibrary } from './library.ts'
import { openLibraries } from './open.ts'
import { createState } from './state.ts'
import { encode, messageText } from './text.ts'

/**
 * Loads the second engine (DESIGN 7): fengari, Lua 5.3 in JavaScript with integers of 32 bits. It runs where WebAssembly
 * does not. docs/lua.md lists how it differs from the first.
 */
export async function loadFengari(): Promise<LuaEngine> {
  const library = await loadLibrary()
  const runtime: Runtime = { library, prelude: compilePrelude(library), aborts: createInterrupts() }
  return { name: 'fengari', createState: (options) => createState(runtime, options) }
}

/** The prelude as a binary chunk without line information, made once: loading it takes a part of compiling it. */
function compilePrelude(library: Library): Uint8Array {
  const { api } = library
  const main = openLibraries(library)
  const text = encode(prelude)
  const status = api.luaL_loadbufferx(main, text, text.length, encode('=prelude'), encode('t'))
  if (status !== luaStatus.ok)
    throw new Error(`the prelude does not compile: ${messageText(api.lua_tolstring(main, -1))}`)
  const parts: Uint8Array[] = []
  const write = (_thread: unknown, bytes: Uint8Array, size: number): number => {
    parts.push(bytes.slice(0, size))
    return 0
  }
  api.lua_dump(main, write, null, true)
  return Buffer.concat(parts)
}
