import { readFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { BatonError, messageOf } from '../../base/error.ts'
import type { LuaEngine } from '../engine.ts'
import { createRuntime } from './runtime.ts'
import { createState } from './state.ts'
import { type CompiledModule, webAssembly } from './webassembly.ts'

export interface Lua54Options {
  /** Absolute path of Lua's wasm file. Without it the one in the installed package `wasmoon` is used. */
  readonly wasmFile?: string
}

/**
 * Loads the Lua 5.4 engine (DESIGN 7): PUC Lua as WebAssembly, its memory shared by all states of this engine.
 * @throws BatonError NOT_AVAILABLE where WebAssembly is missing, FILE_UNREADABLE when the wasm file is
 */
export async function loadLua54(options: Lua54Options = {}): Promise<LuaEngine> {
  setFlagsFromString(tieringBudget)
  const module = await compile(options.wasmFile)
  let runtime = createRuntime(module)
  return {
    name: 'lua54',
    createState(stateOptions) {
      // After a fault the memory of the old instance cannot be trusted; states made from now on get a new one.
      if (runtime.wasm.health.isBroken) runtime = createRuntime(module)
      return createState(runtime, stateOptions)
    },
  }
}

/**
 * V8 starts to optimise Lua's functions after a few milliseconds of use, and a process cannot end before that is done:
 * half the time of a short run (spec/parts.md 0.5). With this budget, in bytes of code run, only scripts that go on for
 * longer pay for it; they were measured to take as long as before. The flag holds for the process.
 */
const tieringBudget = '--wasm-tiering-budget=100000000'

async function compile(wasmFile: string | undefined): Promise<CompiledModule> {
  const { Module } = webAssembly()
  try {
    return new Module(await readFile(wasmFile ?? (await installedFile())))
  } catch (error) {
    throw new BatonError(
      'FILE_UNREADABLE',
      `cannot load Lua from ${wasmFile ?? 'the package wasmoon'}: ${messageOf(error)}`,
      { cause: error },
    )
  }
}

async function installedFile(): Promise<string> {
  const { createRequire } = await import('node:module')
  return createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm')
}
