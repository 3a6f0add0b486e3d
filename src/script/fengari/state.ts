import { LuaError, type LuaState, type LuaStateOptions } from '../engine.ts'
import { closedError } from '../lua/core.ts'
import type { Core, Runtime } from './core.ts'
import { openCore } from './open.ts'
import { runChunk, runModule } from './run.ts'

/**
 * A fresh Lua state. Its limits hold for everything that runs in it together. An error of a module is kept, and every
 * run rejects with it. Its memory is given back when nothing refers to it any more.
 */
export function createState(runtime: Runtime, options: LuaStateOptions): LuaState {
  const core = openCore(runtime, options)
  const failure = loadModules(core)

  return {
    async run(chunk, variables, signal) {
      if (failure !== undefined) throw failure
      return runChunk(core, chunk, { variables, signal })
    },
    close() {
      if (core.status !== 'open') return
      core.status = 'closed'
      for (const interrupt of core.interrupts) interrupt(closedError())
    },
  }
}

function loadModules(core: Core): LuaError | undefined {
  try {
    for (const module of core.options.modules) runModule(core, module)
    return undefined
  } catch (error) {
    if (error instanceof LuaError) return error
    throw error
  }
}
