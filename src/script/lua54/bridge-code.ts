import {
  type Assembly,
  assemble,
  type Code,
  type ImportedFunction,
  add,
  and,
  breakIf,
  callFunction,
  callInTable,
  constant,
  continueFromWhen,
  continueLoop,
  equal,
  extend64,
  forever,
  get,
  greater64,
  greaterSigned,
  greaterUnsigned,
  isZero,
  leave,
  less64,
  lessUnsigned,
  load,
  notEqual,
  one64,
  or,
  select,
  sequence,
  set,
  store,
  subtract,
  truncate64,
  when,
  wrap32,
} from './wasm-code.ts'
import { luaType } from '../lua/api.ts'

/**
 * Layout of the record that counts the memory of one state: 32-bit cells, offsets in bytes. `refused` is the size of
 * the last request if it was refused; `exceeded` is nonzero once a refusal was final.
 */
export const accounting = { used: 0, limit: 4, refused: 8, exceeded: 12, size: 16 } as const

/** Functions of ours (BridgeCalls in bridge.ts). */
const imported = [
  { name: 'call', signature: 'ii' },
  { name: 'resumed', signature: 'iiii' },
  { name: 'hook', signature: 'vii' },
  { name: 'write', signature: 'iiiii' },
] as const satisfies readonly ImportedFunction[]

const inTable = [
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

/** Functions of Lua that the bridge calls, in the order of their indexes in the table. */
export const calledByBridge = inTable.map(({ name }) => name)

function call(name: (typeof calledByBridge)[number]): readonly number[] {
  return callInTable(inTable, calledByBridge.indexOf(name))
}

/** `refuse` is the first function after the imported ones. */
const callRefuse = callFunction(imported.length)

const [userdata, block, oldSize, newSize, growth] = [0, 1, 2, 3, 4]
const refusedSize = 1

/** `refuse(userdata, size)` records a refused request; the second one in a row is final. Returns the null pointer. */
const refuse: Code = [
  sequence(get(userdata), load(accounting.refused)),
  when(get(userdata), constant(1), store(accounting.exceeded)),
  sequence(get(userdata), get(refusedSize), store(accounting.refused), constant(0)),
]

/**
 * `lua_Alloc` with a limit. After a refusal Lua usually collects garbage and requests the same size again. The refusal
 * was final if the next request is refused too, or is for a different size (string buffers do not retry).
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
 * `keys(t, border)` of the prelude: the string keys of a table as a list, their number, and whether there are other
 * keys outside 1..border. Stack: 1 the table, 2 the border, 3 the list, 4 the key.
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

/** API functions with 64-bit parameters or results, narrowed: they do most of the reading and pushing of tables. */
const setElement: Code = [get(0), get(1), get(2), extend64, call('lua_rawseti')]
const getElement: Code = [get(0), get(1), get(2), extend64, call('lua_rawgeti')]
const pushInteger: Code = [get(0), get(1), truncate64, call('lua_pushinteger')]
const rawLength: Code = [get(0), get(1), call('lua_rawlen'), wrap32]

/** A C function that calls the imported one, given its index in the table. */
function passOn({ name, signature }: ImportedFunction, index: number): Assembly['functions'][number] {
  const parameters = Array.from({ length: signature.length - 1 }, (_, parameter) => get(parameter))
  return { name, signature, locals: 0, body: [...parameters, callFunction(index)] }
}

const bridgeCode: Assembly = {
  imports: { memory: true, functions: imported, table: { called: inTable } },
  functions: [
    { name: 'refuse', signature: 'iii', locals: 0, body: refuse },
    { name: 'allocate', signature: 'iiiii', locals: 1, body: allocate },
    { name: 'keys', signature: 'ii', locals: 2, body: keys },
    { name: 'setElement', signature: 'viii', locals: 0, body: setElement },
    { name: 'getElement', signature: 'iiii', locals: 0, body: getElement },
    { name: 'pushInteger', signature: 'vid', locals: 0, body: pushInteger },
    { name: 'rawLength', signature: 'iii', locals: 0, body: rawLength },
    ...imported.map(passOn),
  ],
}

/** The module between Lua and JavaScript (bridge.ts), as WebAssembly. The build replaces this file with its bytes. */
export function bridgeModule(): Uint8Array {
  return assemble(bridgeCode)
}
