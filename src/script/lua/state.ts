import { closedError, type LuaChunk, LuaError, type LuaState, type LuaStateOptions } from '../engine.ts'
import { type LuaApi, luaStatus, luaType, registry, registryGlobals, type Thread } from './api.ts'
import { callByNumber, continueCall, ownCalls } from './calls.ts'
import type { Backend, LuaCore, Runtime } from './core.ts'
import { hookInterval, onHook } from './limits.ts'
import { createChunkNames } from './positions.ts'
import { prelude } from './prelude.ts'
import { faultOf, runChunk, runModule } from './run.ts'

/** JavaScript functions that Lua calls through C function pointers. They look up the running state. */
export interface LuaCallbacks {
  /** Body of every C function of ours. */
  readonly call: (thread: Thread, number: number) => number
  /** Continues a call after a wait. */
  readonly continue: (thread: Thread, id: number) => number
  readonly hook: (thread: Thread) => void
}

/** What all states of an engine share. `connect` creates the engine with its calls into JavaScript in place. */
export function createRuntime<B extends Backend>(connect: (callbacks: LuaCallbacks) => B): Runtime & B {
  const running = (): LuaCore => {
    if (runtime.running === undefined) throw new Error('Lua called JavaScript while no state was running')
    return runtime.running
  }
  const backend = connect({
    call: (thread, number) => callByNumber(running(), thread, number),
    continue: (thread, id) => continueCall(running(), thread, id),
    hook: (thread) => onHook(running(), thread),
  })
  const runtime: Runtime & B = {
    ...backend,
    prelude: backend.prelude ?? compileChunk(backend, { name: '=prelude', text: prelude }, 'omit'),
    compileModule: ({ name, text }) => compileChunk(backend, { name: `@${name}`, text }, 'keep'),
    modules: new Map(),
    installed: undefined,
    running: undefined,
  }
  return runtime
}

/**
 * A binary chunk: loading one takes a tenth of the time of compiling it. `name` starts with `=` or `@`, as Lua
 * requires.
 */
function compileChunk(backend: Backend, chunk: LuaChunk, lines: 'keep' | 'omit'): Uint8Array {
  const { api } = backend
  const state = backend.openState()
  const { main } = state
  try {
    const status = api.loadText(main, chunk)
    if (status !== luaStatus.ok) throw new Error(`${chunk.name} does not compile: ${api.readMessage(main, -1)}`)
    return api.dump(main, { lines })
  } finally {
    backend.closeState(state)
  }
}

/**
 * A fresh Lua state. Its limits apply to everything that runs in it, taken together. An error in a module is kept, and
 * every run rejects with it.
 */
export function createState(runtime: Runtime, options: LuaStateOptions): LuaState {
  const core = openCore(runtime, options)
  const failure = loadModules(core)

  const release = (): void => {
    if (core.status !== 'closing' || core.depth > 0) return
    core.status = 'closed'
    if (!runtime.health.isBroken) runtime.closeState(core)
  }
  return {
    async run(chunk, variables, signal) {
      if (failure !== undefined) throw failure
      try {
        return await runChunk(core, chunk, { variables, signal })
      } finally {
        release()
      }
    },
    close() {
      if (core.status !== 'open') return
      core.status = 'closing'
      for (const interrupt of core.interrupts) interrupt(closedError())
      release()
    },
  }
}

/** A fresh Lua state in which the prelude has run and the host functions are in place; its modules have not run yet. */
function openCore(runtime: Runtime, options: LuaStateOptions): LuaCore {
  const { api } = runtime
  const { main, memory } = runtime.openState()
  api.lua_createtable(main, 0, 0)
  const listMarker = api.lua_topointer(main, -1)
  const listReference = api.luaL_ref(main, registry)
  api.lua_createtable(main, 0, 0)
  const runs = api.luaL_ref(main, registry)
  const core: LuaCore = {
    runtime,
    api,
    options,
    main,
    memory,
    names: createChunkNames(),
    meter: { usedMs: 0, startedAt: 0, resumedAt: 0, thousands: 0 },
    listMarker,
    references: { listMarker: listReference, runs, tostring: 0 },
    waits: new Map(),
    nextWait: 1,
    hostErrors: [],
    interrupts: new Set(),
    paused: new Set(),
    limit: undefined,
    limitPlace: undefined,
    depth: 0,
    status: 'open',
    canPause: false,
  }
  core.references.tostring = runPrelude(core)
  installFunctions(core)
  api.setHook(main, hookInterval)
  runtime.watchMemory?.(core)
  return core
}

/** Runs the prelude with its arguments (prelude.ts). Returns the registry key of its `tostring`. */
function runPrelude({ api, main, runtime, references }: LuaCore): number {
  api.loadDumped(main, runtime.prelude)
  api.lua_pushlightuserdata(main, api.nullValue)
  api.lua_rawgeti(main, registry, references.listMarker)
  api.lua_pushlightuserdata(main, api.waitMarker)
  for (const number of Object.values(ownCalls)) api.pushCall(main, number)
  api.pushKeys(main)
  api.lua_rawgeti(main, registry, references.runs)
  const status = api.lua_pcall(main, 8, 1)
  if (status !== luaStatus.ok) throw new LuaError(`the prelude failed: ${api.readMessage(main, -1)}`)
  return api.luaL_ref(main, registry)
}

/** States of one runtime mostly get the same list of functions, so the latest plan is cached. */
function installFunctions({ api, main, runtime, options: { functions } }: LuaCore): void {
  const known = runtime.installed
  const isKnown = known?.paths.length === functions.length && functions.every(({ path }, i) => path === known.paths[i])
  const plan = isKnown ? known : createPlan(functions.map(({ path }) => path))
  runtime.installed = plan
  install({ api, main }, plan, (place) => api.pushCall(main, place))
}

function loadModules(core: LuaCore): LuaError | undefined {
  try {
    for (const module of core.options.modules) runModule(core, module)
    return undefined
  } catch (error) {
    const failure = faultOf(core, error)
    if (failure instanceof LuaError) return failure
    throw failure
  }
}

/** Where to install a list of functions. */
export interface InstallPlan {
  readonly paths: readonly string[]
  /** Consecutive functions in the list that go into the same table; all groups together are all functions, in order. */
  readonly groups: readonly Group[]
}

interface Group {
  readonly parent: string | undefined
  /** Path from the globals to the table. */
  readonly tables: readonly string[]
  readonly functions: string[]
}

export function createPlan(paths: readonly string[]): InstallPlan {
  const groups: Group[] = []
  for (const path of paths) {
    const end = path.lastIndexOf('.')
    const parent = end === -1 ? undefined : path.slice(0, end)
    const name = path.slice(end + 1)
    const last = groups.at(-1)
    if (last !== undefined && last.parent === parent) last.functions.push(name)
    else groups.push({ parent, tables: parent?.split('.') ?? [], functions: [name] })
  }
  return { paths, groups }
}

/**
 * Puts functions at their paths from the globals, creating the tables on the way. `push` pushes the function with a
 * given index.
 */
export function install(
  { api, main }: Pick<LuaCore, 'api' | 'main'>,
  { groups }: InstallPlan,
  push: (place: number) => void,
): void {
  let place = 0
  for (const { tables, functions } of groups) {
    api.lua_checkstack(main, tables.length + 4)
    api.lua_rawgeti(main, registry, registryGlobals)
    for (const table of tables) enterTable(api, main, table)
    for (const name of functions) {
      api.pushName(main, name)
      push(place++)
      api.lua_rawset(main, -3)
    }
    api.lua_settop(main, 0)
  }
}

/** Pushes the table in the field `name` of the table on top, creating it if it is missing. */
function enterTable(api: LuaApi, main: Thread, name: string): void {
  api.pushName(main, name)
  if (api.lua_rawget(main, -2) === luaType.table) return
  api.lua_settop(main, -2)
  api.lua_createtable(main, 0, 0)
  api.pushName(main, name)
  api.lua_pushvalue(main, -2)
  api.lua_rawset(main, -4)
}
