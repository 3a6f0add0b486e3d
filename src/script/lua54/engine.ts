import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { BatonError, messageOf } from '../../base/error.ts'
import { wasmFlags } from '../../base/wasm-flag.ts'
import type { LuaEngine } from '../engine.ts'
import type { Backend, Runtime } from '../lua/core.ts'
import { createRuntime, createState } from '../lua/state.ts'
import { createApi } from './api.ts'
import { accounting } from './bridge-code.ts'
import { moduleCode, preludeCode } from './compiled-code.ts'
import { instantiate, type LuaWasm } from './wasm.ts'
import type { CompiledModule } from './webassembly.ts'
import { webAssembly } from './webassembly.ts'

export interface Lua54Options {
  /** Absolute path of Lua's wasm file. Default: the one in the installed package `wasmoon`. */
  readonly wasmFile?: string
}

/**
 * Loads the default engine: PUC Lua 5.4 as WebAssembly, with one memory for all states of this engine.
 * @throws BatonError NOT_AVAILABLE if WebAssembly is missing, FILE_UNREADABLE if the wasm file cannot be read
 */
export async function loadLua54(options: Lua54Options = {}): Promise<LuaEngine> {
  setFlagsFromString(wasmFlags)
  const module = await compile(options.wasmFile)
  let runtime = createWasmRuntime(module)
  return {
    name: 'lua54',
    createState(stateOptions) {
      // After a fault the memory of the old instance cannot be trusted; states created from now on get a new one.
      if (runtime.health.isBroken) runtime = createWasmRuntime(module)
      return createState(runtime, stateOptions)
    },
  }
}

/** A fresh instance of the Lua library with its calls into JavaScript in place. */
export function createWasmRuntime(module: CompiledModule): Runtime & WasmBackend {
  return createRuntime((callbacks) => createBackend(instantiate(module, callbacks)))
}

async function compile(wasmFile: string | undefined): Promise<CompiledModule> {
  const { Module } = webAssembly()
  try {
    return new Module(readFileSync(wasmFile ?? (await installedFile())))
  } catch (error) {
    throw new BatonError(
      'FILE_UNREADABLE',
      `cannot load Lua from ${wasmFile ?? 'the package wasmoon'}: ${messageOf(error)}`,
      { cause: error },
    )
  }
}

const luaFile = 'wasmoon/dist/glue.wasm'

/**
 * Looks in `node_modules` of the folders above, as Node does. Node's own search, which also finds packages that a package
 * manager keeps elsewhere, first loads the loader of ES modules: a fiftieth of a short run.
 */
async function installedFile(): Promise<string> {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (folder !== dirname(folder)) {
    const file = join(folder, 'node_modules', luaFile)
    if (existsSync(file)) return file
    folder = dirname(folder)
  }
  const { createRequire } = await import('node:module')
  return createRequire(import.meta.url).resolve(luaFile)
}

/** The memory limit while the engine itself works in a state: its work must not fail halfway. */
const unlimited = 0x7f_ff_ff_ff

interface WasmBackend extends Backend {
  readonly wasm: LuaWasm
}

/** States of Lua in WebAssembly. `memory` is the address of the record that counts the memory of a state (bridge.ts). */
function createBackend(wasm: LuaWasm): WasmBackend {
  const { lua, pointers, constant, health, read32, write32 } = wasm
  return {
    wasm,
    api: createApi(wasm),
    health,
    prelude: preludeCode === '' ? undefined : Buffer.from(preludeCode, 'base64'),
    compiledModule: (name) =>
      Object.hasOwn(moduleCode, name) ? Buffer.from(moduleCode[name] ?? '', 'base64') : undefined,
    openState() {
      const memory = lua.malloc(accounting.size)
      for (const offset of [accounting.used, accounting.refused, accounting.exceeded]) write32(memory + offset, 0)
      write32(memory + accounting.limit, unlimited)
      const main = lua.lua_newstate(pointers.allocate, memory)
      if (main === 0) throw new Error('there is no memory for another Lua state')
      for (const { name, open } of pointers.libraries) lua.luaL_requiref(main, constant(name).address, open, 1)
      lua.lua_settop(main, 0)
      return { main, memory }
    },
    closeState({ main, memory }) {
      lua.lua_close(main)
      lua.free(memory)
    },
    /** An exception out of Lua code is a fault in WebAssembly itself, because Lua errors are status codes. */
    enter(core, body) {
      const { memory, options } = core
      const outerLimit = read32(memory + accounting.limit)
      write32(memory + accounting.limit, Math.min(options.limits.memoryBytes, unlimited))
      try {
        return body()
      } catch (error) {
        health.isBroken = true
        throw error
      } finally {
        write32(memory + accounting.limit, outerLimit)
        // a request that was refused and has not been repeated by now was final as well
        const isUsedUp = read32(memory + accounting.exceeded) !== 0 || read32(memory + accounting.refused) !== 0
        if (isUsedUp) core.limit ??= 'memory'
      }
    },
    isMemoryUsedUp: ({ memory }) => read32(memory + accounting.exceeded) !== 0,
    raiseLimit({ memory }, thread) {
      write32(memory + accounting.limit, 0)
      lua.lua_createtable(thread, 0, 0)
      throw new Error('Lua did not notice that its memory is used up')
    },
  }
}
