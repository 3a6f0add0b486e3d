import type { LuaChunk } from '../engine.ts'
import { luaStatus } from '../lua/constants.ts'
import type { Core } from './core.ts'
import type { Pointer } from './exports.ts'
import { dumpFunction, loadDumped, loadText } from './load.ts'

/**
 * The Lua parts of host modules that an instance has loaded, by their text. They are the same in every state, and loading
 * one compiled takes a tenth of compiling it. By text, because a worker gets a copy of its modules for every state.
 */
export type KnownModules = Map<string, KnownModule>

interface KnownModule {
  /** What Lua calls the chunk; it is part of the code. */
  readonly alias: string
  /** Its binary chunk, from the second use on: a run with one section would only lose by dumping. */
  readonly code: Uint8Array | undefined
}

/** More than there are host modules. Beyond it the engine starts over, so that it cannot grow without end. */
const mostKnown = 100

/**
 * Pushes the main function of a module of this state, or the error. Returns `luaStatus`. Only for `options.modules`, which
 * are our own text: what scripts bring is always loaded as text.
 */
export function loadModule(core: Core, thread: Pointer, { name, text }: LuaChunk): number {
  const { wasm, modules } = core.runtime
  const alias = core.names.alias(name)
  const found = modules.get(text)
  const known = found?.alias === alias ? found : undefined
  if (known?.code !== undefined) return loadDumped(wasm, thread, known.code)
  const status = loadText(wasm, thread, { name: `@${alias}`, text })
  if (status !== luaStatus.ok) return status
  if (modules.size >= mostKnown) modules.clear()
  modules.set(text, { alias, code: known && dumpFunction(wasm, thread, { lines: 'keep' }) })
  return status
}
