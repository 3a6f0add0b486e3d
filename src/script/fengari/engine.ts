import type { LuaEngine } from '../engine.ts'
import { createRuntime, createState } from '../lua/state.ts'
import { createBackend } from './backend.ts'
import { loadLibrary } from './library.ts'

/**
 * Loads the second engine: fengari, Lua 5.3 in JavaScript with 32-bit integers. It is used where WebAssembly is not
 * available. docs/lua.md lists how it differs from the first engine.
 */
export async function loadFengari(): Promise<LuaEngine> {
  const library = await loadLibrary()
  const runtime = createRuntime((callbacks) => createBackend(library, callbacks))
  return { name: 'fengari', createState: (options) => createState(runtime, options) }
}
