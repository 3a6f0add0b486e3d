import { LuaError, limitMessage, type LuaValue } from '../engine.ts'
import { luaStatus, luaType, registry, type Thread } from './api.ts'
import { enter, type LuaCore } from './core.ts'
import { framesOf, positionOf, splitPosition, tracebackOf } from './positions.ts'
import { readSource, readValue } from './values.ts'

/** A thread, and the name of the chunk that runs in it. */
interface ErrorSource {
  readonly thread: Thread
  readonly name: string
}

/**
 * The error on top of a thread's stack as a `LuaError`, with the position separate from the message and the host
 * function's error as its cause. `status` is what loading or resuming the thread returned.
 */
export function errorOf(core: LuaCore, source: ErrorSource, status: number): LuaError {
  if (status === luaStatus.memoryError) core.limit ??= 'memory'
  if (core.limit !== undefined) return limitError(core, source)
  const { thread, name } = source
  const { names, hostErrors } = core
  const frames = framesOf(core, thread)
  const traceback = frames.length === 0 ? undefined : tracebackOf(core, thread)
  const text = errorText(core, thread)
  // host errors are strings in Lua; one that was raised again with a prefix is still found
  const cause = hostErrors.findLast((known) => text.endsWith(known.text))?.error
  const { message, position } = splitPosition(names, text, frames)
  return new LuaError(names.restore(message), { chunk: name, ...position, traceback, cause })
}

/** The error for a thread that has reached a limit, with the line it reached. */
export function limitError(core: LuaCore, { thread, name }: ErrorSource): LuaError {
  const { limit, limitPlace, options } = core
  return new LuaError(limitMessage(limit, options.limits), {
    chunk: name,
    ...(limitPlace?.position ?? positionOf(core, thread)),
    traceback: limitPlace?.traceback ?? tracebackOf(core, thread),
    limit,
  })
}

/** An error of the engine itself, placed at the thread's current line. */
export function errorAt(core: LuaCore, { thread, name }: ErrorSource, message: string): LuaError {
  const traceback = tracebackOf(core, thread)
  return new LuaError(message, { chunk: name, ...positionOf(core, thread), traceback })
}

/**
 * The text of the error value on top of a thread's stack. Any Lua value can be raised, including nil and tables. The
 * value is moved to the main stack, because the thread may have failed because its own is full.
 */
function errorText(core: LuaCore, thread: Thread): string {
  const { api, main } = core
  api.lua_checkstack(main, 20)
  api.lua_xmove(thread, main, 1)
  const text = topText(core)
  api.lua_settop(main, -2)
  return text
}

function topText(core: LuaCore): string {
  const { api, main } = core
  switch (api.lua_type(main, -1)) {
    case luaType.string:
      return api.readMessage(main, -1)
    case luaType.nil:
      return 'the script raised an error without a message (nil)'
    case luaType.table:
      return ownText(core) ?? valueText(readOrDescribe(core))
    default:
      return valueText(readOrDescribe(core))
  }
}

/** The text of a table that has `__tostring`. */
function ownText(core: LuaCore): string | undefined {
  const { api, main, references } = core
  if (!api.lua_getmetatable(main, -1)) return undefined
  api.lua_settop(main, -2)
  api.lua_rawgeti(main, registry, references.tostring)
  api.lua_pushvalue(main, -2)
  const status = enter(core, () => api.lua_pcall(main, 1, 1))
  const text = status === luaStatus.ok ? api.readMessage(main, -1) : ''
  api.lua_settop(main, -2)
  return status === luaStatus.ok && !text.startsWith('table: 0x') ? text : undefined
}

function readOrDescribe(core: LuaCore): LuaValue {
  const { api, main } = core
  const top = api.lua_gettop(main)
  try {
    return readValue(readSource(core, main, 'data'), -1)
  } catch {
    // reading can stop inside nested tables, which leaves their parts on the stack
    api.lua_settop(main, top)
    return `the script raised a ${api.typeName(main, api.lua_type(main, -1))} as an error`
  }
}

/** The `message` or `error` field of a table, otherwise the whole value as JSON. */
function valueText(value: LuaValue): string {
  if (typeof value === 'string') return value
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const { message, error } = value as { readonly [key: string]: LuaValue }
    if (typeof message === 'string') return message
    if (typeof error === 'string') return error
  }
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'bigint') return String(item)
    return item instanceof Uint8Array ? Buffer.from(item).toString('latin1') : item
  })
}
