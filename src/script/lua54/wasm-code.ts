// An assembler for small WebAssembly modules. The command contains the assembled bytes: see the build.

/** WebAssembly instructions in the binary format. A piece of code is a list of them, in order. */
export type Code = readonly (readonly number[])[]

const i32 = 0x7f
const i64 = 0x7e
const f64 = 0x7c
const functionReference = 0x70

/** Function types are written as C signatures: `i` is an `int` or pointer, `j` a 64-bit integer, `d` a double, `v` nothing. */
const valueTypes: Readonly<Record<string, readonly number[]>> = { i: [i32], j: [i64], d: [f64], v: [] }

/** Instructions that belong together, on one line of the source. */
export const sequence = (...instructions: Code): readonly number[] => instructions.flat()
export const get = (local: number): readonly number[] => [0x20, local]
export const set = (local: number): readonly number[] => [0x21, local]
export const constant = (value: number): readonly number[] => [0x41, ...signed(value)]
/** 32-bit cells; the address is on the stack. */
export const load = (offset: number): readonly number[] => [0x28, 2, ...unsigned(offset)]
export const store = (offset: number): readonly number[] => [0x36, 2, ...unsigned(offset)]
/** Runs the code if the number on the stack is not 0. */
export const when = (...body: Code): readonly number[] => [0x04, 0x40, ...body.flat(), 0x0b]
/**
 * Repeats until `breakIf` directly inside it. `continueLoop` directly inside, or `continueFromWhen` inside one `when`,
 * starts the next iteration.
 */
export const forever = (...body: Code): readonly number[] => [0x02, 0x40, 0x03, 0x40, ...body.flat(), 0x0b, 0x0b]
export const breakIf = [0x0d, 1]
export const continueLoop = [0x0c, 0]
export const continueFromWhen = [0x0c, 1]
export const leave = [0x0f]
/** Calls a function of the module, by its number. */
export const callFunction = (index: number): readonly number[] => [0x10, index]
/** With three values on the stack: the first if the third is not 0, otherwise the second. */
export const select = [0x1b]
export const isZero = [0x45]
export const equal = [0x46]
export const notEqual = [0x47]
export const greaterSigned = [0x4a]
export const lessUnsigned = [0x49]
export const greaterUnsigned = [0x4b]
export const add = [0x6a]
export const subtract = [0x6b]
export const and = [0x71]
export const or = [0x72]
/** 64 bits: the constant 1, comparisons, and conversions from and to 32 bits and from a double. */
export const one64 = [0x42, 1]
export const less64 = [0x53]
export const greater64 = [0x55]
export const extend64 = [0xac]
export const wrap32 = [0xa7]
export const truncate64 = [0xb0]
export const zeroDouble = [0x44, 0, 0, 0, 0, 0, 0, 0, 0]
/** Traps: ends the instance. */
export const unreachable = [0x00]

const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]

export interface ImportedFunction {
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

/**
 * Functions that are called through a table instead of being imported: for each type of imported function V8 compiles a
 * call to JavaScript, which takes a tenth of a millisecond each.
 */
export interface TableCalls {
  /** Called from the table, in table order. */
  readonly called: readonly ImportedFunction[]
}

/** Calls the function at this position of `called`; its table index is this position plus the global `first`. */
export function callInTable(called: TableCalls['called'], position: number): readonly number[] {
  const type = signaturesOf(called).indexOf(called[position]?.signature ?? '')
  return [...sequence([0x23, 0], constant(position), add), 0x11, type, 0]
}

export interface Assembly {
  /** All from the module `host`. */
  readonly imports: {
    readonly memory?: true
    readonly functions?: readonly ImportedFunction[]
    /** Also imports the table, as `table`, and the global `first`. */
    readonly table?: TableCalls
  }
  /** Numbered after the imported functions. All of them are exported. */
  readonly functions: readonly DefinedFunction[]
}

/** The bytes of a WebAssembly module. */
export function assemble({ imports, functions }: Assembly): Uint8Array<ArrayBuffer> {
  const { memory, functions: imported = [], table } = imports
  const signatures = signaturesOf([...(table?.called ?? []), ...imported, ...functions])
  const typeOf = ({ signature }: { readonly signature: string }): number => signatures.indexOf(signature)
  const host = (name: string, kind: readonly number[]): readonly number[] => [...text('host'), ...text(name), ...kind]
  return Uint8Array.from([
    ...header,
    ...section(1, signatures.map(functionType)),
    ...section(2, [
      ...(memory === undefined ? [] : [host('memory', [2, 0, 1])]),
      ...(table === undefined ? [] : [host('table', [1, functionReference, 0, 0]), host('first', [3, i32, 0])]),
      ...imported.map((known) => host(known.name, [0, typeOf(known)])),
    ]),
    ...section(
      3,
      functions.map((defined) => [typeOf(defined)]),
    ),
    ...section(
      7,
      functions.map(({ name }, index) => [...text(name), 0, imported.length + index]),
    ),
    ...section(10, functions.map(functionBody)),
  ])
}

function signaturesOf(functions: readonly { readonly signature: string }[]): readonly string[] {
  return [...new Set(functions.map(({ signature }) => signature))]
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

function signed(value: number): readonly number[] {
  const rest = value >> 7
  const isLast = rest === ((value & 0x40) === 0 ? 0 : -1)
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(rest)]
}
