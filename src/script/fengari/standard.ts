import { luaType } from '../lua/api.ts'
import { encode, type FengariApi, type FengariThread, isInteger32, type NativeFunction } from './library.ts'
import { fixed, hexadecimal, scientific, shortest } from './number-text.ts'

/** Standard functions that fengari lacks or implements incorrectly, by their path from the globals. */
export function standardFunctions(api: FengariApi): Readonly<Record<string, NativeFunction>> {
  const random = createRandomNumbers()
  return {
    collectgarbage: (thread) => collectGarbage(api, thread),
    'string.format': createFormat(api),
    'string.rep': (thread) => repeat(api, thread),
    'math.random': (thread) => {
      pushNumber(api, thread, pick(api, thread, random.next()))
      return 1
    },
    'math.randomseed': (thread) => {
      random.seed(api.luaL_checknumber(thread, 1))
      return 0
    },
    'debug.traceback': (thread) => traceback(api, thread),
    'debug.getmetatable': (thread) => {
      if (!api.lua_getmetatable(thread, 1)) api.lua_pushnil(thread)
      return 1
    },
    'debug.setmetatable': (thread) => {
      api.lua_settop(thread, 2)
      api.lua_setmetatable(thread, 1)
      return 1
    },
  }
}

/** JavaScript decides when to collect garbage; `count` is the heap of the whole process in kilobytes. */
function collectGarbage(api: FengariApi, thread: FengariThread): number {
  const option = api.lua_tolstring(thread, 1)?.[0]
  if (option === 'c'.charCodeAt(0) && api.lua_tolstring(thread, 1)?.length === 5) {
    api.lua_pushnumber(thread, process.memoryUsage().heapUsed / 1024)
  } else if (option === 's'.charCodeAt(0)) api.lua_pushboolean(thread, true)
  else api.lua_pushinteger(thread, 0)
  return 1
}

/** `string.rep`, which fengari copies piece by piece. A result that would be too long is refused in advance. */
function repeat(api: FengariApi, thread: FengariThread): number {
  const text = api.luaL_checklstring(thread, 1)
  const times = checkInteger({ api, thread, index: 2 })
  const between = api.lua_type(thread, 3) > luaType.nil ? api.luaL_checklstring(thread, 3) : new Uint8Array(0)
  const length = times < 1 ? 0 : times * text.length + (times - 1) * between.length
  const { account } = thread.l_G
  if (account !== undefined && length > account.longest) account.check(thread, length)
  api.lua_pushstring(thread, length === 0 ? new Uint8Array(0) : Buffer.alloc(length, Buffer.concat([text, between])))
  return 1
}

/** `math.random()` returns a float below 1, `(0)` a 32-bit integer, `(m)` one of 1..m, `(m, n)` one of m..n. */
function pick(api: FengariApi, thread: FengariThread, part: number): number {
  const count = api.lua_gettop(thread)
  if (count === 0) return part
  const first = checkInteger({ api, thread, index: 1 })
  if (count === 1 && first === 0) return Math.floor(part * 2 ** 32) | 0
  const [low, high] = count === 1 ? [1, first] : [first, checkInteger({ api, thread, index: 2 })]
  if (low > high) return failArgument({ api, thread, index: count === 1 ? 1 : 2 }, 'interval is empty')
  return low + Math.floor(part * (high - low + 1))
}

function pushNumber(api: FengariApi, thread: FengariThread, value: number): void {
  if (isInteger32(value) && api.lua_gettop(thread) > 0) api.lua_pushinteger(thread, value)
  else api.lua_pushnumber(thread, value)
}

/** `traceback([thread,] [message [, level]])`: a message that is neither text nor nil is returned unchanged. */
function traceback(api: FengariApi, thread: FengariThread): number {
  const other = api.lua_type(thread, 1) === luaType.none ? null : api.lua_tothread(thread, 1)
  const first = other === null ? 1 : 2
  const type = api.lua_type(thread, first)
  if (type > luaType.nil && type !== luaType.string && type !== luaType.number) {
    api.lua_pushvalue(thread, first)
    return 1
  }
  const message = type > luaType.nil ? api.lua_tolstring(thread, first) : null
  const level = api.lua_type(thread, first + 1) === luaType.number ? api.lua_tonumber(thread, first + 1) : undefined
  api.luaL_traceback(thread, other ?? thread, message, level ?? (other === null || other === thread ? 1 : 0))
  return 1
}

/**
 * `keys(t, border)` of the prelude: the string keys of a table as a list, their number, and whether there are other
 * keys outside 1..border.
 */
export function collectKeys(api: FengariApi, thread: FengariThread): number {
  const border = api.lua_tonumber(thread, 2)
  let found = 0
  let hasOthers = false
  api.lua_settop(thread, 2)
  api.lua_createtable(thread, 0, 0)
  api.lua_pushnil(thread)
  while (api.lua_next(thread, 1)) {
    api.lua_settop(thread, 4)
    if (api.lua_type(thread, 4) === luaType.string) {
      api.lua_pushvalue(thread, 4)
      api.lua_rawseti(thread, 3, ++found)
    } else if (api.lua_isinteger(thread, 4)) {
      const key = api.lua_tonumber(thread, 4)
      hasOthers ||= key < 1 || key > border
    } else hasOthers = true
  }
  api.lua_pushinteger(thread, found)
  api.lua_pushboolean(thread, hasOthers)
  return 3
}

/**
 * The generator sfc32 (Chris Doty-Humphrey's Small Fast Counting). `next` returns a number from 0 to below 1, with 53
 * bits.
 */
function createRandomNumbers() {
  let [a, b, c, counter] = [0, 0, 0, 1]

  const word = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  const seed = (value: number): void => {
    const bits = new DataView(new ArrayBuffer(8))
    bits.setFloat64(0, value)
    a = bits.getInt32(0)
    b = bits.getInt32(4)
    c = 0x2f_6e_2b_1
    counter = 1
    for (let round = 0; round < 15; round++) word()
  }
  return { seed, next: () => ((word() >>> 5) * 0x4_00_00_00 + (word() >>> 6)) / 2 ** 53 }
}

/** An argument of a native function, counted from 1. */
interface Argument {
  readonly api: FengariApi
  readonly thread: FengariThread
  readonly index: number
}

/** An integer of at most 64 bits. Raises a Lua error for other values. */
function checkInteger(argument: Argument): number {
  const value = argument.api.luaL_checknumber(argument.thread, argument.index)
  if (Number.isInteger(value) && Math.abs(value) <= 2 ** 63) return value
  return failArgument(argument, 'number has no integer representation')
}

function failArgument({ api, thread, index }: Argument, message: string): never {
  return api.luaL_argerror(thread, index, encode(message))
}

interface Conversion {
  readonly letter: string
  readonly flags: string
  readonly width: number
  readonly precision: number | undefined
}

/**
 * `string.format`. fengari's own version refuses integers outside 32 bits and follows C only roughly. Text is handled
 * with one character per byte.
 */
function createFormat(api: FengariApi): NativeFunction {
  return (thread) => {
    const format = latin1(api.luaL_checklstring(thread, 1))
    let index = 1
    const text = format.replaceAll(/%(?:%|([-+ #0]*)(\d*)(?:(\.)(\d*))?(.?))/gs, (...match: readonly string[]) => {
      const [whole = '', flags = '', width = '', dot, precision = '', letter = ''] = match
      if (whole === '%%') return '%'
      if (letter === '' || width.length > 2 || precision.length > 2 || flags.length > 5) {
        return fail({ api, thread, index }, `invalid conversion '${whole}' to 'format'`)
      }
      index++
      return convert(
        { letter, flags, width: Number(width), precision: dot === undefined ? undefined : Number(precision) },
        { api, thread, index },
      )
    })
    api.lua_pushstring(thread, Buffer.from(text, 'latin1'))
    return 1
  }
}

function convert(conversion: Conversion, argument: Argument): string {
  const { letter, precision } = conversion
  switch (letter) {
    case 'd':
    case 'i':
      return padNumber(conversion, integerText(BigInt(checkInteger(argument)), conversion))
    case 'x':
    case 'X':
    case 'o':
      return padNumber(conversion, unsignedText(BigInt(checkInteger(argument)), conversion))
    case 'c':
      return pad(conversion, String.fromCharCode(checkInteger(argument) & 0xff))
    case 'e':
    case 'E':
      return float(conversion, argument, (value) => scientific(value, precision ?? 6))
    case 'f':
    case 'F':
      return float(conversion, argument, (value) => fixed(value, precision ?? 6))
    case 'g':
    case 'G':
      return float(conversion, argument, (value) =>
        shortest(value, { precision: precision ?? 6, keepsZeros: conversion.flags.includes('#') }),
      )
    case 'a':
    case 'A':
      return float(conversion, argument, hexadecimal)
    case 'q':
      return quoted(argument)
    case 's':
      return pad(conversion, anyText(argument).slice(0, precision ?? Infinity))
    default:
      return fail(argument, `invalid conversion '%${letter}' to 'format'`)
  }
}

function float(conversion: Conversion, argument: Argument, write: (value: number) => string): string {
  const value = argument.api.luaL_checknumber(argument.thread, argument.index)
  const text = withSign(conversion, write(value))
  const isUpper = conversion.letter >= 'A' && conversion.letter <= 'Z'
  const shown = isUpper ? text.toUpperCase() : text
  return Number.isFinite(value) ? padNumber({ ...conversion, precision: undefined }, shown) : pad(conversion, shown)
}

function integerText(value: bigint, conversion: Conversion): string {
  const digits = String(value < 0n ? -value : value).padStart(conversion.precision ?? 1, '0')
  return withSign(conversion, value < 0n ? `-${digits}` : digits)
}

function unsignedText(value: bigint, { letter, flags, precision }: Conversion): string {
  const digits = BigInt.asUintN(64, value)
    .toString(letter === 'o' ? 8 : 16)
    .padStart(precision ?? 1, '0')
  const mark = flags.includes('#') && value !== 0n ? (letter === 'o' ? '0' : '0x') : ''
  return letter === 'X' ? (mark + digits).toUpperCase() : mark + digits
}

function withSign({ flags }: Conversion, text: string): string {
  if (text.startsWith('-')) return text
  if (flags.includes('+')) return `+${text}`
  return flags.includes(' ') ? ` ${text}` : text
}

/** The flag 0 puts zeros between the sign and the digits, unless a precision gives the number of digits. */
function padNumber(conversion: Conversion, text: string): string {
  const { flags, width, precision } = conversion
  if (!flags.includes('0') || flags.includes('-') || precision !== undefined) return pad(conversion, text)
  const [sign = ''] = /^[-+ ]?(?:0[xX])?/.exec(text) ?? []
  return sign + text.slice(sign.length).padStart(width - sign.length, '0')
}

function pad({ flags, width }: Conversion, text: string): string {
  return flags.includes('-') ? text.padEnd(width) : text.padStart(width)
}

/** A literal that Lua reads back as the same value. */
function quoted(argument: Argument): string {
  const { api, thread, index } = argument
  switch (api.lua_type(thread, index)) {
    case luaType.nil:
    case luaType.boolean:
      return anyText(argument)
    case luaType.number: {
      const value = api.lua_tonumber(thread, index)
      if (api.lua_isinteger(thread, index)) return value === -(2 ** 31) ? '0x80000000' : String(value)
      if (Number.isNaN(value)) return '(0/0)'
      return Number.isFinite(value) ? hexadecimal(value) : `${value < 0 ? '-' : ''}1e9999`
    }
    case luaType.string:
      return `"${latin1(api.luaL_checklstring(thread, index)).replaceAll(/["\\]|\p{Cc}(?=(\d?))/gu, escaped)}"`
    default:
      return failArgument(argument, 'value has no literal form')
  }
}

function escaped(character: string, following: string | undefined): string {
  if (character === '"' || character === '\\' || character === '\n') return `\\${character}`
  if (character > '\x7F') return character
  const code = String(character.charCodeAt(0))
  return `\\${following === undefined || following === '' ? code : code.padStart(3, '0')}`
}

function anyText({ api, thread, index }: Argument): string {
  const text = latin1(api.luaL_tolstring(thread, index))
  api.lua_settop(thread, -2)
  return text
}

function fail({ api, thread }: Argument, message: string): never {
  api.luaL_where(thread, 1)
  api.lua_pushstring(thread, encode(message))
  api.lua_concat(thread, 2)
  return api.lua_error(thread)
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}
