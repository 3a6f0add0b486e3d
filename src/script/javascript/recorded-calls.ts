import { createPool } from '../../base/concurrency.ts'
import { isRunTooLarge, isSuspension } from '../../base/error.ts'
import type { Json } from '../../base/json.ts'
import { below, type RunContext } from '../../event/context.ts'
import type { AskedCall } from '../../event/effects.ts'
import { callPlace, part, type Place } from '../../event/place.ts'

/**
 * What a program begins with and what it calls, recorded below its place: a program that was interrupted can be run again from
 * its first line, and does the same, because what it then asks is answered from the record.
 */
export interface RecordedCalls {
  /** For its random numbers: the same when it is run again. */
  readonly seed: () => number
  /** When it began, in milliseconds since 1970: the same when it is run again. */
  readonly begun: () => number
  /**
   * Calls a tool, which `work` does at the place that it is given. Calls are numbered in the order in which they are issued; a
   * few run at once.
   * @throws what `work` throws, a suspension once all other calls in progress have ended; BatonError DIVERGED for another tool
   * than the record has
   */
  readonly call: <T extends object>(tool: string, work: (call: NumberedCall) => Promise<T>) => Promise<T & Timed>
  /** Reads something that may differ when the program is run again. Numbered as calls are. @throws what `read` throws */
  readonly observe: (name: string, args: Json, read: () => Json | Promise<Json>) => Promise<Json>
  /** Settles when no call is in progress: until then one may have to record how it ended. What only looks is not waited for. */
  readonly ended: () => Promise<void>
}

interface NumberedCall {
  readonly index: number
  /** At the place of the call. */
  readonly context: RunContext
}

interface Timed {
  /** When the call had ended, in milliseconds since 1970: the same when the program is run again. */
  readonly now: number
}

/** Calls of one program that run at once. */
const callsAtOnce = 8

/** `context` is at the place of the program; `asked` says how its seed and its times are recorded. */
export function createRecordedCalls(context: RunContext, asked: (what: 'seed' | 'time') => AskedCall): RecordedCalls {
  const { at } = context.scope
  const { effects, now, signal } = context.services
  const pool = createPool(callsAtOnce)
  const running = new Set<Promise<unknown>>()
  let calls = 0

  function timeAt(place: Place): number {
    return effects.observe([...place, part('time')], asked('time'), () => now().getTime())
  }

  async function ended(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running)
  }

  async function inProgress<T>(work: Promise<T>): Promise<T> {
    running.add(work)
    try {
      return await work
    } catch (error) {
      running.delete(work)
      // others are paid for, or wait for a person as well: all questions are put before the run is suspended
      if (isSuspension(error) || isRunTooLarge(error)) await ended()
      throw error
    } finally {
      running.delete(work)
    }
  }

  async function callTool<T extends object>(
    tool: string,
    work: (call: NumberedCall) => Promise<T>,
  ): Promise<T & Timed> {
    const index = calls
    calls += 1
    // a program that asks otherwise than it did is found before it does anything
    effects.observe(callPlace(at, index), { name: 'program.calls', args: { tool } }, () => null)
    const own = below(context, { kind: 'tool', index, name: tool })
    const result = await pool.run(() => work({ index, context: own }), signal)
    return { ...result, now: timeAt(own.scope.at) }
  }

  async function observe(name: string, args: Json, read: () => Json | Promise<Json>): Promise<Json> {
    const place = callPlace(at, calls)
    calls += 1
    return effects.observeAsync(place, { name, args }, async () => read())
  }

  return {
    seed: () => effects.observe([...at, part('seed')], asked('seed'), () => Math.floor(Math.random() * 2 ** 52)),
    begun: () => timeAt(at),
    call: async (tool, work) => inProgress(callTool(tool, work)),
    observe,
    ended,
  }
}
