import { luaType, type Thread } from '../lua/api.ts'
import { type LuaExports, type Pointer, webAssembly } from './webassembly.ts'

/** WebAssembly instructions in the binary format. A piece of code is a list of them, in order. */
type Code = readonly (readonly number[])[]

const i32 = 0x7f
const i64 = 0x7e
const f64 = 0x7c

/** Function types are written as C signatures: `i` is an `int` or pointer, `j` a 64-bit integer, `d` a double, `v` nothing. */
const valueTypes: Readonly<Record<string, readonly number[]>> = { i: [i32], j: [i64], d: [f64], v: [] }

/** Instructions that belong together, on one line of the source. */
const sequence = (...instructions: Code): readonly number[] => instructions.flat()
const get = (local: number): readonly number[] => [0x20, local]
const set = (local: number): readonly number[] => [0x21, local]
/** A constant from 0 to 63. */
const constant = (value: number): readonly number[] => [0x41, value]
/** 32-bit cells; the address is on the stack. */
const load = (offset: number): readonly number[] => [0x28, 2, offset]
const store = (offset: number): readonly number[] => [0x36, 2, offset]
/** Runs the code when the number on the stack is not 0. */
const when = (...body: Code): readonly number[] => [0x04, 0x40, ...body.flat(), 0x0b]
/** Repeats until `breakIf` directly inside it. `continueLoop` directly inside, or `continueFromWhen` inside one `when`, starts over. */
const forever = (...body: Code): readonly number[] => [0x02, 0x40, 0x03, 0x40, ...body.flat(), 0x0b, 0x0b]
const breakIf = [0x0d, 1]
const continueLoop = [0x0c, 0]
const continueFromWhen = [0x0c, 1]
const leave = [0x0f]
/** With three values on the stack: the first when the third is not 0, otherwise the second. */
const select = [0x1b]
const isZero = [0x45]
const equal = [0x46]
const notEqual = [0x47]
const greaterSigned = [0x4a]
const lessUnsigned = [0x49]
const greaterUnsigned = [0x4b]
const add = [0x6a]
const subtract = [0x6b]
const and = [0x71]
const or = [0x72]
/** 64 bits: the constant 1, comparisons, and conversions from and to 32 bits and from a double. */
const one64 = [0x42, 1]
const less64 = [0x53]
const greater64 = [0x55]
const extend64 = [0xac]
const wrap32 = [0xa7]
const truncate64 = [0xb0]

const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]

interface ImportedFunction {
  readonly name: string
  readonly signature: string
}

interface DefinedFunction {
  readonly name: string
  readonly signature: string
  /** Local variables of 32 bits, numbered after the parameters. */
  readonly locals: number
  readonly body: Code
}

interface Assembly {
  /** All from the module `lua`, together with its `memory`. */
  readonly imports: readonly ImportedFunction[]
  /** Functions are numbered from the imports on. All of them and the imports in `passedOn` are exported. */
  readonly functions: readonly DefinedFunction[]
  readonly passedOn: readonly string[]
}

/** The bytes of a WebAssembly module. */
function assemble({ imports, functions, passedOn }: Assembly): Uint8Array<ArrayBuffer> {
  const signatures = [...new Set([...imports, ...functions].map(({ signature }) => signature))]
  const typeOf = ({ signature }: { readonly signature: string }): number => signatures.indexOf(signature)
  const exported = [
    ...passedOn.map((name) => [...text(name), 0, imports.findIndex((known) => known.name === name)]),
    ...functions.map(({ name }, index) => [...text(name), 0, imports.length + index]),
  ]
  const memory = [...text('lua'), ...text('memory'), 2, 0, 1]
  return Uint8Array.from([
    ...header,
    ...section(1, signatures.map(functionType)),
    ...section(2, [memory, ...imports.map((known) => [...text('lua'), ...text(known.name), 0, typeOf(known)])]),
    ...section(
      3,
      functions.map((defined) => [typeOf(defined)]),
    ),
    ...section(7, exported),
    ...section(10, functions.map(functionBody)),
  ])
}

/** The first letter of a signature is the result. */
function functionType(signature: string): readonly number[] {
  const [result = [], ...parameters] = signature.split('').map((letter) => valueTypes[letter] ?? [])
  return [0x60, ...sized(parameters.flat()), ...sized(result)]
}

function functionBody({ locals, body }: DefinedFunction): readonly number[] {
  const declared = locals === 0 ? [0] : [1, locals, i32]
  return sized([...declared, ...body.flat(), 0x0b])
}

function section(id: number, entries: Code): readonly number[] {
  return [id, ...sized([...unsigned(entries.length), ...entries.flat()])]
}

function sized(bytes: readonly number[]): readonly number[] {
  return [...unsigned(bytes.length), ...bytes]
}

function text(value: string): readonly number[] {
  return sized([...Buffer.from(value, 'utf8')])
}

function unsigned(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

/**
 * Layout of the record that counts the memory of one state: 32-bit cells, offsets in bytes. `refused` is the size of the
 * last request when it was refused, `exceeded` is not 0 once a refusal was final.
 */
export const accounting = { used: 0, limit: 4, refused: 8, exceeded: 12, size: 16 } as const

const imports = [
  { name: 'call', signature: 'ii' },
  { name: 'resumed', signature: 'iiii' },
  { name: 'hook', signature: 'vii' },
  { name: 'write', signature: 'iiiii' },
  { name: 'realloc', signature: 'iii' },
  { name: 'free', signature: 'vi' },
  { name: 'lua_rawseti', signature: 'viij' },
  { name: 'lua_rawgeti', signature: 'iiij' },
  { name: 'lua_pushinteger', signature: 'vij' },
  { name: 'lua_rawlen', signature: 'jii' },
  { name: 'lua_settop', signature: 'vii' },
  { name: 'lua_createtable', signature: 'viii' },
  { name: 'lua_pushnil', signature: 'vi' },
  { name: 'lua_next', signature: 'iii' },
  { name: 'lua_type', signature: 'iii' },
  { name: 'lua_pushvalue', signature: 'vii' },
  { name: 'lua_isinteger', signature: 'iii' },
  { name: 'lua_tointegerx', signature: 'jiii' },
  { name: 'lua_pushboolean', signature: 'vii' },
] as const satisfies readonly ImportedFunction[]

function call(name: (typeof imports)[number]['name']): readonly number[] {
  return [0x10, imports.findIndex((known) => known.name === name)]
}

/** `refuse` is the first function after the imports. */
const callRefuse = [0x10, imports.length]

const [userdata, block, oldSize, newSize, growth] = [0, 1, 2, 3, 4]
const refusedSize = 1

/** `refuse(userdata, size)` records a refused request; the second one in a row is final. Returns the null pointer. */
const refuse: Code = [
  sequence(get(userdata), load(accounting.refused)),
  when(get(userdata), constant(1), store(accounting.exceeded)),
  sequence(get(userdata), get(refusedSize), store(accounting.refused), constant(0)),
]

/**
 * `lua_Alloc` with a limit. After a refusal Lua mostly collects garbage and asks for the same size again. The refusal was
 * final when the next request is refused too, or is for a different size (string buffers do not ask twice).
 */
const allocate: Code = [
  sequence(get(newSize), isZero),
  when(
    get(block),
    when(
      sequence(get(userdata), get(userdata), load(accounting.used), get(oldSize), subtract, store(accounting.used)),
      sequence(get(block), call('free')),
    ),
    sequence(constant(0), leave),
  ),
  // For a new block the old size is a type tag, not a size.
  sequence(get(newSize), get(oldSize), constant(0), get(block), select, subtract, set(growth)),
  sequence(get(growth), constant(0), greaterSigned),
  when(
    sequence(get(userdata), load(accounting.refused), constant(0), notEqual),
    sequence(get(userdata), load(accounting.refused), get(newSize), notEqual, and),
    when(get(userdata), constant(1), store(accounting.exceeded)),
    sequence(get(userdata), load(accounting.limit), get(userdata), load(accounting.used), lessUnsigned),
    sequence(get(growth), get(userdata), load(accounting.limit), get(userdata), load(accounting.used), subtract),
    sequence(greaterUnsigned, or),
    when(get(userdata), get(newSize), callRefuse, leave),
  ),
  sequence(get(block), get(newSize), call('realloc'), set(block)),
  sequence(get(block), isZero),
  when(get(userdata), get(newSize), callRefuse, leave),
  sequence(get(userdata), get(userdata), load(accounting.used), get(growth), add, store(accounting.used)),
  sequence(get(growth), constant(0), greaterSigned),
  when(get(userdata), constant(0), store(accounting.refused)),
  get(block),
]

const [thread, found, others] = [0, 1, 2]

/**
 * `keys(t, border)` of the prelude: the string keys of a table as a list, their number, and whether there are keys other
 * than those and 1..border. Stack: 1 the table, 2 the border, 3 the list, 4 the key.
 */
const keys: Code = [
  sequence(get(thread), constant(2), call('lua_settop')),
  sequence(get(thread), constant(0), constant(0), call('lua_createtable')),
  sequence(get(thread), call('lua_pushnil')),
  forever(
    sequence(get(thread), constant(1), call('lua_next'), isZero, breakIf),
    sequence(get(thread), constant(4), call('lua_settop')),
    sequence(get(thread), constant(4), call('lua_type'), constant(luaType.string), equal),
    when(
      sequence(get(thread), constant(4), call('lua_pushvalue')),
      sequence(get(found), constant(1), add, set(found)),
      sequence(get(thread), constant(3), get(found), extend64, call('lua_rawseti'), continueFromWhen),
    ),
    sequence(get(thread), constant(4), call('lua_isinteger'), isZero),
    when(constant(1), set(others), continueFromWhen),
    sequence(get(thread), constant(4), constant(0), call('lua_tointegerx'), one64, less64),
    sequence(get(thread), constant(4), constant(0), call('lua_tointegerx')),
    sequence(get(thread), constant(2), constant(0), call('lua_tointegerx'), greater64, or),
    when(constant(1), set(others)),
    continueLoop,
  ),
  sequence(get(thread), get(found), extend64, call('lua_pushinteger')),
  sequence(get(thread), get(others), call('lua_pushboolean')),
  constant(3),
]

/** API functions with 64-bit parameters or results, narrowed: reading and pushing of tables is mostly these. */
const setElement: Code = [get(0), get(1), get(2), extend64, call('lua_rawseti')]
const getElement: Code = [get(0), get(1), get(2), extend64, call('lua_rawgeti')]
const pushInteger: Code = [get(0), get(1), truncate64, call('lua_pushinteger')]
const rawLength: Code = [get(0), get(1), call('lua_rawlen'), wrap32]

const bridgeCode: Assembly = {
  imports,
  passedOn: ['call', 'resumed', 'hook', 'write'],
  functions: [
    { name: 'refuse', signature: 'iii', locals: 0, body: refuse },
    { name: 'allocate', signature: 'iiiii', locals: 1, body: allocate },
    { name: 'keys', signature: 'ii', locals: 2, body: keys },
    { name: 'setElement', signature: 'viii', locals: 0, body: setElement },
    { name: 'getElement', signature: 'iiii', locals: 0, body: getElement },
    { name: 'pushInteger', signature: 'vid', locals: 0, body: pushInteger },
    { name: 'rawLength', signature: 'iii', locals: 0, body: rawLength },
  ],
}

/** JavaScript functions that Lua calls through a C function pointer. */
export interface BridgeCalls {
  /** Body of every host function (`lua_CFunction`). */
  readonly call: (thread: Pointer) => number
  /** Continues after a wait (`lua_KFunction`); `context` is the number given to `lua_yieldk`. */
  readonly resumed: (thread: Pointer, status: number, context: number) => number
  /** Runs every thousand instructions (`lua_Hook`). */
  readonly hook: (thread: Pointer, record: Pointer) => void
  /** Takes a piece of a dumped function (`lua_Writer`); 0 continues. */
  readonly write: (thread: Pointer, block: Pointer, size: number) => number
}

/** Functions for the function table, and API functions with 64-bit numbers narrowed, so that no BigInt is made. */
export interface Bridge {
  readonly call: unknown
  readonly resumed: unknown
  readonly hook: unknown
  readonly write: unknown
  readonly allocate: unknown
  readonly keys: unknown
  readonly setElement: (thread: Thread, table: number, index: number) => void
  readonly getElement: (thread: Thread, table: number, index: number) => void
  readonly pushInteger: (thread: Thread, safeInteger: number) => void
  readonly rawLength: (thread: Thread, index: number) => number
}

/**
 * A small WebAssembly module between Lua and JavaScript. It turns JavaScript functions into C function pointers, limits
 * memory without a call into JavaScript per allocation (which would take 2.6 times as long),
 * collects keys for `pairs`, and narrows 64-bit arguments. It is assembled here, so that nothing has to be built.
 */
export function createBridge(lua: LuaExports, calls: BridgeCalls): Bridge {
  const { Module, Instance } = webAssembly()
  const instance = new Instance(new Module(assemble(bridgeCode)), { lua: { ...lua, ...calls } })
  return instance.exports as Bridge
}
