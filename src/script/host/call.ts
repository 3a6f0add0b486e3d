import type { FileCall } from '../../tool/workspace-files.ts'
import { noteData } from '../../tool/workspace-reads.ts'
import { resolve } from 'node:path'
import { longestTimer } from '../../base/clock.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import type { RunContext } from '../../event/context.ts'
import { part, type Place, type Segment } from '../../event/place.ts'
import { LuaError, type LuaValue } from '../engine.ts'
import { argumentsToJson, readingCall } from '../values.ts'
import type { Section } from './module.ts'
import { resolvePath, unlessNoPack } from './resolve-path.ts'

/**
 * A call of a host function. Its methods read arguments, counted from 0; `what` names the argument in the SCRIPT_FAILED
 * error for a value of the wrong type.
 */
export class HostCall {
  /** The function, for example `aip.file.load`: its errors start with this name. */
  readonly name: string
  readonly args: readonly LuaValue[]
  readonly section: Section

  constructor(name: string, args: readonly LuaValue[], section: Section) {
    this.name = name
    this.args = args
    this.section = section
  }

  get context(): RunContext {
    return this.section.context
  }

  error(problem: string): BatonError {
    return argumentError(this.name, problem)
  }

  /** Runs `work`, and prefixes its errors with the name of the function and with `prefix`. */
  attempt<T>(work: () => T, prefix = ''): T {
    try {
      return work()
    } catch (error) {
      throw this.error(prefix + messageOf(error))
    }
  }

  /** Whether an argument is given: neither nil nor null. */
  has(index: number): boolean {
    return this.args[index] !== undefined && this.args[index] !== null
  }

  text(index: number, what = `argument ${index + 1}`): string {
    return text(this.args[index], this.name, what)
  }

  optionalText(index: number, what = `argument ${index + 1}`): string | undefined {
    return optionalText(this.args[index], this.name, what)
  }

  /** The same, for arguments where AIPack accepts numbers too. */
  optionalTextOrNumber(index: number, what?: string): string | undefined {
    return this.has(index) ? this.text(index, what) : undefined
  }

  /** A path as it was given. */
  path(index: number, what?: string): string {
    return pathText(this.args[index], this.name, what)
  }

  /** The absolute path of a path. */
  file(index: number, what?: string): string {
    return this.resolve(this.path(index, what))
  }

  /** The absolute path of a file that the call is about to read. */
  source(index: number, what?: string): string {
    return this.noted(this.file(index, what))
  }

  /** The same path (absolute), which a watch session notices from now on. */
  noted(path: string): string {
    noteData(path, this.context)
    return path
  }

  /** Content for a file: text, or bytes unchanged. */
  content(index: number, what: string): string | Uint8Array {
    const value = this.args[index]
    return value instanceof Uint8Array ? value : this.text(index, what)
  }

  integer(index: number, what: string): number {
    return integer(this.args[index], this.name, what)
  }

  list(index: number, what: string): readonly LuaValue[] {
    return list(this.args[index], this.name, what)
  }

  textList(index: number, what: string): readonly string[] {
    return textList(this.args[index], this.name, what)
  }

  options(index: number): Options {
    return new Options(this.args[index], this.name)
  }

  /** The absolute path that a path in a script stands for. */
  resolve(path: string): string {
    return resolvePath(path, this.context)
  }

  /** The base of relative paths and globs: the option `base_dir`, or the workspace. It need not exist. */
  baseFolder(options: Options): string {
    const { workspace } = this.context.scope.folders
    const given = options.path('base_dir')
    if (given === undefined) return workspace
    return unlessNoPack(() => this.resolve(given)) ?? resolve(workspace, given)
  }

  /** An absolute path as messages show it. */
  shown(path: string): string {
    return displayPath(this.context.scope.folders.workspace, path)
  }
}

/** A call of a function that acts. Its effects are recorded at its place or below it. */
export class ActCall extends HostCall implements FileCall<RunContext> {
  readonly at: Place

  constructor({ name, args, section }: HostCall, at: Place) {
    super(name, args, section)
    this.at = at
  }

  /** The same call for an effect below its place. */
  below(step: Segment): ActCall {
    return new ActCall(this, [...this.at, step])
  }

  /** Observes the file that the first argument names. */
  observeFile<T>(read: () => T): T {
    return this.context.services.effects.observe(this.at, readingCall(this.name, this.args), read)
  }

  /** Observes anything else that the call looks up before it acts. */
  observeBefore<T>(read: () => T): T {
    const asked = { name: this.name, args: argumentsToJson(this.args) }
    return this.context.services.effects.observe([...this.at, part('read')], asked, read)
  }
}

/** A table of options. nil and null stand for "not given", and unknown keys are ignored. */
export class Options {
  readonly table: LuaTable
  readonly #name: string

  constructor(value: LuaValue, name: string) {
    this.table = optionsTable(value, name)
    this.#name = name
  }

  get(key: string): LuaValue {
    return this.table[key] ?? undefined
  }

  text(key: string): string | undefined {
    const value = this.get(key)
    return value === undefined ? undefined : text(value, this.#name, `the option ${key}`)
  }

  path(key: string): string | undefined {
    const value = this.get(key)
    return value === undefined ? undefined : pathText(value, this.#name, `the option ${key}`)
  }

  integer(key: string): number | undefined {
    const value = this.get(key)
    return value === undefined ? undefined : integer(value, this.#name, `the option ${key}`)
  }

  flag(key: string, missing: 'on' | 'off' = 'off'): boolean {
    const value = this.get(key)
    if (value === undefined) return missing === 'on'
    if (typeof value === 'boolean') return value
    throw argumentError(this.#name, `the option ${key} must be true or false, but was ${luaTypeName(value)}`)
  }

  /** Whole milliseconds, at least 1. */
  milliseconds(key: string): number | undefined {
    const given = this.integer(key)
    if (given === undefined || (given >= 1 && given <= longestTimer)) return given
    throw argumentError(this.#name, `the option ${key} must be between 1 and ${longestTimer}, but was ${given}`)
  }

  /** The option `extrude`: whether the text without the extracted parts is returned too. */
  extrude(): boolean {
    const extrude = this.text('extrude')
    if (extrude === undefined || extrude === 'content') return extrude !== undefined
    throw argumentError(this.#name, `the option extrude must be "content", but was "${extrude}"`)
  }
}

function optionsTable(value: LuaValue, name: string): LuaTable {
  if (value === undefined || value === null) return {}
  if (!isTable(value)) throw argumentError(name, `the options must be a table, but were ${luaTypeName(value)}`)
  if (!Array.isArray(value)) return value as LuaTable
  if (value.length === 0) return {}
  throw argumentError(name, 'the options must be a table with keys, but were a list')
}

/** A table with text keys, as it comes from Lua. */
export type LuaTable = { readonly [key: string]: LuaValue }

/** The error for an argument that a function cannot take. `name` is the function, for example `aip.file.load`. */
export function argumentError(name: string, problem: string): BatonError {
  return new BatonError('SCRIPT_FAILED', `${name}: ${problem}`)
}

export function luaTypeName(value: LuaValue): string {
  if (value === undefined) return 'nil'
  if (value === null) return 'userdata'
  if (typeof value === 'bigint') return 'number'
  if (typeof value === 'object') return value instanceof Uint8Array ? 'string' : 'table'
  return typeof value
}

/** A string that may be nil or null. Bytes that are not UTF-8 are replaced by U+FFFD, as AIPack does. */
function optionalText(value: LuaValue, name: string, what: string): string | undefined {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return undefined
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  throw argumentError(name, `${what} must be a string or nil, but was ${luaTypeName(value)}`)
}

/** A string. Numbers become strings, as everywhere in Lua. */
export function text(value: LuaValue, name: string, what: string): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  const found = value === undefined ? undefined : optionalText(value, name, what)
  if (found !== undefined) return found
  throw argumentError(name, `${what} must be a string, but was nil`)
}

/** A path: a string without NUL. */
function pathText(value: LuaValue, name: string, what = 'the path'): string {
  const path = text(value, name, what)
  if (!path.includes('\0')) return path
  throw argumentError(name, `${what} contains a NUL character`)
}

/** A whole number. Floats with a fraction are rejected. */
export function integer(value: LuaValue, name: string, what: string): number {
  const number =
    typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? Number(value.trim() || 'x') : value
  if (typeof number === 'number' && Number.isInteger(number)) return number
  const found = typeof value === 'number' ? String(value) : luaTypeName(value)
  throw argumentError(name, `${what} must be a whole number, but was ${found}`)
}

/** True for a table: a list or one with keys. */
export function isTable(value: LuaValue): value is readonly LuaValue[] | LuaTable {
  return luaTypeName(value) === 'table'
}

/** A table with keys; a list counts as one without keys. Undefined for anything but a table. */
export function keyedTable(value: LuaValue): LuaTable | undefined {
  if (!isTable(value)) return undefined
  return Array.isArray(value) ? {} : (value as LuaTable)
}

/** A list; an empty table is an empty list. */
export function list(value: LuaValue, name: string, what: string): readonly LuaValue[] {
  if (Array.isArray(value)) return value
  if (isTable(value) && Object.keys(value).length === 0) return []
  const found = isTable(value) ? 'a table with keys' : luaTypeName(value)
  throw argumentError(name, `${what} must be a list, but was ${found}`)
}

/** A list of strings; a single string counts as a list of one. Numbers in a list become strings. */
export function textList(value: LuaValue, name: string, what: string): readonly string[] {
  if (typeof value === 'string') return [value]
  if (!isTable(value)) {
    throw argumentError(name, `${what} must be a string or a list of strings, but was ${luaTypeName(value)}`)
  }
  return list(value, name, what).map((item, index) => {
    const where = `${what}[${index + 1}]`
    const type = luaTypeName(item)
    if (type === 'string' || type === 'number') return text(item, name, where)
    throw argumentError(name, `${where} must be a string, but was ${type}`)
  })
}

/** Size of arguments above which a potentially slow function runs in a worker thread, where it can be stopped. */
const defaultSize = 32 * 1024

/** Whether arguments hold more text and values than should be processed on the main thread. */
export function isLarge(args: readonly unknown[], most = defaultSize): boolean {
  let size = 0
  const open: unknown[] = [...args]
  while (open.length > 0 && size <= most) {
    const value = open.pop()
    if (typeof value === 'string' || value instanceof Uint8Array) size += value.length
    else if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value)
      size += entries.length
      for (const [key, item] of entries) {
        size += Array.isArray(value) ? 0 : key.length
        open.push(item)
      }
    }
  }
  return size > most
}

/**
 * The fraction (1/4) of a script's memory that printed and pinned text may take: it is held until the section ends, and
 * recorded as a whole.
 */
const shareOfMemory = 4
/** Overhead per line in bytes, besides its text. */
const bytesPerLine = 100

/**
 * Counts what a script prints, pins or labels.
 * @throws LuaError, which ends the section, when it is more than a quarter of `lua.memory_mb`
 */
export function countShown({ section: { computing } }: HostCall, text: string): void {
  if (computing === undefined) return
  computing.shownBytes += text.length + bytesPerLine
  if (computing.shownBytes <= computing.limits.memoryBytes / shareOfMemory) return
  const most = Math.floor(computing.limits.memoryBytes / shareOfMemory)
  throw new LuaError(`the script has printed and pinned more than ${most} bytes`, { limit: 'memory' })
}
