import { luaType } from '../lua/constants.ts'
import {
  add,
  again,
  type Assembly,
  both,
  type Code,
  constant,
  different,
  either,
  equal,
  forever,
  get,
  giveBack,
  greaterSigned,
  greaterUnsigned,
  greaterWide,
  isZero,
  leaveWhenTrue,
  lessUnsigned,
  lessWide,
  load,
  narrow,
  next,
  select,
  set,
  step,
  store,
  subtract,
  type ImportedFunction,
  when,
  wideOne,
  widen,
  widenDouble,
} from './assembly.ts'

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

/** `refuse(userdata, size)` notes a refused request; the second one in a row is final. Gives the null pointer. */
const refuse: Code = [
  step(get(userdata), load(accounting.refused)),
  when(get(userdata), constant(1), store(accounting.exceeded)),
  step(get(userdata), get(refusedSize), store(accounting.refused), constant(0)),
]

/**
 * `lua_Alloc` with a limit. A refusal is not the end: Lua mostly collects garbage and asks for the same size again. It was
 * final when the next request is refused too, or is for another size (string buffers do not ask twice).
 */
const allocate: Code = [
  step(get(newSize), isZero),
  when(
    get(block),
    when(
      step(get(userdata), get(userdata), load(accounting.used), get(oldSize), subtract, store(accounting.used)),
      step(get(block), call('free')),
    ),
    step(constant(0), giveBack),
  ),
  // For a new block the old size is a type tag, not a size.
  step(get(newSize), get(oldSize), constant(0), get(block), select, subtract, set(growth)),
  step(get(growth), constant(0), greaterSigned),
  when(
    step(get(userdata), load(accounting.refused), constant(0), different),
    step(get(userdata), load(accounting.refused), get(newSize), different, both),
    when(get(userdata), constant(1), store(accounting.exceeded)),
    step(get(userdata), load(accounting.limit), get(userdata), load(accounting.used), lessUnsigned),
    step(get(growth), get(userdata), load(accounting.limit), get(userdata), load(accounting.used), subtract),
    step(greaterUnsigned, either),
    when(get(userdata), get(newSize), callRefuse, giveBack),
  ),
  step(get(block), get(newSize), call('realloc'), set(block)),
  step(get(block), isZero),
  when(get(userdata), get(newSize), callRefuse, giveBack),
  step(get(userdata), get(userdata), load(accounting.used), get(growth), add, store(accounting.used)),
  step(get(growth), constant(0), greaterSigned),
  when(get(userdata), constant(0), store(accounting.refused)),
  get(block),
]

const [thread, found, others] = [0, 1, 2]

/**
 * `keys(t, border)` of the prelude: the string keys of a table as a list, their number, and whether there are keys other
 * than those and 1..border. Stack: 1 the table, 2 the border, 3 the list, 4 the key.
 */
const keys: Code = [
  step(get(thread), constant(2), call('lua_settop')),
  step(get(thread), constant(0), constant(0), call('lua_createtable')),
  step(get(thread), call('lua_pushnil')),
  forever(
    step(get(thread), constant(1), call('lua_next'), isZero, leaveWhenTrue),
    step(get(thread), constant(4), call('lua_settop')),
    step(get(thread), constant(4), call('lua_type'), constant(luaType.string), equal),
    when(
      step(get(thread), constant(4), call('lua_pushvalue')),
      step(get(found), constant(1), add, set(found)),
      step(get(thread), constant(3), get(found), widen, call('lua_rawseti'), again),
    ),
    step(get(thread), constant(4), call('lua_isinteger'), isZero),
    when(constant(1), set(others), again),
    step(get(thread), constant(4), constant(0), call('lua_tointegerx'), wideOne, lessWide),
    step(get(thread), constant(4), constant(0), call('lua_tointegerx')),
    step(get(thread), constant(2), constant(0), call('lua_tointegerx'), greaterWide, either),
    when(constant(1), set(others)),
    next,
  ),
  step(get(thread), get(found), widen, call('lua_pushinteger')),
  step(get(thread), get(others), call('lua_pushboolean')),
  constant(3),
]

/** API functions with 64-bit parameters or results, narrowed. */
const setElement: Code = [get(0), get(1), get(2), widen, call('lua_rawseti')]
const getElement: Code = [get(0), get(1), get(2), widen, call('lua_rawgeti')]
const pushInteger: Code = [get(0), get(1), widenDouble, call('lua_pushinteger')]
const rawLength: Code = [get(0), get(1), call('lua_rawlen'), narrow]

export const bridgeCode: Assembly = {
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
