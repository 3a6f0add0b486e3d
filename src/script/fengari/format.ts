import { luaType } from '../lua/api.ts'
import { type Argument, checkInteger, failArgument } from './arguments.ts'
import { encode, type FengariApi, type NativeFunction } from './library.ts'
import { fixed, hexadecimal, scientific, shortest } from './number-text.ts'

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
export function createFormat(api: FengariApi): NativeFunction {
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
