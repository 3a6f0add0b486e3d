import {
  add,
  and,
  assemble,
  type Code,
  constant,
  exclusiveOr,
  get,
  lessUnsigned,
  load,
  or,
  repeatWhile,
  rotateLeft,
  rotateRight,
  sequence,
  set,
  shiftRight,
  store,
} from './wasm-code.ts'

/** The memory layout of the instance: the message schedule, the round constants, the state, and the block. */
export const layout = { scheduleAt: 0, constantsAt: 256, stateAt: 512, blockAt: 576 } as const
const { scheduleAt, constantsAt, stateAt, blockAt } = layout
const blockBytes = 64

/** Local variables. The counters are in bytes. */
const [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7]
const state = [a, b, c, d, e, f, g, h]
const [at, sum, word] = [8, 9, 10]

const rotated = (local: number, by: number): Code => [get(local), constant(by), rotateRight]
const shifted = (local: number, by: number): Code => [get(local), constant(by), shiftRight]
const mixed = (first: Code, second: Code, third: Code): readonly number[] =>
  sequence(...first, ...second, exclusiveOr, ...third, exclusiveOr)
/** A word of the schedule before the one being computed. */
const before = (words: number): readonly number[] => sequence(get(at), load(scheduleAt + blockBytes - 4 * words))
const next = (end: number): readonly number[] =>
  sequence(get(at), constant(4), add, set(at), get(at), constant(end), lessUnsigned)

/** Mixes the block into the state. */
const compress: Code = [
  // words are big-endian in the block
  repeatWhile(
    sequence(get(at), get(at), load(blockAt), set(word)),
    sequence(get(word), constant(8), rotateLeft, constant(0x00ff00ff), and),
    sequence(get(word), constant(8), rotateRight, constant(0xff00ff00 | 0), and, or, store(scheduleAt)),
    next(blockBytes),
  ),
  sequence(constant(0), set(at)),
  repeatWhile(
    sequence(get(at), before(16), before(7), add),
    sequence(before(15), set(word)),
    sequence(mixed(rotated(word, 7), rotated(word, 18), shifted(word, 3)), add),
    sequence(before(2), set(word)),
    sequence(mixed(rotated(word, 17), rotated(word, 19), shifted(word, 10)), add, store(scheduleAt + blockBytes)),
    next(constantsAt - blockBytes),
  ),
  ...state.map((local) => sequence(constant(stateAt + 4 * local), load(0), set(local))),
  sequence(constant(0), set(at)),
  repeatWhile(
    sequence(get(h), mixed(rotated(e, 6), rotated(e, 11), rotated(e, 25)), add),
    sequence(get(g), get(e), get(f), get(g), exclusiveOr, and, exclusiveOr, add),
    sequence(get(at), load(constantsAt), add, get(at), load(scheduleAt), add, set(sum)),
    sequence(get(g), set(h), get(f), set(g), get(e), set(f), get(d), get(sum), add, set(e), get(c), set(d)),
    sequence(get(sum), mixed(rotated(a, 2), rotated(a, 13), rotated(a, 22)), add),
    sequence(get(a), get(b), and, get(c), get(a), get(b), exclusiveOr, and, exclusiveOr, add, set(sum)),
    sequence(get(b), set(c), get(a), set(b), get(sum), set(a)),
    next(constantsAt),
  ),
  ...state.map((local) =>
    sequence(constant(stateAt + 4 * local), constant(stateAt + 4 * local), load(0), get(local), add, store(0)),
  ),
]

/**
 * Mixes one block into the state (sha256.ts), as WebAssembly. The build replaces this file with the resulting bytes.
 */
export function sha256Module(): Uint8Array {
  const functions = [{ name: 'compress', signature: 'v', locals: 11, body: compress }]
  return assemble({ imports: { memory: true }, functions })
}
