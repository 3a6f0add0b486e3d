import { LuaError, type LuaValue } from '../engine.ts'
import type { Interrupts } from './interrupts.ts'

export interface RunOptions {
  readonly variables: { readonly [name: string]: LuaValue }
  readonly signal: AbortSignal
}

/** How far a chunk has come: it is done, gives the event loop a turn, or waits for a promise that never rejects. */
export type Step =
  | { readonly kind: 'done' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'wait'; readonly until: Promise<void> }

/** What an engine does with the thread of a chunk. What has been opened is ended once, whatever happens. */
interface ChunkSteps<Thread, Results> {
  readonly open: () => Thread
  readonly start: (thread: Thread) => void
  readonly next: (thread: Thread) => Step
  readonly results: (thread: Thread) => Results
  readonly end: (thread: Thread) => void
}

interface TurnContext {
  readonly signal: AbortSignal
  readonly turns: Turns
}

/**
 * Takes steps until the chunk is done, going back to the event loop between them. Rejects at once when the run is aborted
 * or its state is closed. Results are read and the thread ends in the same turn as the last step: nothing comes between.
 */
export async function takeTurns<Thread, Results>(
  steps: ChunkSteps<Thread, Results>,
  context: TurnContext,
): Promise<Results> {
  const { signal, turns } = context
  const thread = steps.open()
  try {
    steps.start(thread)
    for (;;) {
      signal.throwIfAborted()
      const step = steps.next(thread)
      if (step.kind === 'done') return steps.results(thread)
      await turns.take(step.kind === 'pause' ? nextTurn() : step.until)
    }
  } finally {
    steps.end(thread)
  }
}

/** Takes all steps of the module `name` at once. Throws `LuaError` when it has to wait for a host function. */
export function takeSteps<Thread>(steps: Pick<ChunkSteps<Thread, never>, 'open' | 'next' | 'end'>, name: string): void {
  const thread = steps.open()
  try {
    for (;;) {
      const step = steps.next(thread)
      if (step.kind === 'done') return
      if (step.kind === 'wait') throw new LuaError('a module cannot wait while it is loaded', { chunk: name })
    }
  } finally {
    steps.end(thread)
  }
}

interface Turns {
  /** Waits for a promise that never rejects. Rejects at once when the run is aborted or its state is closed. */
  take(until: Promise<void>): Promise<void>
  end(): void
}

interface TurnOptions {
  readonly signal: AbortSignal
  /** Interrupts of the state, called when it is closed. */
  readonly interrupts: Set<(reason: unknown) => void>
  readonly aborts: Interrupts
}

/** Whoever makes turns ends them. */
export function createTurns({ signal, interrupts, aborts }: TurnOptions): Turns {
  let reject: (reason: unknown) => void = () => undefined
  const interrupt = (reason: unknown): void => reject(reason)
  interrupts.add(interrupt)
  const stopListening = aborts.listen(signal, interrupt)
  return {
    take(until) {
      return new Promise((resolve, fail) => {
        if (signal.aborted) fail(signal.reason)
        reject = fail
        void until.then(resolve)
      })
    },
    end() {
      interrupts.delete(interrupt)
      stopListening()
    },
  }
}

async function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
