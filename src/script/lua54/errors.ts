import { LuaError } from '../engine.ts'
import { luaStatus } from '../lua/constants.ts'
import { limitMessage } from '../lua/limit-message.ts'
import { raisedError } from '../lua/raised.ts'
import type { Core } from './core.ts'
import { errorText } from './error-text.ts'
import type { Pointer } from './exports.ts'
import { framesOf, positionOf, tracebackOf } from './position.ts'

/** A thread, and the chunk that runs in it. */
export interface ErrorSource {
  readonly pointer: Pointer
  readonly name: string
}

/** The error on top of a thread's stack as a `LuaError`; `status` is what loading or resuming the thread returned. */
export function errorOf(core: Core, source: ErrorSource, status: number): LuaError {
  if (status === luaStatus.memoryError) core.limit ??= 'memory'
  if (core.limit !== undefined) return limitError(core, source)
  const { pointer, name } = source
  const frames = framesOf(core, pointer)
  const traceback = frames.length === 0 ? undefined : tracebackOf(core, pointer)
  return raisedError({ chunk: name, text: errorText(core, pointer), frames, traceback }, core)
}

/** The error for a thread that has reached a limit, with the line it was at. */
export function limitError(core: Core, { pointer, name }: ErrorSource): LuaError {
  const position = core.limitPosition ?? positionOf(core, pointer)
  const limit = core.limit === undefined ? {} : { limit: core.limit }
  const traceback = tracebackOf(core, pointer)
  return new LuaError(limitMessage(core.limit, core.options.limits), { chunk: name, ...position, traceback, ...limit })
}

/** An error of the engine's own, placed at the line a thread is at. */
export function errorAt(core: Core, { pointer, name }: ErrorSource, message: string): LuaError {
  const traceback = tracebackOf(core, pointer)
  return new LuaError(message, { chunk: name, ...positionOf(core, pointer), traceback })
}
