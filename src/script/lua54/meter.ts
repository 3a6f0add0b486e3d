import { accounting } from './bridge-code.ts'
import type { Core } from './core.ts'
import type { Pointer } from './exports.ts'

/** How long and how much the Lua code of a state has run. */
export interface Meter {
  usedMs: number
  /** When the code that runs now was entered or went on after a host function, in milliseconds. */
  startedAt: number
  /** When Lua last came out of the event loop. */
  resumedAt: number
  thousands: number
}

/** The memory limit while the engine itself works in the state: it must not fail half way. */
const unlimited = 0x7f_ff_ff_ff

export function createMeter(): Meter {
  return { usedMs: 0, startedAt: 0, resumedAt: 0, thousands: 0 }
}

export function startClock({ meter }: Core): void {
  meter.startedAt = performance.now()
}

/** Time from here on does not count: the engine or a host function is at work. */
export function stopClock({ meter }: Core): void {
  meter.usedMs += performance.now() - meter.startedAt
}

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
  startClock(core)
  try {
    return body()
  } catch (error) {
    wasm.health.isBroken = true
    throw error
  } finally {
    stopClock(core)
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

export function limitMessage({ limit, options: { limits } }: Core): string {
  switch (limit) {
    case 'time':
      return `the script ran longer than ${limits.timeMs} ms`
    case 'instructions':
      return `the script ran more than ${limits.instructions} thousand instructions`
    case 'memory':
      return `the script needs more than ${limits.memoryBytes} bytes of memory`
    case undefined:
      return 'the script was stopped'
  }
}

/** A request that was refused and not repeated by the time Lua code is left was final as well. */
function isMemoryExceeded({ runtime: { wasm }, accounting: record }: Core): boolean {
  return wasm.read32(record + accounting.exceeded) !== 0 || wasm.read32(record + accounting.refused) !== 0
}
