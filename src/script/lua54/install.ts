import type { HostFunction } from '../engine.ts'
import { luaType, registry, registryGlobals } from '../lua/constants.ts'
import type { Core } from './core.ts'
import type { Pointer } from './exports.ts'
import type { LuaWasm } from './wasm.ts'

/** Where the functions of a list go. States of one instance mostly get the same list, so the latest plan is kept. */
export interface InstallPlan {
  readonly paths: readonly string[]
  /** Functions side by side in the list that go into the same table; together they are all functions in order. */
  readonly groups: readonly Group[]
}

interface Group {
  /** From the globals to the table. */
  readonly tables: readonly Name[]
  readonly functions: readonly Name[]
}

/** A string in the memory of the instance. */
interface Name {
  readonly address: Pointer
  readonly length: number
}

/**
 * Puts the host functions of a state at their paths from the globals, making the tables on the way. Each is a C function with
 * its number in the list (`callByNumber`).
 */
export function installFunctions({ runtime, main, options }: Core): void {
  const { wasm } = runtime
  const plan = fits(runtime.installed, options.functions) ? runtime.installed : createPlan(wasm, options.functions)
  runtime.installed = plan
  let number = 0
  for (const { tables, functions } of plan.groups) {
    wasm.bridge.getElement(main, registry, registryGlobals)
    for (const table of tables) enterTable(wasm, main, table)
    for (const name of functions) {
      wasm.lua.lua_pushlstring(main, name.address, name.length)
      pushNumbered(wasm, main, number++)
      wasm.lua.lua_rawset(main, -3)
    }
    wasm.lua.lua_settop(main, 0)
  }
}

/** Pushes the C function whose number `callByNumber` gets. */
export function pushNumbered({ lua, bridge, pointers }: LuaWasm, thread: Pointer, number: number): void {
  bridge.pushInteger(thread, number)
  lua.lua_pushcclosure(thread, pointers.call, 1)
}

function fits(plan: InstallPlan | undefined, functions: readonly HostFunction[]): plan is InstallPlan {
  return plan?.paths.length === functions.length && functions.every(({ path }, index) => path === plan.paths[index])
}

function createPlan(wasm: LuaWasm, functions: readonly HostFunction[]): InstallPlan {
  const paths = functions.map(({ path }) => path)
  const groups: {
    readonly parent: string | undefined
    readonly tables: readonly Name[]
    readonly functions: Name[]
  }[] = []
  for (const path of paths) {
    const end = path.lastIndexOf('.')
    const parent = end === -1 ? undefined : path.slice(0, end)
    const name = nameOf(wasm, path.slice(end + 1))
    const last = groups.at(-1)
    if (last !== undefined && last.parent === parent) {
      last.functions.push(name)
      continue
    }
    const tables = parent?.split('.').map((step) => nameOf(wasm, step)) ?? []
    groups.push({ parent, tables, functions: [name] })
  }
  return { paths, groups }
}

function nameOf({ constant }: LuaWasm, text: string): Name {
  return { address: constant(text), length: Buffer.byteLength(text) }
}

/** Pushes the table in the field `name` of the table on top, making it when there is none. */
function enterTable({ lua }: LuaWasm, thread: Pointer, { address, length }: Name): void {
  lua.lua_pushlstring(thread, address, length)
  if (lua.lua_rawget(thread, -2) === luaType.table) return
  lua.lua_settop(thread, -2)
  lua.lua_createtable(thread, 0, 0)
  lua.lua_pushlstring(thread, address, length)
  lua.lua_pushvalue(thread, -2)
  lua.lua_rawset(thread, -4)
}
