import { limitError, type LimitName, type ProgramError, type ProgramLimits } from './program.ts'
import type { ToWorker, WorkerEnd } from './protocol.ts'
import { evalFlags, type QuickJS, type QuickJSContext, type QuickJSHandle } from './quickjs.ts'
import { type Source, sourceOf, type SyntaxProblem, withoutFence } from './source.ts'
import { createWatch, type HostCalls, openProgramContext, type Watch, type ProgramContext } from './program-context.ts'

const longestProgram = 1_000_000

/**
 * Runs one program in its own context. Whatever the program does, the outcome is returned as data. `begun` is called
 * when everything is loaded.
 */
export async function runProgram(
  engine: QuickJS,
  request: ToWorker,
  calls: HostCalls,
  begun: () => void,
): Promise<WorkerEnd> {
  const { limits, program } = request
  const { context, isFull } = await engine.open(limits)
  begun()
  if (program.code.length > longestProgram) {
    return { kind: 'error', message: `the program is longer than ${longestProgram} characters` }
  }
  const watch = createWatch(context, limits, calls.waitedMs)
  let source: Source | undefined
  try {
    const world = openProgramContext(context, request, { calls, watch })
    const found = await sourceOf(withoutFence(program.code), program.evalType ?? 'auto', (text, flags) =>
      syntaxProblem(context, text, flags),
    )
    if (!('flags' in found)) return watch.error() ?? { kind: 'error', ...found }
    source = found
    const text = valueOf(context, source, { world, watch })
    const end = watch.error()
    if (end !== undefined) return end
    return text === '' ? limitError('output', limits) : { kind: 'value', text }
  } catch (error) {
    return watch.error() ?? failureOf(error, { limits, source, isFull })
  }
}

/** What a program threw: message and stack. */
class Thrown extends Error {
  readonly stackText: string

  constructor(message: string, stackText: string) {
    super(message)
    this.stackText = stackText
  }
}

/** The engine's verdict on a text, without running it. */
function syntaxProblem(context: QuickJSContext, text: string, flags: number): SyntaxProblem | undefined {
  const compiled = context.evalCode(text, programName, flags | evalFlags.compileOnly)
  if (compiled.error === undefined) return undefined
  const { message, stack } = context.dump(compiled.error) as { readonly message: string; readonly stack: string }
  const { line } = placeInProgram({ message, stack }, { text, shift: 0 })
  return { message, ...(line === undefined ? {} : { line }) }
}

/** Runs the program, then all its pending jobs. Returns its value as JSON. @throws Thrown */
function valueOf(
  context: QuickJSContext,
  source: Source,
  { world, watch }: { readonly world: ProgramContext; readonly watch: Watch },
): string {
  const ran = context.evalCode(source.text, programName, source.flags)
  if (ran.error !== undefined) throw thrown(context, ran.error, world)
  while (context.runtime.hasPendingJob() && watch.error() === undefined) {
    const done = context.runtime.executePendingJobs(jobsAtOnce)
    if (done.error !== undefined) throw thrown(context, done.error, world)
  }
  let value = settled(context, ran.value, world)
  if (source.result === 'async') value = settled(context, context.getProp(value, 'value'), world)
  const text = context.callFunction(world.valueJson, context.undefined, value)
  if (text.error !== undefined) throw thrown(context, text.error, world)
  return context.getString(text.value)
}

/** Promise jobs that run between two checks of the limits. */
const jobsAtOnce = 1000

/** @throws Thrown if the promise was rejected or never settles */
function settled(context: QuickJSContext, value: QuickJSHandle, world: ProgramContext): QuickJSHandle {
  const state = context.getPromiseState(value)
  switch (state.type) {
    case 'fulfilled':
      return state.notAPromise === true ? value : state.value
    case 'rejected':
      throw thrown(context, state.error, world)
    case 'pending':
      throw new Thrown('the program waits for a promise that never settles', '')
  }
}

const notShown = 'an error that cannot be shown'

function thrown(context: QuickJSContext, error: QuickJSHandle, { errorJson }: ProgramContext): Thrown {
  const shown = context.callFunction(errorJson, context.undefined, error)
  if (shown.error !== undefined) return new Thrown(notShown, '')
  const [message, stack] = JSON.parse(context.getString(shown.value)) as readonly [string, string]
  return new Thrown(message, stack)
}

/** How QuickJS, and the engine that it runs in, report a limit. */
const limitMessages: readonly (readonly [RegExp, LimitName])[] = [
  [/^out of memory$/, 'memory'],
  [/^(?:Maximum call stack size exceeded|stack overflow)$/, 'stack'],
  [/memory access out of bounds|^Aborted\(/, 'memory'],
]

function failureOf(
  error: unknown,
  {
    limits,
    source,
    isFull,
  }: { readonly limits: ProgramLimits; readonly source: Source | undefined; readonly isFull: () => boolean },
): ProgramError {
  const message = error instanceof Error ? error.message : String(error)
  const [, limit] = limitMessages.find(([pattern]) => pattern.test(message)) ?? []
  if (isFull() && (message === 'null' || message === notShown)) return limitError('memory', limits)
  const isPlaced = error instanceof Thrown && source !== undefined
  const place = isPlaced ? placeInProgram({ message, stack: error.stackText }, source) : {}
  if (limit !== undefined) return { ...limitError(limit, limits), ...place }
  return { kind: 'error', message: shownMessage(message), ...place }
}

/** The file name under which the engine knows programs. */
const programName = 'program'

const inProgram = /(?:^|[( ])program:(\d+):(\d+)\)?$/m

interface ErrorPlace {
  readonly line?: number
  readonly column?: number
}

/**
 * Where in the program an error was thrown, counted from 1. The engine records positions of calls, operators and
 * expression statements only, so its stack names the last of those before the error. The name in the message is
 * searched for from there.
 */
export function placeInProgram(
  { message, stack }: { readonly message: string; readonly stack: string },
  { text, shift }: Pick<Source, 'text' | 'shift'>,
): ErrorPlace {
  const [, line, column] = inProgram.exec(stack)?.map(Number) ?? []
  if (line === undefined || column === undefined) return {}
  const noted = { line, column }
  const found = nameAfter(noted, message, text) ?? noted
  if (shift === undefined) return { line: found.line }
  return { line: found.line, column: found.line === 1 ? Math.max(1, found.column - shift) : found.column }
}

type FullPlace = Required<ErrorPlace>

/** Messages, and how what they name is written in programs; the first match counts. */
const named: readonly (readonly [RegExp, (name: string) => string])[] = [
  [
    /^(?:value is not iterable|cannot read property 'Symbol.iterator' of (?:undefined|null))$/,
    () => '(?<![\\w$])of(?![\\w$])|\\.\\.\\.|\\]\\s*=',
  ],
  [
    /^(.{1,100}) is not (?:defined|initialized)$/,
    (name) => `(?<![\\w$"'\`]|(?<!\\.\\.)\\.)${name}(?![\\w$]|\\s*:(?!:))`,
  ],
  [
    /^cannot (?:read|set) property '(.{1,100})' of (?:undefined|null)$/,
    (name) => `\\.\\s*${name}(?![\\w$])|\\[\\s*["'\`]?${name}["'\`]?\\s*\\]|${name}(?<=[{,]\\s*${name})(?=\\s*[,:=}])`,
  ],
  [/^Cannot convert undefined or null to object$/, () => '\\}\\s*='],
]

/** Longer programs are not searched. */
const longestSearched = 100_000

function nameAfter({ line, column }: FullPlace, message: string, text: string): FullPlace | undefined {
  if (text.length > longestSearched) return undefined
  for (const [pattern, written] of named) {
    const [whole, name = ''] = pattern.exec(message) ?? []
    if (whole === undefined) continue
    const search = new RegExp(written(name.replace(/[^\w]/g, '\\$&')), 'g')
    search.lastIndex = offsetOf({ line, column }, text)
    const found = search.exec(withoutTexts(text))
    return found === null ? undefined : placeOf(found.index + Math.max(0, found[0].search(/[^.\s]/)), text)
  }
  return undefined
}

/** Unclosed comments and strings match to the end of the line or text, so that nothing is scanned twice. */
const commentOrText = /(["'])(?:(?!\1)[^\\\n]|\\.)*(\1?)|\/\/[^\n]*|\/\*.*?(\*\/|$)/gs

/** The same text with comments blanked out. Short strings stay, for names in brackets. */
function withoutTexts(text: string): string {
  return text.replace(commentOrText, (part, quote?: string, quoteEnd?: string, commentEnd?: string) => {
    const isText = quote !== undefined && (quoteEnd === '' || part.length <= longestName)
    return isText || commentEnd === '' ? part : part.replace(/[^\n]/g, ' ')
  })
}

/** Longer strings are not names. */
const longestName = 40

function offsetOf({ line, column }: FullPlace, text: string): number {
  let start = 0
  for (let at = 1; at < line; at += 1) {
    const end = text.indexOf('\n', start)
    if (end === -1) break
    start = end + 1
  }
  return start + column - 1
}

function placeOf(offset: number, text: string): FullPlace {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** The QuickJS message in the wording of its other versions. */
function shownMessage(message: string): string {
  const [, name] = /^([^\s']+) is not defined$/.exec(message) ?? []
  return name === undefined ? message : `'${name}' is not defined`
}
