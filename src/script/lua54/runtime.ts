import { prelude } from '../lua/prelude.ts'
import { callByNumber, goOn } from './calls.ts'
import type { Core, Runtime } from './core.ts'
import { luaStatus, type Pointer, registry, registryGlobals } from './exports.ts'
import { onHook } from './hook.ts'
import { createInterrupts } from './interrupts.ts'
import { createAccounting } from './meter.ts'
import { pushText, readBytes, readMessage, withBlock } from './text.ts'
import { instantiate, type LuaWasm } from './wasm.ts'
import type { CompiledModule } from './webassembly.ts'

/** A fresh instance of the Lua library with its calls into JavaScript connected to the state that runs. */
export function createRuntime(module: CompiledModule): Runtime {
  const running = (): Core => {
    if (runtime.running === undefined) throw new Error('Lua called JavaScript while no state was running')
    return runtime.running
  }
  const wasm = instantiate(module, {
    call: (thread) => callByNumber(running(), thread),
    resumed: (thread, _status, context) => goOn(running(), thread, context),
    hook: (thread) => onHook(running(), thread),
  })
  const runtime: Runtime = {
    wasm,
    prelude: compilePrelude(wasm),
    aborts: createInterrupts(),
    running: undefined,
  }
  return runtime
}

/** A state with the standard libraries that do not reach outside. */
export function openLibraries({ lua, pointers, constant }: LuaWasm, accounting: Pointer): Pointer {
  const state = lua.lua_newstate(pointers.allocate, accounting)
  if (state === 0) throw new Error('there is no memory for another Lua state')
  for (const { name, open } of pointers.libraries) lua.luaL_requiref(state, constant(name), open, 1)
  lua.lua_settop(state, 0)
  return state
}

/** The prelude as a binary chunk without line information, made once: loading it takes a tenth of compiling it. */
function compilePrelude(wasm: LuaWasm): Uint8Array {
  const { lua, constant } = wasm
  const accounting = createAccounting(wasm)
  const state = openLibraries(wasm, accounting)
  try {
    pushField(wasm, state, ['string', 'dump'])
    const text = Buffer.from(prelude, 'utf8')
    const loaded = withBlock(wasm, text, (block) =>
      lua.luaL_loadbufferx(state, block, text.length, constant('=prelude'), constant('t')),
    )
    if (loaded !== luaStatus.ok) throw new Error(`the prelude does not compile: ${readMessage(wasm, state, -1)}`)
    lua.lua_pushboolean(state, 1)
    const dumped = lua.lua_pcallk(state, 2, 1, 0, 0, 0)
    if (dumped !== luaStatus.ok) throw new Error(`the prelude cannot be dumped: ${readMessage(wasm, state, -1)}`)
    return readBytes(wasm, state, -1)
  } finally {
    lua.lua_close(state)
    lua.free(accounting)
  }
}

/** Pushes the global `path[0]`, or what stands in it below. */
function pushField(wasm: LuaWasm, state: Pointer, path: readonly string[]): void {
  wasm.bridge.getElement(state, registry, registryGlobals)
  for (const name of path) {
    pushText(wasm, state, name)
    wasm.lua.lua_rawget(state, -2)
  }
}
