import { startClock, stopClock } from '../lua/meter.ts'
import { accounting } from './bridge-code.ts'
import type { Core } from './core.ts'
import type { Pointer } from './exports.ts'

/** The memory limit while the engine itself works in the state: it must not fail half way. */
const unlimited = 0x7f_ff_ff_ff

/**
 * Runs Lua code of a state: its clock runs, its memory limit holds, and calls and hooks find it as the running one.
 * Whatever comes out as an exception is a fault in WebAssembly itself, as Lua errors are status codes.
 */
export function enter<T>(core: Core, body: () => T): T {
  const { runtime, options } = core
  const { wasm } = runtime
  const outer = runtime.running
  const outerLimit = wasm.read32(core.accounting + accounting.limit)
  runtime.running = core
  core.depth++
  wasm.write32(core.accounting + accounting.limit, Math.min(options.limits.memoryBytes, unlimited))
  startClock(core.meter)
  try {
    return body()
  } catch (error) {
    wasm.health.isBroken = true
    throw error
  } finally {
    stopClock(core.meter)
    wasm.write32(core.accounting + accounting.limit, outerLimit)
    core.depth--
    runtime.running = outer
    if (isMemoryExceeded(core)) core.limit ??= 'memory'
  }
}

/** The record for a state's memory, without a limit until Lua code is entered. */
export function createAccounting({ lua, write32 }: Core['runtime']['wasm']): Pointer {
  const record = lua.malloc(accounting.size)
  for (const offset of [accounting.used, accounting.refused, accounting.exceeded]) write32(record + offset, 0)
  write32(record + accounting.limit, unlimited)
  return record
}

/** A request that was refused and not repeated by the time Lua code is left was final as well. */
function isMemoryExceeded({ runtime: { wasm }, accounting: record }: Core): boolean {
  return wasm.read32(record + accounting.exceeded) !== 0 || wasm.read32(record + accounting.refused) !== 0
}
