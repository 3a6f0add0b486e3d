import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../../base/error.ts'
import { createTurns, manyListeners } from '../../base/concurrency.ts'
import { closedError, limitMessage, type LuaChunk, LuaError, type LuaValue } from '../engine.ts'
import { luaStatus, luaType, registry, registryGlobals, type Thread } from './api.ts'
import { assertUsable, enter, type LuaCore } from './core.ts'
import { pushValue, readSource, readValue } from './values.ts'
import { framesOf, positionOf, splitPosition, tracebackOf } from './positions.ts'

interface RunOptions {
  readonly variables: { readonly [name: string]: LuaValue }
  readonly signal: AbortSignal
}

/**
 * Runs a chunk in a separate thread until it ends, returning to the event loop whenever a host function waits and every
 * few milliseconds. Rejects with `LuaError`, or with the signal's reason.
 */
export async function runChunk(core: LuaCore, chunk: LuaChunk, options: RunOptions): Promise<readonly LuaValue[]> {
  const { signal } = options
  signal.throwIfAborted()
  assertUsable(core)
  core.canPause = true
  // Before the try: a failure in takeTurns is caught in a later turn with the full stack available, a failure here is
  // not.
  const waiting = createWaiting(core, signal)
  try {
    return await takeTurns({ core, waiting }, chunk, options)
  } catch (error) {
    const { health } = core.runtime
    // Recorded before anything is called: there may be no stack left for a call.
    if (health.canBreak && error instanceof RangeError) health.isBroken = true
    signal.throwIfAborted()
    throw faultOf(core, error)
  } finally {
    waiting.end()
  }
}

/** Results are read and the thread is closed in the same turn as the last step: nothing can run in between. */
async function takeTurns(
  { core, waiting }: { readonly core: LuaCore; readonly waiting: Waiting },
  chunk: LuaChunk,
  { variables, signal }: RunOptions,
): Promise<readonly LuaValue[]> {
  const thread = openThread(core, chunk, loadScript)
  const turns = createTurns()
  try {
    setEnvironment(core, thread, variables)
    for (;;) {
      signal.throwIfAborted()
      const step = resume(core, thread)
      if (step.kind === 'done') return readResults(core, thread)
      await waiting.take(step.kind === 'pause' ? nextTurn() : step.until)
      // a host function may repeatedly wait for promises that settle without a turn of the event loop
      const turn = step.kind === 'pause' ? undefined : turns.pass()
      if (turn !== undefined) await waiting.take(turn)
    }
  } finally {
    closeThread(core, thread)
  }
}

/** Runs a module in the globals synchronously. Throws `LuaError`, also if it has to wait for a host function. */
export function runModule(core: LuaCore, chunk: LuaChunk): void {
  const thread = openThread(core, chunk, loadModule)
  try {
    for (;;) {
      const step = resume(core, thread)
      if (step.kind === 'done') return
      if (step.kind === 'wait') throw new LuaError('a module cannot wait while it is loaded', { chunk: chunk.name })
    }
  } finally {
    closeThread(core, thread)
  }
}

/** A fault of the engine as a `LuaError`, after which nothing may run in it; any other error unchanged. */
export function faultOf({ runtime: { health } }: LuaCore, error: unknown): unknown {
  if (error instanceof LuaError) return error
  if (health.canBreak && (error instanceof RangeError || isTrap(error))) health.isBroken = true
  return health.isBroken ? new LuaError(`the Lua engine failed: ${messageOf(error)}`, { cause: error }) : error
}

function isTrap(error: unknown): boolean {
  return error instanceof Error && error.name === 'RuntimeError'
}

type Waiting = ReturnType<typeof createWaiting>

function createWaiting({ interrupts }: LuaCore, signal: AbortSignal) {
  let reject: (reason: unknown) => void = () => undefined
  const interrupt = (reason: unknown): void => reject(reason)
  const onAbort = (): void => interrupt(signal.reason)
  interrupts.add(interrupt)
  manyListeners(signal).addEventListener('abort', onAbort)
  return {
    /** Waits for a promise that never rejects. Rejects immediately when the run is aborted or its state is closed. */
    take(until: Promise<void>): Promise<void> {
      return new Promise((resolve, fail) => {
        if (signal.aborted) fail(signal.reason)
        reject = fail
        void until.then(resolve)
      })
    },
    end(): void {
      interrupts.delete(interrupt)
      signal.removeEventListener('abort', onAbort)
    },
  }
}

/** Why a chunk stopped: it is done, it gives the event loop a turn, or it waits for a promise that never rejects. */
type Step =
  | { readonly kind: 'done' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'wait'; readonly until: Promise<void> }

function resume(core: LuaCore, chunk: ChunkThread): Step {
  assertUsable(core)
  core.meter.resumedAt = performance.now()
  const status = enter(core, () => core.api.lua_resume(chunk.thread))
  if (core.status !== 'open') throw closedError()
  if (core.limit !== undefined) throw limitError(core, chunk)
  if (status === luaStatus.ok) return { kind: 'done' }
  if (status === luaStatus.yield) return yielded(core, chunk)
  throw errorOf(core, chunk, status)
}

/** A thread yields nothing if the hook has stopped it, and the marker with a number if a host function waits. */
function yielded(core: LuaCore, chunk: ChunkThread): Step {
  const { api, paused, waits } = core
  const { thread } = chunk
  if (paused.delete(thread)) return { kind: 'pause' }
  const isWait =
    api.lua_gettop(thread) >= 2 &&
    api.lua_type(thread, -2) === luaType.lightUserdata &&
    api.lua_touserdata(thread, -2) === api.waitMarker
  if (!isWait) throw errorAt(core, chunk, 'attempt to yield from outside a coroutine')
  const id = api.lua_tonumber(thread, -1)
  api.lua_settop(thread, -3)
  const pending = waits.get(id)
  return pending === undefined ? { kind: 'pause' } : { kind: 'wait', until: pending.settled }
}

function readResults(core: LuaCore, { thread, name }: ChunkThread): readonly LuaValue[] {
  const source = readSource(core, thread, 'border')
  try {
    return Array.from({ length: core.api.lua_gettop(thread) }, (_, index) => readValue(source, index + 1))
  } catch (error) {
    throw new LuaError(messageOf(error), { chunk: name })
  }
}

/** A Lua coroutine owned by the engine: every chunk runs in one, so that it can wait. */
interface ChunkThread {
  readonly thread: Thread
  readonly name: string
  /** Its key in the registry, which keeps it alive. */
  readonly reference: number
}

/** Pushes the main function of a chunk, or the error. Returns `luaStatus`. */
type Loader = (core: LuaCore, thread: Thread, chunk: LuaChunk) => number

/** Creates a thread and loads a chunk into it with `load`. Throws `LuaError` for a syntax error. */
function openThread(core: LuaCore, chunk: LuaChunk, load: Loader): ChunkThread {
  const { api, main } = core
  api.lua_checkstack(main, 8)
  const thread = api.lua_newthread(main)
  markAsRun(core, true)
  const opened = { thread, name: chunk.name, reference: api.luaL_ref(main, registry) }
  const status = load(core, thread, chunk)
  if (status === luaStatus.ok) return opened
  const error = errorOf(core, opened, status)
  closeThread(core, opened)
  throw error
}

function closeThread(core: LuaCore, { thread, reference }: ChunkThread): void {
  const { api, main, paused, status, runtime } = core
  if (status === 'closed' || runtime.health.isBroken) return
  paused.delete(thread)
  api.lua_rawgeti(main, registry, reference)
  markAsRun(core, false)
  api.lua_settop(main, -2)
  api.luaL_unref(main, registry, reference)
}

/**
 * Records whether the thread on top of the main stack runs a chunk: to scripts, such a thread is the main thread, not a
 * coroutine.
 */
function markAsRun({ api, main, references }: LuaCore, isRun: boolean): void {
  api.lua_rawgeti(main, registry, references.runs)
  api.lua_pushvalue(main, -2)
  if (isRun) api.lua_pushboolean(main, true)
  else api.lua_pushnil(main)
  api.lua_rawset(main, -3)
  api.lua_settop(main, -2)
}

/** Compiles a chunk of a script: only from text, because crafted binary chunks can corrupt the memory of Lua. */
function loadScript({ api, names }: LuaCore, thread: Thread, { name, text }: LuaChunk): number {
  return api.loadText(thread, { name: `@${names.alias(name)}`, text })
}

/**
 * The Lua parts of host modules that a runtime has loaded. They are the same in every state, and loading a compiled one
 * takes a tenth of the time of compiling it. Keys are the texts, because a worker gets a copy of its modules for every
 * state.
 */
export type KnownModules = Map<string, KnownModule>

interface KnownModule {
  /** Lua's name for the chunk; it is part of the compiled code. */
  readonly alias: string
  /** Its binary chunk, created at the second use: for a run with one section, dumping it would only cost time. */
  readonly code: Uint8Array | undefined
}

/**
 * More than the number of host modules. Above it, all entries are dropped, so that the map cannot grow without bound.
 */
const mostKnown = 100

/** Loads one of `options.modules`, which are our own code. */
function loadModule({ api, names, runtime }: LuaCore, thread: Thread, { name, text }: LuaChunk): number {
  const { modules } = runtime
  const alias = names.alias(name)
  const found = modules.get(text)
  const known = found?.alias === alias ? found : undefined
  const compiled = known?.code ?? (alias === name ? runtime.compiledModule?.(name) : undefined)
  if (compiled !== undefined) {
    if (known === undefined) modules.set(text, { alias, code: compiled })
    return api.loadDumped(thread, compiled)
  }
  const status = api.loadText(thread, { name: `@${alias}`, text })
  if (status !== luaStatus.ok) return status
  if (modules.size >= mostKnown) modules.clear()
  modules.set(text, { alias, code: known && api.dump(thread, { lines: 'keep' }) })
  return status
}

/**
 * Gives the loaded chunk its private environment: a copy of the globals plus the variables. A variable that is null
 * becomes nil; only nulls inside values become the sentinel.
 */
function setEnvironment(core: LuaCore, { thread }: ChunkThread, variables: RunOptions['variables']): void {
  const { api } = core
  api.lua_createtable(thread, 0, 64)
  const environment = api.lua_gettop(thread)
  copyGlobals(core, thread, environment)
  for (const [name, value] of Object.entries(variables)) {
    api.pushText(thread, name)
    pushValue(core, thread, value ?? undefined)
    api.lua_rawset(thread, environment)
  }
  api.lua_setupvalue(thread, environment - 1, 1)
}

function copyGlobals({ api }: LuaCore, thread: Thread, environment: number): void {
  api.lua_rawgeti(thread, registry, registryGlobals)
  api.lua_pushnil(thread)
  while (api.lua_next(thread, environment + 1)) {
    api.lua_pushvalue(thread, -2)
    api.lua_rotate(thread, -2, 1)
    api.lua_rawset(thread, environment)
  }
  api.lua_settop(thread, environment)
}

/** A thread, and the name of the chunk that runs in it. */
interface ErrorSource {
  readonly thread: Thread
  readonly name: string
}

/**
 * The error on top of a thread's stack as a `LuaError`, with the position separate from the message and the host
 * function's error as its cause. `status` is what loading or resuming the thread returned.
 */
function errorOf(core: LuaCore, source: ErrorSource, status: number): LuaError {
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
function limitError(core: LuaCore, { thread, name }: ErrorSource): LuaError {
  const { limit, limitPlace, options } = core
  return new LuaError(limitMessage(limit, options.limits), {
    chunk: name,
    ...(limitPlace?.position ?? positionOf(core, thread)),
    traceback: limitPlace?.traceback ?? tracebackOf(core, thread),
    limit,
  })
}

/** An error of the engine itself, placed at the thread's current line. */
function errorAt(core: LuaCore, { thread, name }: ErrorSource, message: string): LuaError {
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
