import { placeInProgram, programName, shownMessage } from './error-place.ts'
import { limitError, type LimitName, type ProgramError, type ProgramLimits } from './program.ts'
import type { ToWorker, WorkerEnd } from './protocol.ts'
import { evalFlags, type QuickJS, type QuickJSContext, type QuickJSHandle } from './quickjs.ts'
import { type Source, sourceOf, type SyntaxProblem, withoutFence } from './source.ts'
import { createWatch, type Watch } from './watch.ts'
import { type HostCalls, openWorld, type World } from './world.ts'

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
    const world = openWorld(context, request, { calls, watch })
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
  { world, watch }: { readonly world: World; readonly watch: Watch },
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
function settled(context: QuickJSContext, value: QuickJSHandle, world: World): QuickJSHandle {
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

function thrown(context: QuickJSContext, error: QuickJSHandle, { errorJson }: World): Thrown {
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
