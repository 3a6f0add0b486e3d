import type { Json } from '../../base/json.ts'
import { placeInProgram, programName, shownMessage } from './error-place.ts'
import { preludeCode, type PreludeSettings } from './prelude.ts'
import { type LimitName, limitText, type ProgramError } from './program.ts'
import type { Answer, AskedCall, ToWorker, WorkerEnd } from './protocol.ts'
import { evalFlags, type QuickJS, type QuickJSContext, type QuickJSHandle } from './quickjs.ts'
import { type Source, sourceOf, type SyntaxProblem, withoutFence } from './source.ts'

/** How a program reaches its host. */
export interface HostCalls {
  /** Waits for all of them. */
  readonly ask: (calls: readonly AskedCall[]) => Answer
  readonly tell: (call: AskedCall) => void
  /** Milliseconds waited so far. */
  readonly waitedMs: () => number
}

const longestProgram = 1_000_000

/** Characters of the arguments of one call, and of its answer, for each megabyte of memory. */
const perMegabyte = 2 ** 16

/** Runs one program in a context of its own, whatever it does: how it ended is data. `begun` is called when all is loaded. */
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
  const watch = createWatch(context, request, calls)
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
    return text === '' ? limitError('output', request) : { kind: 'value', text }
  } catch (error) {
    return watch.error() ?? failureOf(error, { request, source, isFull })
  }
}

/** What a program has thrown: its message and stack. */
class Thrown extends Error {
  readonly stackText: string

  constructor(message: string, stackText: string) {
    super(message)
    this.stackText = stackText
  }
}

/** The functions of the prelude. */
interface World {
  readonly valueJson: QuickJSHandle
  readonly errorJson: QuickJSHandle
}

/** Ends a program, which cannot catch that. */
interface Watch {
  readonly end: (why: LimitName | 'stop') => never
  /** Why the program was ended, however it went on. */
  readonly error: () => ProgramError | undefined
}

function createWatch(context: QuickJSContext, request: ToWorker, { waitedMs }: HostCalls): Watch {
  const startedAt = performance.now() - waitedMs()
  let met: LimitName | 'stop' | undefined
  context.runtime.setInterruptHandler(() => {
    if (met === undefined && performance.now() - startedAt - waitedMs() > request.limits.timeMs) met = 'time'
    return met !== undefined
  })
  return {
    end(why) {
      met ??= why
      throw new Error('the program was ended')
    },
    error() {
      if (met === undefined) return undefined
      return met === 'stop' ? { kind: 'error', message: 'the program was stopped' } : limitError(met, request)
    },
  }
}

function limitError(limit: LimitName, { limits }: ToWorker): ProgramError {
  return { kind: 'error', message: limitText(limit, limits), limit }
}

/** Gives a context what the program is to find in it. */
function openWorld(
  context: QuickJSContext,
  { functions, limits, program, seed, now }: ToWorker,
  { calls, watch }: { readonly calls: HostCalls; readonly watch: Watch },
): World {
  let clock = now
  let made = 0
  let waited = 0
  let told = 0
  const mostChars = limits.memoryMb * perMegabyte

  const count = (number: number): void => {
    made += number
    if (made > limits.calls) watch.end('calls')
  }
  const ask = (asked: readonly AskedCall[]): readonly string[] => {
    const answer = calls.ask(asked)
    if (answer.kind === 'stop') return watch.end('stop')
    const { texts, now: later } = answer
    clock = later ?? clock
    return texts.map((text) =>
      text.length <= mostChars ? text : `-${JSON.stringify(`the answer is longer than ${mostChars} characters`)}`,
    )
  }
  const targets = new Map<string, number>()
  const listed = functions.map(({ name, id, waits }, target) => {
    const global = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? name : undefined
    const shownId = id ?? (global === undefined ? name : undefined)
    if (waits) for (const known of [shownId, global]) if (known !== undefined) targets.set(known, target)
    return { target, global, id: shownId, waits }
  })

  const askOne = context.newFunction('ask', (target, args) => {
    count(1)
    const [text = ''] = ask([{ target: context.getNumber(target), index: waited++, args: context.getString(args) }])
    return context.newString(text)
  })
  const askAll = context.newFunction('askAll', (list) => {
    const given = JSON.parse(context.getString(list)) as readonly { readonly tool: string; readonly args: Json }[]
    count(given.length)
    const asked = given.flatMap(({ tool, args }) => {
      const target = targets.get(tool)
      return target === undefined ? [] : [{ target, index: waited++, args: JSON.stringify(args) }]
    })
    const texts = asked.length === 0 ? [] : [...ask(asked)]
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

/** What the engine says of a text without running it. */
function syntaxProblem(context: QuickJSContext, text: string, flags: number): SyntaxProblem | undefined {
  const compiled = context.evalCode(text, programName, flags | evalFlags.compileOnly)
  if (compiled.error === undefined) return undefined
  const { message, stack } = context.dump(compiled.error) as { readonly message: string; readonly stack: string }
  const { line } = placeInProgram({ message, stack }, { text, shift: 0 })
  return { message, ...(line === undefined ? {} : { line }) }
}

/** Runs the program, and then all that it has left to do. Its value as JSON. @throws Thrown */
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

/** Promises run without a look at the limits in between at most as many jobs. */
const jobsAtOnce = 1000

/** @throws Thrown of a promise that was rejected, or never settles */
function settled(context: QuickJSContext, value: QuickJSHandle, world: World): QuickJSHandle {
  const state = context.getPromiseState(value)
  switch (state.type) {
    case 'fulfilled':
      return state.notAPromise === true ? value : state.value
    case 'rejected':
      throw thrown(context, state.error, world)
    case 'pending':
      throw new Thrown('the program waits for a promise that nothing settles', '')
  }
}

const notShown = 'an error that cannot be shown'

function thrown(context: QuickJSContext, error: QuickJSHandle, { errorJson }: World): Thrown {
  const shown = context.callFunction(errorJson, context.undefined, error)
  if (shown.error !== undefined) return new Thrown(notShown, '')
  const [message, stack] = JSON.parse(context.getString(shown.value)) as readonly [string, string]
  return new Thrown(message, stack)
}

/** How QuickJS, and the engine that it runs in, tell of a limit. */
const limitMessages: readonly (readonly [RegExp, LimitName])[] = [
  [/^out of memory$/, 'memory'],
  [/^(?:Maximum call stack size exceeded|stack overflow)$/, 'stack'],
  [/memory access out of bounds|^Aborted\(/, 'memory'],
]

function failureOf(
  error: unknown,
  {
    request,
    source,
    isFull,
  }: { readonly request: ToWorker; readonly source: Source | undefined; readonly isFull: () => boolean },
): ProgramError {
  const message = error instanceof Error ? error.message : String(error)
  const [, limit] = limitMessages.find(([pattern]) => pattern.test(message)) ?? []
  if (isFull() && (message === 'null' || message === notShown)) return limitError('memory', request)
  const isPlaced = error instanceof Thrown && source !== undefined
  const place = isPlaced ? placeInProgram({ message, stack: error.stackText }, source) : {}
  if (limit !== undefined) return { ...limitError(limit, request), ...place }
  return { kind: 'error', message: shownMessage(message), ...place }
}
