import { LuaError, type LuaState, type LuaStateOptions } from '../engine.ts'
import { closedError } from '../lua/core.ts'
import type { Core, Runtime } from './core.ts'
import { closeCore, openCore } from './open.ts'
import { faultOf, runChunk, runModule } from './run.ts'

/**
 * A fresh Lua state. Its limits hold for everything that runs in it together. An error of a module is kept, and every
 * run rejects with it.
 */
export function createState(runtime: Runtime, options: LuaStateOptions): LuaState {
  const core = openCore(runtime, options)
  const failure = loadModules(core)

  const release = (): void => {
    if (core.status !== 'closing' || core.depth > 0) return
    core.status = 'closed'
    closeCore(core)
  }
  return {
    async run(chunk, variables, signal) {
      if (failure !== undefined) throw failure
      try {
        return await runChunk(core, chunk, { variables, signal })
      } finally {
        release()
      }
    },
    close() {
      if (core.status !== 'open') return
      core.status = 'closing'
      for (const interrupt of core.interrupts) interrupt(closedError())
      release()
    },
  }
}

function loadModules(core: Core): LuaError | undefined {
  try {
    for (const module of core.options.modules) runModule(core, module)
    return undefined
  } catch (error) {
    const failure = faultOf(core, error)
    if (failure instanceof LuaError) return failure
    throw failure
  }
}
