import { getHeapStatistics } from 'node:v8'
import type { Core } from './core.ts'

/** The part of the JavaScript heap that may be in use; the rest is what a collection needs. */
const usablePart = 0.9
/** What was thrown away stays in memory for a while: up to 64 MB were measured before V8 collects it. */
const garbageBytes = 128 * 1024 * 1024

/**
 * True when the process is about to run out of heap, which would end everything, or when what it holds in long strings
 * and buffers has grown by much more than twice the limit since the state was made.
 */
export function isMemoryShort({ options, externalAtStart }: Core): boolean {
  const { used_heap_size, heap_size_limit, external_memory } = getHeapStatistics()
  if (used_heap_size > usablePart * heap_size_limit) return true
  return external_memory - externalAtStart > 2 * options.limits.memoryBytes + garbageBytes
}

/** Bytes outside the heap, in long strings and buffers. */
export function externalMemory(): number {
  return getHeapStatistics().external_memory
}
