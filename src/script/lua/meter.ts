/** How long and how much the Lua code of a state has run. */
export interface Meter {
  usedMs: number
  /** When the code that runs now was entered or went on after a host function, in milliseconds. */
  startedAt: number
  /** When Lua last came out of the event loop. */
  resumedAt: number
  thousands: number
}

export function createMeter(): Meter {
  return { usedMs: 0, startedAt: 0, resumedAt: 0, thousands: 0 }
}

export function startClock(meter: Meter): void {
  meter.startedAt = performance.now()
}

/** Time from here on does not count: the engine or a host function is at work. */
export function stopClock(meter: Meter): void {
  meter.usedMs += performance.now() - meter.startedAt
}
