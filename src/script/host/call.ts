import { resolve } from 'node:path'
import { longestTimer } from '../../base/clock.ts'
import { type BatonError, messageOf } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import type { RunContext } from '../../event/context.ts'
import { type Place, part, type Segment } from '../../event/place.ts'
import type { FileCall } from '../../tool/workspace-files.ts'
import type { LuaValue } from '../engine.ts'
import { argumentsToJson, readingCall } from '../values.ts'
import {
  argumentError,
  integer,
  isTable,
  list,
  type LuaTable,
  luaTypeName,
  optionalText,
  pathText,
  text,
  textList,
} from './arguments.ts'
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
export class ActCall extends HostCall implements FileCall {
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
