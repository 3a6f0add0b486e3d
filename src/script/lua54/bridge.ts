import type { LuaExports, Pointer } from './exports.ts'
import { webAssembly } from './webassembly.ts'

/** JavaScript functions that Lua calls through a C function pointer. */
export interface BridgeCalls {
  /** Body of every host function (`lua_CFunction`). */
  readonly call: (thread: Pointer) => number
  /** Goes on after a wait (`lua_KFunction`); `context` is the number given to `lua_yieldk`. */
  readonly resumed: (thread: Pointer, status: number, context: number) => number
  /** Runs every thousand instructions (`lua_Hook`). */
  readonly hook: (thread: Pointer, record: Pointer) => void
}

/** C function pointers of the bridge, and API functions with 64-bit numbers narrowed, so that no BigInt is made. */
export interface Bridge {
  readonly call: unknown
  readonly resumed: unknown
  readonly hook: unknown
  readonly allocate: unknown
  setElement(thread: Pointer, table: number, index: number): void
  /** Returns the type of the element. */
  getElement(thread: Pointer, table: number, index: number): number
  pushInteger(thread: Pointer, safeInteger: number): void
  rawLength(thread: Pointer, index: number): number
}

/** Layout of the record that counts the memory of one state: 32-bit cells, offsets in bytes. */
export const accounting = { used: 0, limit: 4, refusals: 8, exceeded: 12, size: 16 } as const

const i32 = 0x7f
const i64 = 0x7e
const f64 = 0x7c
const get = (local: number): readonly number[] => [0x20, local]
const set = (local: number): readonly number[] => [0x21, local]
const call = (index: number): readonly number[] => [0x10, index]
const constant = (value: number): readonly number[] => [0x41, value]
const load = (offset: number): readonly number[] => [0x28, 2, offset]
const store = (offset: number): readonly number[] => [0x36, 2, offset]
const when = (...body: readonly (readonly number[])[]): readonly number[] => [0x04, 0x40, ...body.flat(), 0x0b]
const giveBack = [0x0f]
const isZero = [0x45]
const greaterSigned = [0x4a]
const lessUnsigned = [0x49]
const greaterUnsigned = [0x4b]
const add = [0x6a]
const subtract = [0x6b]
const either = [0x72]
const shiftRight = [0x76]
const select = [0x1b]

const types = [
  [[i32], [i32]],
  [[i32, i32, i32], [i32]],
  [[i32, i32], []],
  [[i32, i32, i64], []],
  [[i32, i32, i64], [i32]],
  [[i32, i64], []],
  [[i32, i32], [i64]],
  [[i32, i32], [i32]],
  [[i32], []],
  [[i32, i32, i32, i32], [i32]],
  [[i32, f64], []],
  [[i32, i32, i32], []],
] as const

const imported = [
  ['call', 0],
  ['resumed', 1],
  ['hook', 2],
  ['lua_rawseti', 3],
  ['lua_rawgeti', 4],
  ['lua_pushinteger', 5],
  ['lua_rawlen', 6],
  ['realloc', 7],
  ['free', 8],
] as const

const [userdata, block, oldSize, newSize, growth] = [0, 1, 2, 3, 4]
const refuse = 14

/**
 * `lua_Alloc` with a limit. Lua collects garbage and asks again when it is refused, so the second refusal in a row is the
 * one that means the limit is really exceeded; that stays noted for good.
 */
const allocateBody = [
  ...[get(newSize), isZero],
  when(
    get(block),
    when(
      ...[get(userdata), get(userdata), load(accounting.used), get(oldSize), subtract, store(accounting.used)],
      ...[get(block), call(8)],
    ),
    ...[constant(0), giveBack],
  ),
  // For a new block the old size is a type tag, not a size.
  ...[get(newSize), get(oldSize), constant(0), get(block), select, subtract, set(growth)],
  ...[get(growth), constant(0), greaterSigned],
  when(
    ...[get(userdata), load(accounting.limit), get(userdata), load(accounting.used), lessUnsigned],
    ...[get(growth), get(userdata), load(accounting.limit), get(userdata), load(accounting.used), subtract],
    ...[greaterUnsigned, either],
    when(get(userdata), call(refuse), giveBack),
  ),
  ...[get(block), get(newSize), call(7), set(block)],
  ...[get(block), isZero],
  when(get(userdata), call(refuse), giveBack),
  ...[get(userdata), get(userdata), load(accounting.used), get(growth), add, store(accounting.used)],
  ...[get(growth), constant(0), greaterSigned],
  when(get(userdata), constant(0), store(accounting.refusals)),
  get(block),
]

const refuseBody = [
  ...[get(0), get(0), load(accounting.refusals), constant(1), add, store(accounting.refusals)],
  ...[get(0), get(0), load(accounting.exceeded), get(0), load(accounting.refusals), constant(1), shiftRight, either],
  ...[store(accounting.exceeded), constant(0)],
]

/** Functions 9 and up: type, number of 32-bit locals, body, name when exported. */
const defined = [
  { type: 9, locals: 1, body: allocateBody, name: 'allocate' },
  { type: 11, locals: 0, body: [get(0), get(1), get(2), [0xac], call(3)], name: 'setElement' },
  { type: 1, locals: 0, body: [get(0), get(1), get(2), [0xac], call(4)], name: 'getElement' },
  { type: 10, locals: 0, body: [get(0), get(1), [0xb0], call(5)], name: 'pushInteger' },
  { type: 7, locals: 0, body: [get(0), get(1), call(6), [0xa7]], name: 'rawLength' },
  { type: 0, locals: 0, body: refuseBody, name: '' },
] as const

function unsigned(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

function sized(bytes: readonly number[]): readonly number[] {
  return [...unsigned(bytes.length), ...bytes]
}

function text(value: string): readonly number[] {
  return sized([...Buffer.from(value, 'utf8')])
}

function section(id: number, entries: readonly (readonly number[])[]): readonly number[] {
  return [id, ...sized([...unsigned(entries.length), ...entries.flat()])]
}

function assemble(): Uint8Array<ArrayBuffer> {
  const memoryImport = [...text('lua'), ...text('memory'), 2, 0, 1]
  const functionImports = imported.map(([name, type]) => [...text('lua'), ...text(name), 0, type])
  const exported = [
    ...['call', 'resumed', 'hook'].map((name, index) => [...text(name), 0, index]),
    ...defined.flatMap(({ name }, index) => (name === '' ? [] : [[...text(name), 0, imported.length + index]])),
  ]
  const code = defined.map(({ locals, body }) => {
    const declared = locals === 0 ? [0] : [1, locals, i32]
    return sized([...declared, ...body.flat(), 0x0b])
  })
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, types.map(([takes, gives]) => [0x60, ...sized(takes), ...sized(gives)])),
    ...section(2, [memoryImport, ...functionImports]),
    ...section(3, defined.map(({ type }) => [type])),
    ...section(7, exported),
    ...section(10, code),
  ])
}

/**
 * A small WebAssembly module between Lua and JavaScript. It turns JavaScript functions into C function pointers, limits
 * memory without a call into JavaScript per allocation (spec/lua-engines.md 6 measured that at 2.6 times the cost), and
 * narrows 64-bit arguments. It is written here as instructions, so that nothing has to be built.
 */
export function createBridge(lua: LuaExports, calls: BridgeCalls): Bridge {
  const { Module, Instance } = webAssembly()
  const instance = new Instance(new Module(assemble()), { lua: { ...lua, ...calls } })
  return instance.exports as Bridge
}
