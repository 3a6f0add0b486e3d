import { createPool } from '../base/concurrency.ts'
import { isRunTooLarge, isSuspension } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { Tool, ToolResult, ToolUse } from '../event/agent.ts'
import { below, type RunContext } from '../event/context.ts'
import { callPlace, part } from '../event/place.ts'
import { withoutUsualQuestions } from '../tool/usual-questions.ts'
import type { Timeline } from './modes/timeline.ts'
import { callTool, type RunningCalls } from './tool-calls.ts'
import { toolsAtOnce } from './turns.ts'

/**
 * What a program works with that calls tools. All of it is recorded below one call, so that a program which was
 * interrupted can be run again from its beginning: what it then asks is answered from the record.
 */
export interface ProgramWork {
  /** For its random numbers: the same when it is run again. */
  readonly seed: () => number
  /** When it began, in milliseconds since 1970: the same when it is run again. */
  readonly begun: () => number
  /**
   * Calls a tool. Calls are numbered in the order in which they are issued; a few run at once. Failures are results.
   * @throws what ends the run, once all other calls in progress have ended; BatonError DIVERGED for another tool than the
   * record has
   */
  readonly call: (name: string, input: JsonObject) => Promise<ProgramCall>
  /** Reads something that may differ when the program is run again. Numbered as calls are. @throws what `read` throws */
  readonly observe: (name: string, args: Json, read: () => Json | Promise<Json>) => Promise<Json>
  /** Does the work, unless a finished one is recorded: then gives what it came to. @throws BatonError DIVERGED */
  readonly once: <T>(asked: JsonObject, work: () => Promise<T>) => Promise<T>
}

interface ProgramCall extends ToolResult {
  /** When it had ended, in milliseconds since 1970: the same when the program is run again. */
  readonly now: number
}

interface WorkOptions {
  /** At the place of the program. */
  readonly context: RunContext
  readonly opener: RunContext
  /** Of the program, in events. */
  readonly id: string
  /** The tool, or what stands for one, that runs it. */
  readonly name: string
  readonly tools: readonly Tool[]
  readonly timeline?: Timeline
  readonly running?: RunningCalls
  readonly onUse?: (use: ToolUse) => void
}

export function createProgramWork(options: WorkOptions): ProgramWork {
  const { id, name: program, onUse } = options
  const isApproved = options.context.scope.modeOptions?.['code']?.['auto_approve'] === true
  const context = isApproved ? withoutUsualQuestions(options.context) : options.context
  const { at } = context.scope
  const { effects, now, signal } = context.services
  const pool = createPool(toolsAtOnce)
  const running = new Set<Promise<unknown>>()
  let calls = 0

  function timeAt(place: RunContext['scope']['at']): number {
    return effects.observe([...place, part('time')], { name: 'code.time', args: null }, () => now().getTime())
  }

  async function run(name: string, input: JsonObject): Promise<ProgramCall> {
    const index = calls
    calls += 1
    // a program that asks otherwise than it did is found before it does anything
    effects.observe(callPlace(at, index), { name: 'program.calls', args: { tool: name } }, () => null)
    const own = below(context, { kind: 'tool', index, name })
    const asked = { id: `${id}/${index}`, name, input: JSON.stringify(input) }
    const result = await pool.run(() => callTool(asked, { ...options, context: own }), signal)
    const { text: output, isError } = result
    onUse?.({ id: asked.id, name, input: asked.input, output, ...(isError === true ? { is_error: true } : {}) })
    return { ...result, now: timeAt(own.scope.at) }
  }

  return {
    seed: () =>
      effects.observe([...at, part('seed')], { name: 'code.seed', args: null }, () =>
        Math.floor(Math.random() * 2 ** 32),
      ),
    begun: () => timeAt(at),
    async call(name, input) {
      const work = run(name, input)
      running.add(work)
      try {
        return await work
      } catch (error) {
        running.delete(work)
        // others are paid for, or wait for a person as well: all questions are put before the run is suspended
        if (isSuspension(error) || isRunTooLarge(error)) while (running.size > 0) await Promise.allSettled(running)
        throw error
      } finally {
        running.delete(work)
      }
    },
    async observe(name, args, read) {
      const place = callPlace(at, calls)
      calls += 1
      return effects.observeAsync(place, { name, args }, async () => read())
    },
    once: async (args, work) => effects.call(at, { name: program, args }, work),
  }
}
