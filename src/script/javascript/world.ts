import type { Json } from '../../base/json.ts'
import { preludeCode, type PreludeSettings } from './prelude.ts'
import type { Answer, AskedCall, ToWorker } from './protocol.ts'
import { evalFlags, type QuickJSContext, type QuickJSHandle } from './quickjs.ts'
import type { Watch } from './watch.ts'

/** How a program reaches its host. */
export interface HostCalls {
  /** Waits for all of them. */
  readonly ask: (calls: readonly AskedCall[]) => Answer
  readonly tell: (call: AskedCall) => void
  /** Milliseconds waited so far. */
  readonly waitedMs: () => number
}

/** Characters allowed in the arguments of one call, and in its answer, for each megabyte of memory. */
const perMegabyte = 2 ** 16

/** The functions of the prelude. */
export interface World {
  readonly valueJson: QuickJSHandle
  readonly errorJson: QuickJSHandle
}

/** Sets up what the program finds in its context. */
export function openWorld(
  context: QuickJSContext,
  { functions, limits, program, seed, now }: ToWorker,
  { calls, watch }: { readonly calls: HostCalls; readonly watch: Watch },
): World {
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
  const ask = (together: readonly AskedCall[]): readonly string[] => {
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
