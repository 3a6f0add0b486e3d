import { luaStatus } from '../lua/constants.ts'
import { createInterrupts } from '../lua/interrupts.ts'
import { prelude } from '../lua/prelude.ts'
import { callByNumber, goOn } from './calls.ts'
import type { Core, Runtime } from './core.ts'
import type { Pointer } from './exports.ts'
import { onHook } from './hook.ts'
import { dumpFunction, loadText } from './load.ts'
import { createAccounting } from './meter.ts'
import { readMessage } from './text.ts'
import { preludeCode } from './prelude-code.ts'
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
    prelude: preludeCode === '' ? compilePrelude(wasm) : Buffer.from(preludeCode, 'base64'),
    modules: new Map(),
    installed: undefined,
    aborts: createInterrupts(),
    running: undefined,
  }
  return runtime
}

/** A state with the standard libraries that do not reach outside. */
export function openLibraries(wasm: LuaWasm, accounting: Pointer): Pointer {
  const { lua, pointers, constant } = wasm
  const state = openState(wasm, accounting)
  for (const { name, open } of pointers.libraries) lua.luaL_requiref(state, constant(name), open, 1)
  lua.lua_settop(state, 0)
  return state
}

/** The prelude as a binary chunk without line information, made once: loading it takes a tenth of compiling it. */
function compilePrelude(wasm: LuaWasm): Uint8Array {
  const { lua } = wasm
  const accounting = createAccounting(wasm)
  const state = openState(wasm, accounting)
  try {
    const loaded = loadText(wasm, state, { name: '=prelude', text: prelude })
    if (loaded !== luaStatus.ok) throw new Error(`the prelude does not compile: ${readMessage(wasm, state, -1)}`)
    return dumpFunction(wasm, state, { lines: 'omit' })
  } finally {
    lua.lua_close(state)
    lua.free(accounting)
  }
}

function openState({ lua, pointers }: LuaWasm, accounting: Pointer): Pointer {
  const state = lua.lua_newstate(pointers.allocate, accounting)
  if (state === 0) throw new Error('there is no memory for another Lua state')
  return state
}
