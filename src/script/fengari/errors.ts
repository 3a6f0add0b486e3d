import { LuaError } from '../engine.ts'
import { limitMessage } from '../lua/limit-message.ts'
import { luaStatus } from '../lua/constants.ts'
import type { LuaThread } from './api.ts'
import type { Core } from './core.ts'
import { errorText } from './error-text.ts'
import { type Frame, framesOf, type Position, positionOf, tracebackOf } from './position.ts'

/** A thread, and the chunk that runs in it. */
export interface ErrorSource {
  readonly thread: LuaThread
  readonly name: string
}

/** The error on top of a thread's stack as a `LuaError`; `status` is what loading or resuming the thread returned. */
export function errorOf(core: Core, source: ErrorSource, status: number): LuaError {
  if (status === luaStatus.memoryError) core.limit ??= 'memory'
  if (core.limit !== undefined) return limitError(core, source)
  const frames = framesOf(core, source.thread)
  const traceback = frames.length === 0 ? {} : { traceback: tracebackOf(core, source.thread) }
  const text = errorText(core, source.thread)
  const cause = causeOf(core, text)
  const { message, position } = splitPosition(core, text, frames)
  return new LuaError(core.names.restore(message), {
    chunk: source.name,
    ...position,
    ...traceback,
    ...(cause === undefined ? {} : { cause }),
  })
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

/** Host errors are strings in Lua; one that was raised again, with more text in front, is still found. */
function causeOf({ hostErrors }: Core, text: string): unknown {
  return hostErrors.findLast((known) => text.endsWith(known.text))?.error
}

interface Split {
  readonly message: string
  readonly position: Partial<Position>
}

/** Takes `chunk:line:` off the front of a message; without one the position is the line that raised the error. */
function splitPosition({ names }: Core, text: string, frames: readonly Frame[]): Split {
  const loaded = /^\[string ".*?"\](?=:)/s.exec(text)
  const sources = new Set([...frames.map(({ source }) => source), ...names.aliases(), ...(loaded ?? [])])
  for (const source of [...sources].toSorted((left, right) => right.length - left.length)) {
    if (!text.startsWith(`${source}:`)) continue
    const [prefix, line] = /^(\d+): ?/.exec(text.slice(source.length + 1)) ?? []
    if (prefix === undefined) continue
    const position = { chunk: names.original(source), line: Number(line) }
    return { message: text.slice(source.length + 1 + prefix.length), position }
  }
  const [raised] = frames
  return { message: text, position: raised === undefined ? {} : { chunk: raised.chunk, line: raised.line } }
}
