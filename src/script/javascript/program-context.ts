import type { Json } from '../../base/json.ts'
import type { Answer, FunctionCall, ToWorker } from './protocol.ts'
import { evalFlags, type QuickJSContext, type QuickJSHandle } from './quickjs.ts'
import { limitError, type LimitName, type ProgramError, type ProgramLimits } from './program.ts'

/** How a program reaches its host. */
export interface HostCalls {
  /** Waits for all of them. */
  readonly ask: (calls: readonly FunctionCall[]) => Answer
  readonly tell: (call: FunctionCall) => void
  /** Milliseconds waited so far. */
  readonly waitedMs: () => number
}

/** Characters allowed in the arguments of one call, and in its answer, for each megabyte of memory. */
const perMegabyte = 2 ** 16

/** The functions of the prelude. */
export interface ProgramContext {
  readonly valueJson: QuickJSHandle
  readonly errorJson: QuickJSHandle
}

/** Sets up what the program finds in its context. */
export function openProgramContext(
  context: QuickJSContext,
  { functions, limits, program, seed, now }: ToWorker,
  { calls, watch }: { readonly calls: HostCalls; readonly watch: Watch },
): ProgramContext {
  let clock = now
  let made = 0
  let waited = 0
  let asked = 0
  let told = 0
  const mostChars = limits.memoryMb * perMegabyte

  const count = (number: number): void => {
    watch.refuseEnded()
    made += number
    if (made > limits.calls) watch.end('calls')
  }
  const countArguments = (text: string): string => {
    asked += text.length
    return asked > limits.argumentChars ? watch.end('arguments') : text
  }
  const ask = (together: readonly FunctionCall[]): readonly string[] => {
    const answer = calls.ask(together)
    if (answer.kind === 'stop') return watch.end('stop')
    const { texts, now: later } = answer
    clock = later ?? clock
    return texts.map((text) =>
      text.length <= mostChars ? text : `-${JSON.stringify(`the answer is longer than ${mostChars} characters`)}`,
    )
  }
  const listed = functions.map(({ name, id, waits }, target) => {
    const global = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? name : undefined
    const shownId = id ?? (global === undefined ? name : undefined)
    return { target, global, id: shownId, waits }
  })
  /** Names that `parallel` accepts: if two collide, the tool with that exact name takes precedence. */
  const targets = new Map<string, number>()
  for (const key of ['global', 'id'] as const) {
    for (const { target, waits, [key]: name } of listed) if (waits && name !== undefined) targets.set(name, target)
  }

  const askOne = context.newFunction('ask', (target, args) => {
    count(1)
    const given = countArguments(context.getString(args))
    const [text = ''] = ask([{ target: context.getNumber(target), index: waited++, args: given }])
    return context.newString(text)
  })
  const askAll = context.newFunction('askAll', (list) => {
    const given = JSON.parse(countArguments(context.getString(list))) as readonly {
      readonly tool: string
      readonly args: Json
    }[]
    count(given.length)
    const known = given.flatMap(({ tool, args }) => {
      const target = targets.get(tool)
      return target === undefined ? [] : [{ target, index: waited++, args: JSON.stringify(args) }]
    })
    const texts = known.length === 0 ? [] : [...ask(known)]
    const results = given.map(({ tool }) => {
      if (!targets.has(tool)) return `{"error":${JSON.stringify(unknownTool(tool, [...targets.keys()]))}}`
      const text = texts.shift() ?? ''
      return text.startsWith('-') ? `{"error":${text.slice(1)}}` : text.slice(1)
    })
    return context.newString(`[${results.join(',')}]`)
  })
  const tell = context.newFunction('tell', (target, args) => {
    const text = context.getString(args)
    count(1)
    told += text.length
    if (told > limits.outputChars) watch.end('output')
    calls.tell({ target: context.getNumber(target), index: waited, args: text })
  })
  const time = context.newFunction('clock', () => context.newNumber(clock))
  const settings: PreludeSettings = {
    functions: listed,
    input: program.input ?? null,
    seed,
    mostArguments: mostChars,
    mostOutput: limits.outputChars,
  }
  const prelude = context.unwrapResult(context.evalCode(preludeCode, 'box', evalFlags.script))
  const given = [askOne, askAll, tell, time, context.newString(JSON.stringify(settings))]
  const world = context.unwrapResult(context.callFunction(prelude, context.undefined, ...given))
  return { valueJson: context.getProp(world, 'valueJson'), errorJson: context.getProp(world, 'errorJson') }
}

function unknownTool(tool: string, known: readonly string[]): string {
  return `there is no function "${tool.slice(0, 100)}"; there are: ${known.join(', ') || 'none'}`
}

interface PreludeSettings {
  readonly functions: readonly {
    /** Index in the list of functions. */
    readonly target: number
    readonly global: string | undefined
    readonly id: string | undefined
    readonly waits: boolean
  }[]
  readonly input: unknown
  readonly seed: number
  /** Characters allowed in the arguments of one call. */
  readonly mostArguments: number
  /** Characters allowed in the value. */
  readonly mostOutput: number
}

/**
 * Runs in each context before the program and creates the world the program sees. Everything it uses later is captured
 * here, so that a program that changes built-in objects cannot affect it. Only text crosses the boundary: arguments and
 * values become JSON here, by our own code, because `JSON.stringify` rejects some of the values that programs hold and
 * lets them decide how they are shown.
 *
 * An expression: a function that takes the host's functions `ask(target, args)`, `askAll(calls)`, `tell(target, args)`
 * and `clock()`, and `PreludeSettings`. It returns `valueJson(value)`, which is empty if that is too long, and
 * `errorJson(error)`, which is `[message, stack]`.
 */
const preludeCode = String.raw`(function (ask, askAll, tell, clock, settingsText) {
'use strict'
const { parse, stringify } = JSON
const { isArray } = Array
const { keys, defineProperty } = Object
const { apply, construct } = Reflect
const { isView } = ArrayBuffer
const uncurry = Function.prototype.bind.bind(Function.prototype.call)
const slice = uncurry(String.prototype.slice)
const symbolText = uncurry(Symbol.prototype.toString)
const mapEach = uncurry(Map.prototype.forEach)
const setEach = uncurry(Set.prototype.forEach)
const PlainError = Error, Memory = InternalError, Wrong = TypeError, Times = Date, Maps = Map, Sets = Set, Promises = Promise, Patterns = RegExp
const Buffers = ArrayBuffer
const settings = parse(settingsText)

// deeper values are only described, because code that reads them later may recurse
const deepest = 100
const tooLong = 'too long'

function jsonOf(value, depth, state) {
  switch (typeof value) {
    case 'undefined': return written('null', state)
    case 'string': return written(stringify(value), state)
    case 'number': return written(value - value === 0 ? '' + value : 'null', state)
    case 'boolean': return written('' + value, state)
    case 'bigint': return written('"' + value + '"', state)
    case 'symbol': return described(symbolText(value), state)
    case 'function': return described('[function]', state)
  }
  if (value === null) return written('null', state)
  if (depth === deepest) return described('[nested too deeply]', state)
  for (let i = 0; i < depth; i++) if (state.path[i] === value) return described('[circular]', state)
  state.path[depth] = value
  try {
    return objectJson(value, depth + 1, state)
  } catch (error) {
    return failed(error, state)
  }
}
function written(text, state) {
  state.left -= text.length
  if (state.left < 0) throw tooLong
  return text
}
function described(text, state) {
  return written(stringify(text), state)
}
function failed(error, state) {
  if (state.left < 0 || isOutOfMemory(error)) throw error
  return described('[error: ' + thrownText(error) + ']', state)
}
function isOutOfMemory(error) {
  return error instanceof Memory && thrownText(error) === 'out of memory'
}
function objectJson(value, depth, state) {
  const toJSON = value.toJSON
  if (typeof toJSON === 'function') return jsonOf(apply(toJSON, value, ['']), depth, state)
  if (isArray(value) || (isView(value) && value.length !== undefined)) return listJson(value, depth, state)
  if (value instanceof Maps) return mapJson(value, depth, state)
  if (value instanceof Sets) {
    const list = { __proto__: null, length: 0 }
    setEach(value, (member) => { list[list.length++] = member })
    return listJson(list, depth, state)
  }
  if (value instanceof Promises) return described('[promise]', state)
  if (value instanceof Patterns) return described('' + value, state)
  if (value instanceof Buffers) return described('[ArrayBuffer]', state)
  const names = keys(value)
  const parts = value instanceof PlainError ? ['name', 'message'] : []
  let text = ''
  for (let i = 0; i < parts.length; i++) text += memberJson(value, parts[i], depth, state, text)
  for (let i = 0; i < names.length; i++) text += memberJson(value, names[i], depth, state, text)
  return '{' + text + '}'
}
function memberJson(holder, name, depth, state, before) {
  const start = (before === '' ? '' : ',') + stringify(name) + ':'
  let member
  try {
    member = holder[name]
  } catch (error) {
    return written(start, state) + failed(error, state)
  }
  return member === undefined ? '' : written(start, state) + jsonOf(member, depth, state)
}
function listJson(list, depth, state) {
  const length = list.length
  let text = '['
  for (let i = 0; i < length; i++) {
    if (i > 0) text += written(',', state)
    let member
    try {
      member = list[i]
    } catch (error) {
      text += failed(error, state)
      continue
    }
    text += jsonOf(member, depth, state)
  }
  return text + ']'
}
// an object if all keys are strings, otherwise a list of pairs
function mapJson(map, depth, state) {
  let allTexts = true
  const entries = { __proto__: null, length: 0 }
  const byName = { __proto__: null }
  mapEach(map, (value, key) => {
    if (typeof key !== 'string') allTexts = false
    else byName[key] = value
    entries[entries.length++] = [key, value]
  })
  if (!allTexts) return listJson(entries, depth, state)
  const names = keys(byName)
  let text = ''
  for (let i = 0; i < names.length; i++) text += memberJson(byName, names[i], depth, state, text)
  return '{' + text + '}'
}
function limited(most) {
  return { __proto__: null, left: most, path: { __proto__: null } }
}

function thrownText(error) {
  try {
    if (typeof error === 'string') return error
    if (typeof error === 'object' && error !== null) {
      const { message, name } = error
      if (typeof message === 'string' && message !== '') return message
      if (error instanceof PlainError && typeof name === 'string') return name
    }
    return error === undefined ? 'undefined' : jsonOf(error, 0, limited(10000))
  } catch (inner) {
    return 'an error that cannot be shown'
  }
}
function stackOf(error) {
  try {
    const stack = typeof error === 'object' && error !== null ? error.stack : ''
    return typeof stack === 'string' ? stack : ''
  } catch (inner) {
    return ''
  }
}

function argumentsJson(args) {
  try {
    return listJson(args, 1, limited(settings.mostArguments))
  } catch (error) {
    throw error === tooLong ? new PlainError('the arguments are longer than ' + settings.mostArguments + ' characters') : error
  }
}
function answered(text) {
  const value = parse(slice(text, 1))
  if (text[0] === '-') throw new PlainError(value)
  return value
}

const tools = {}
const define = (holder, name, value) => defineProperty(holder, name, { value, writable: true, configurable: true, enumerable: holder === tools })
for (const { target, global, id, waits } of settings.functions) {
  const call = waits
    ? (...args) => answered(ask(target, argumentsJson(args)))
    : (...args) => { tell(target, argumentsJson(args)) }
  defineProperty(call, 'name', { value: global ?? id })
  if (global !== undefined) define(globalThis, global, call)
  if (id !== undefined) define(tools, id, call)
}
define(globalThis, 'tools', tools)
// models often use this unprompted
if (typeof log === 'function') define(globalThis, 'console', { log, info: log, debug: log, warn: log, error: log })
define(globalThis, 'input', settings.input)
define(globalThis, 'parallel', (list) => {
  if (!isArray(list)) throw new Wrong('parallel takes a list of { tool, input }')
  let calls = ''
  for (let i = 0; i < list.length; i++) {
    const entry = list[i]
    const tool = typeof entry === 'object' && entry !== null ? entry.tool : undefined
    if (typeof tool !== 'string') throw new Wrong('entry ' + i + ' of parallel is not { tool, input }')
    const given = entry.input
    const args = argumentsJson(given === undefined ? [] : [given])
    calls += (i === 0 ? '' : ',') + '{"tool":' + stringify(tool) + ',"args":' + args + '}'
  }
  return parse(askAll('[' + calls + ']'))
})
// the only sources of time and randomness are the host's
const dateText = uncurry(Date.prototype.toString)
const Clock = function Date(...args) {
  if (new.target === undefined) return dateText(construct(Times, [clock()]))
  return construct(Times, args.length === 0 ? [clock()] : args, new.target)
}
define(Clock, 'now', () => clock())
define(Clock, 'parse', Times.parse)
define(Clock, 'UTC', Times.UTC)
defineProperty(Clock, 'length', { value: 7 })
defineProperty(Clock, 'prototype', { value: Times.prototype, writable: false })
define(Times.prototype, 'constructor', Clock)
define(globalThis, 'Date', Clock)

let [a, b, c, d] = [settings.seed >>> 0, Math.floor(settings.seed / 2 ** 32) >>> 0, 0x9e3779b9, 1]
function random() {
  const t = (((a + b) >>> 0) + d) >>> 0
  d = (d + 1) >>> 0
  a = b ^ (b >>> 9)
  b = (c + (c << 3)) >>> 0
  c = (((c << 21) | (c >>> 11)) + t) >>> 0
  return t
}
for (let i = 0; i < 12; i++) random()
define(Math, 'random', () => (random() * 2 ** 21 + (random() >>> 11)) / 2 ** 53)
for (const name of ['performance', 'WeakRef', 'FinalizationRegistry', 'Atomics', 'SharedArrayBuffer']) delete globalThis[name]

return {
  __proto__: null,
  valueJson: (value) => {
    try {
      return jsonOf(value, 0, limited(settings.mostOutput))
    } catch (error) {
      if (error === tooLong) return ''
      throw error
    }
  },
  errorJson: (error) => '[' + stringify(slice(thrownText(error), 0, 100000)) + ',' + stringify(slice(stackOf(error), 0, 100000)) + ']',
}
})`

/** Ends a program in a way that it cannot catch. */
export interface Watch {
  /** @throws Error, which the program may catch, but it is ended at the next check of the clock */
  readonly end: (why: LimitName | 'stop') => never
  /** @throws Error when the program was ended: none of its calls is made anymore */
  readonly refuseEnded: () => void
  /** Why the program was ended, whatever it did afterward. */
  readonly error: () => ProgramError | undefined
}

/** The program's time starts now; time spent waiting is subtracted. */
export function createWatch(context: QuickJSContext, limits: ProgramLimits, waitedMs: () => number): Watch {
  const startedAt = performance.now() - waitedMs()
  let met: LimitName | 'stop' | undefined
  context.runtime.setInterruptHandler(() => {
    if (performance.now() - startedAt - waitedMs() > limits.timeMs) met ??= 'time'
    return met !== undefined
  })

  function end(why: LimitName | 'stop'): never {
    met ??= why
    throw new Error('the program was ended')
  }
  return {
    end,
    refuseEnded() {
      if (met !== undefined) end(met)
    },
    error() {
      if (met === undefined) return undefined
      return met === 'stop' ? { kind: 'error', message: 'the program was stopped' } : limitError(met, limits)
    },
  }
}
