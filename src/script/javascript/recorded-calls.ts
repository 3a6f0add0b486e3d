import { createPool } from '../../base/concurrency.ts'
import { isRunTooLarge, isSuspension } from '../../base/error.ts'
import type { Json } from '../../base/json.ts'
import { below, type RunContext } from '../../event/context.ts'
import type { CallRequest } from '../../event/effects.ts'
import { callPlace, part, type Place } from '../../event/place.ts'

/**
 * A program's starting values and its calls, recorded below its place: an interrupted program can be run again from its
 * first line and does the same, because its calls are answered from the record.
 */
export interface RecordedCalls {
  /** Seed of its random numbers: the same when it is run again. */
  readonly seed: () => number
  /** When it started, in milliseconds since 1970: the same when it is run again. */
  readonly begun: () => number
  /**
   * Calls a tool: `work` does so at the place it gets. Calls are numbered in the order in which they are issued; a few
   * run concurrently.
   * @throws what `work` throws; a suspension only once all other calls in progress have ended; BatonError DIVERGED if
   * the record has a different tool
   */
  readonly call: <T extends object>(tool: string, work: (call: NumberedCall) => Promise<T>) => Promise<T & Timed>
  /** Reads something that may differ when the program is run again. Numbered like calls. @throws what `read` throws */
  readonly observe: (name: string, args: Json, read: () => Json | Promise<Json>) => Promise<Json>
  /**
   * Settles when no call is in progress: until then, one may still have to record its outcome. Does not wait for
   * observations.
   */
  readonly ended: () => Promise<void>
}

interface NumberedCall {
  readonly index: number
  /** At the place of the call. */
  readonly context: RunContext
}

interface Timed {
  /** When the call ended, in milliseconds since 1970: the same when the program is run again. */
  readonly now: number
}

/** Calls of one program that run concurrently. */
const callsAtOnce = 8

/** `context` is at the place of the program; `asked` gives the call under which its seed or a time is recorded. */
export function createRecordedCalls(context: RunContext, asked: (what: 'seed' | 'time') => CallRequest): RecordedCalls {
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
      // others are paid for, or also wait for the user: every question is asked before the run is suspended
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
    // a program that makes different calls than before is detected before it does anything
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
