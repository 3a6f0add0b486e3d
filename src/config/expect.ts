import * as z from 'zod'
import { parseSize } from '../base/size.ts'
import { parseDuration } from './duration.ts'

// The error text of each schema completes the sentence `"key" must be …`.

export const text = z.string({ error: 'text' })
export const name = z.string({ error: 'text' }).min(1, 'non-empty text')
export const flag = z.boolean({ error: 'true or false' })
export const texts = listOf(text, 'a list of strings')
export const duration = z
  .string({ error: 'a duration such as "30s" or "10m"' })
  .refine((value) => parseDuration(value) !== undefined, 'a duration such as "30s" or "10m"')

/** A time limit: zero would end everything immediately. */
export const timeLimit = z
  .string({ error: 'a duration above zero such as "30s" or "10m"' })
  .refine((value) => (parseDuration(value) ?? 0) > 0, 'a duration above zero such as "30s" or "10m"')

export const size = z
  .string({ error: 'a size above zero such as "500mb" or "2gb"' })
  .refine((value) => (parseSize(value) ?? 0) > 0, 'a size above zero such as "500mb" or "2gb"')

export const variableName = z
  .string({ error: 'the name of an environment variable' })
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable')

export const address = z
  .string({ error: 'an http:// or https:// address' })
  .refine((value) => isAddress(value), 'an http:// or https:// address without user name and password')

export function number(minimum: number, maximum: number): z.ZodNumber {
  const error = `a number from ${minimum} to ${maximum}`
  return z.number({ error }).min(minimum, error).max(maximum, error)
}

export function integer(minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER): z.ZodNumber {
  const error = `a whole number${rangeText(minimum, maximum)}`
  return z.number({ error }).int(error).min(minimum, error).max(maximum, error)
}

function rangeText(minimum: number, maximum: number): string {
  if (maximum < Number.MAX_SAFE_INTEGER) return ` from ${minimum} to ${maximum}`
  return minimum > Number.MIN_SAFE_INTEGER ? ` of at least ${minimum}` : ''
}

export function oneOf<const T extends readonly [string, ...string[]]>(
  ...values: T
): z.ZodEnum<{ [key in T[number]]: key }> {
  return z.enum(values, { error: `one of ${values.map((value) => `"${value}"`).join(', ')}` })
}

export function listOf<T extends z.ZodType>(item: T, error = 'a list'): z.ZodArray<T> {
  return z.array(item, { error })
}

export function tableOf<T extends z.ZodType>(value: T): z.ZodRecord<z.ZodString, T> {
  return z.record(z.string(), value, { error: 'a table' })
}

/** A table with known keys, all optional. */
export function table<T extends z.ZodRawShape>(
  shape: T,
): z.ZodObject<{ [key in keyof T]: z.ZodExactOptional<T[key]> }, z.core.$strict> {
  return z.strictObject(shape, { error: 'a table' }).exactPartial()
}

function isAddress(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}
