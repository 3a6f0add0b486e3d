import { LuaError } from '../engine.ts'
import type { Interrupts } from './interrupts.ts'

/** How far a chunk has come: it is done, gives the event loop a turn, or waits for a promise that never rejects. */
export type Step =
  | { readonly kind: 'done' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'wait'; readonly until: Promise<void> }

/** What an engine does with the thread of a chunk. `end` is called once, whatever happens. */
interface ChunkSteps<Results> {
  readonly start: () => void
  readonly next: () => Step
  readonly results: () => Results
  readonly end: () => void
}

interface TurnOptions {
  readonly signal: AbortSignal
  /** Interrupts of the state, called when it is closed. */
  readonly interrupts: Set<(reason: unknown) => void>
  readonly aborts: Interrupts
}

/**
 * Takes steps until the chunk is done, going back to the event loop between them. Rejects at once when the run is aborted
 * or its state is closed. Results are read and the thread ends in the same turn as the last step: nothing comes between.
 */
export async function takeTurns<Results>(steps: ChunkSteps<Results>, options: TurnOptions): Promise<Results> {
  const { signal } = options
  const turns = createTurns(options)
  try {
    steps.start()
    for (;;) {
      signal.throwIfAborted()
      const step = steps.next()
      if (step.kind === 'done') return steps.results()
      await turns.take(step.kind === 'pause' ? nextTurn() : step.until)
    }
  } finally {
    turns.end()
    steps.end()
  }
}

/** Takes all steps of the module `name` at once. Throws `LuaError` when it has to wait for a host function. */
export function takeSteps({ next, end }: Pick<ChunkSteps<unknown>, 'next' | 'end'>, name: string): void {
  try {
    for (;;) {
      const step = next()
      if (step.kind === 'done') return
      if (step.kind === 'wait') throw new LuaError('a module cannot wait while it is loaded', { chunk: name })
    }
  } finally {
    end()
  }
}

interface Turns {
  /** Waits for a promise that never rejects. Rejects at once when the run is aborted or its state is closed. */
  take(until: Promise<void>): Promise<void>
  end(): void
}

function createTurns({ signal, interrupts, aborts }: TurnOptions): Turns {
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
