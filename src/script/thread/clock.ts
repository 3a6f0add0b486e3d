/**
 * Memory shared with a worker: the number of answers so far, on which a waiting worker sleeps; whether it is waiting;
 * and how long it has waited in total.
 */
export interface WorkerClock {
  readonly cells: Int32Array
  readonly waitedMs: Float64Array
}

export const clockCells = { answers: 0, isWaiting: 1 } as const

export function clockOf(memory: SharedArrayBuffer): WorkerClock {
  return { cells: new Int32Array(memory, 0, 2), waitedMs: new Float64Array(memory, 8, 1) }
}

export function createClockMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(16)
}
