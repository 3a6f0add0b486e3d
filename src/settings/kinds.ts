import * as z from 'zod'
import { parseDuration } from '../base/duration.ts'
import { exactHost, isHostEntry, isSecureAddress } from '../base/host-entry.ts'
import type { Json } from '../base/json.ts'
import { isPattern } from '../base/pattern.ts'
import { parseSize } from '../base/size.ts'

// The error text of each schema completes the sentence `"key" must be …`.

/** Any value. */
export const anything = z.unknown() as z.ZodType<Json>
export const text = z.string({ error: 'text' })
export const name = z.string({ error: 'text' }).min(1, 'non-empty text')
export const flag = z.boolean({ error: 'true or false' })
export const texts = listOf(text, 'a list of strings')
export const duration = textFor('a duration such as "30s" or "10m"', (value) => parseDuration(value) !== undefined)

/** A time limit: zero would end everything immediately. */
export const timeLimit = textFor(
  'a duration above zero such as "30s" or "10m"',
  (value) => (parseDuration(value) ?? 0) > 0,
)
export const size = textFor('a size above zero such as "500mb" or "2gb"', (value) => (parseSize(value) ?? 0) > 0)

export const variableName = z
  .string({ error: 'the name of an environment variable' })
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable')

export const address = z
  .string({ error: 'an http:// or https:// address' })
  .refine((value) => isAddress(value), 'an http:// or https:// address without user name and password')

/** For what must not be read on its way. */
export const secureAddress = address.refine(
  (value) => !URL.canParse(value) || isSecureAddress(new URL(value)),
  'an https:// address, or an http:// address of this machine',
)

/** A regular expression. */
export const pattern = name.refine(isPattern, 'a regular expression')

export const globs = listOf(name, 'a list of globs')
export const toolNames = listOf(name, 'a list of tool names')
export const isolation = oneOf('none', 'worktree')
export const sandboxMode = oneOf('read-only', 'workspace-write', 'danger-full-access')
/** Command lines whose flags and output are known. */
export const preset = oneOf('claude', 'codex', 'gemini', 'opencode')
export const hosts = listOf(
  z
    .string({ error: 'a host' })
    .refine(isHostEntry, 'a host such as "example.com", "*.example.com" or "localhost:5432"'),
  'a list of hosts',
)
/** Hosts without patterns. */
export const exactHosts = listOf(
  z
    .string({ error: 'a host' })
    .refine((value) => exactHost(value) !== undefined, 'a host such as "login.example.com" or "localhost:5432"'),
  'a list of hosts',
)
export const pieces = either([name, listOf(name)], 'text or a list of strings')
/** A JSON Schema. */
export const jsonSchema = either([name, tableOf(anything)], 'a table or the name of a file')

/** Text that fits. */
export function textFor(error: string, fits: (value: string) => boolean): z.ZodString {
  return z.string({ error }).refine(fits, error)
}

export function either<const T extends readonly [z.ZodType, ...z.ZodType[]]>(kinds: T, error: string): z.ZodUnion<T> {
  return z.union(kinds, { error })
}

/** This value and no other. */
export function only<const T extends string | boolean>(value: T): z.ZodLiteral<T> {
  return z.literal(value)
}

/** True, false, or a word. */
export function flagOr<const Word extends string>(word: Word): z.ZodUnion<readonly [z.ZodBoolean, z.ZodLiteral<Word>]> {
  return either([flag, only(word)], `true, false or "${word}"`)
}

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

function isAddress(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}
