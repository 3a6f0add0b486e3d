import { LuaError } from '../engine.ts'
import { luaStatus } from '../lua/constants.ts'
import { limitMessage } from '../lua/limit-message.ts'
import { raisedError } from '../lua/raised.ts'
import type { LuaThread } from './api.ts'
import type { Core } from './core.ts'
import { errorText } from './error-text.ts'
import { framesOf, positionOf, tracebackOf } from './position.ts'

/** A thread, and the chunk that runs in it. */
export interface ErrorSource {
  readonly thread: LuaThread
  readonly name: string
}

/** The error on top of a thread's stack as a `LuaError`; `status` is what loading or resuming the thread returned. */
export function errorOf(core: Core, source: ErrorSource, status: number): LuaError {
  if (status === luaStatus.memoryError) core.limit ??= 'memory'
  if (core.limit !== undefined) return limitError(core, source)
  const { thread, name } = source
  const frames = framesOf(core, thread)
  const traceback = frames.length === 0 ? undefined : tracebackOf(core, thread)
  return raisedError({ chunk: name, text: errorText(core, thread), frames, traceback }, core)
}

/** The error for a thread that has reached a limit, with the line it was at. */
export function limitError({ limit, limitPlace, options }: Core, { name }: ErrorSource): LuaError {
  return new LuaError(limitMessage(limit, options.limits), {
    chunk: name,
    ...limitPlace?.position,
    ...(limitPlace === undefined ? {} : { traceback: limitPlace.traceback }),
    ...(limit === undefined ? {} : { limit }),
  })
}

/** An error of the engine's own, placed at the line a thread is at. */
export function errorAt(core: Core, { thread, name }: ErrorSource, message: string): LuaError {
  const traceback = tracebackOf(core, thread)
  return new LuaError(message, { chunk: name, ...positionOf(core, thread), traceback })
}
