import type { Core, Meter } from './core.ts'

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

/** Runs Lua code of a state while its clock runs. Errors of Lua are status codes. */
export function enter<T>(core: Core, body: () => T): T {
  core.depth++
  startClock(core)
  try {
    return body()
  } finally {
    stopClock(core)
    core.depth--
  }
}
