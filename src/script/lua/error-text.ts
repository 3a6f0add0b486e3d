import type { LuaValue } from '../engine.ts'

/** What is said of `error()` and `error(nil)`. */
export const nilErrorText = 'the script raised an error without a message (nil)'

/** What is said of a raised value of a type that cannot leave Lua. */
export function foreignErrorText(type: string): string {
  return `the script raised a ${type} as an error`
}

/** True for the text of a table that has no `__tostring`. */
export function isAddressText(text: string): boolean {
  return text.startsWith('table: 0x')
}

/** What a raised value that is no string says: the `message` or `error` field of a table, else all of it as JSON. */
export function valueErrorText(value: LuaValue): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const { message, error } = value as { readonly [key: string]: LuaValue }
    if (typeof message === 'string') return message
    if (typeof error === 'string') return error
  }
  return typeof value === 'string' ? value : dump(value)
}

function dump(value: LuaValue): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'bigint') return String(item)
    return item instanceof Uint8Array ? Buffer.from(item).toString('latin1') : item
  })
}
