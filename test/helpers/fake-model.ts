import { BatonError } from '../../src/base/error.ts'
import type { Usage } from '../../src/event/message.ts'
import type { FinishReason, ModelEvent, ModelProvider, ModelRequest } from '../../src/model/provider.ts'

/** One scripted answer. With `failure`, the text is followed by the error, like a stream that is cut off. */
export interface FakeTurn {
  readonly text: readonly string[]
  readonly reasoning?: readonly string[]
  /** Names of the tools it calls, without arguments. */
  readonly toolCalls?: readonly string[]
  /** The arguments of each, as JSON; a list contains the arguments of successive calls. */
  readonly toolInput?: string | readonly string[]
  /** Default: zero tokens. */
  readonly usage?: Omit<Usage, 'calls'>
  /** Default: `stop`. */
  readonly finish?: FinishReason
  /** The answer waits until this settles. */
  readonly gate?: Promise<void>
  readonly failure?: Error
}

/** Answers in the order of the requests, or computed from each request and its number, counted from 0. */
export type FakeScript = readonly FakeTurn[] | ((request: ModelRequest, index: number) => FakeTurn)

export interface FakeProvider extends ModelProvider {
  /** Every request so far, in order of arrival. */
  readonly requests: readonly ModelRequest[]
}

/** A provider that plays a script, for tests of the layers above it. When a list is used up, further calls fail. */
export function createFakeProvider(script: FakeScript): FakeProvider {
  const requests: ModelRequest[] = []

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    signal.throwIfAborted()
    const index = requests.push(request) - 1
    const turn = typeof script === 'function' ? script(request, index) : script[index]
    if (turn === undefined) {
      throw new BatonError('MODEL_FAILED', `the scripted model has ${requests.length - 1} answers and was asked again`)
    }
    if (turn.gate !== undefined) await settled(turn.gate, signal)
    for (const text of turn.reasoning ?? []) yield* unlessAborted({ type: 'reasoning', block: 0, text }, signal)
    for (const text of turn.text) yield* unlessAborted({ type: 'text', block: 1, text }, signal)
    for (const [index, name] of (turn.toolCalls ?? []).entries()) {
      yield* unlessAborted(
        { type: 'tool_call', block: index + 2, id: `call_${index}`, name, input: inputOf(turn, index) },
        signal,
      )
    }
    signal.throwIfAborted()
    if (turn.failure !== undefined) throw turn.failure
    yield { type: 'usage', usage: { input: 0, output: 0, cached: 0, reasoning: 0, ...turn.usage, calls: 1 } }
    yield { type: 'finish', reason: turn.finish ?? 'stop' }
  }

  return { name: 'fake', usesTokens: false, requests, stream }
}

function inputOf({ toolInput = '{}' }: FakeTurn, index: number): string {
  return typeof toolInput === 'string' ? toolInput : (toolInput[index] ?? '{}')
}

function* unlessAborted(event: ModelEvent, signal: AbortSignal): Generator<ModelEvent> {
  signal.throwIfAborted()
  yield event
}

async function settled(gate: Promise<void>, signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true, signal: stop.signal })
  })
  try {
    await Promise.race([gate, aborted])
  } finally {
    stop.abort()
  }
}
