import { startClock, stopClock } from '../lua/meter.ts'
import type { Core } from './core.ts'

/** Runs Lua code of a state while its clock runs. Errors of Lua are status codes. */
export function enter<T>(core: Core, body: () => T): T {
  core.depth++
  startClock(core.meter)
  try {
    return body()
  } finally {
    stopClock(core.meter)
    core.depth--
  }
}
