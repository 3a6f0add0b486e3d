import type { LuaValue } from '../engine.ts'

type Settled =
  | { readonly kind: 'values'; readonly values: readonly LuaValue[] }
  | { readonly kind: 'failed'; readonly error: unknown }

/** What a call of a host function came to: this many results on the stack, its error, or its promise. */
export type Called =
  | { readonly kind: 'pushed'; readonly count: number }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'waits'; readonly result: Promise<readonly LuaValue[]> }

/** A host function that has returned a promise, and what became of it. */
export interface Wait {
  readonly path: string
  /** Never rejects. */
  readonly settled: Promise<void>
  outcome: { readonly kind: 'pending' } | Settled
}

/** The waits of one state by their numbers. */
interface Waits {
  readonly waits: Map<number, Wait>
  nextWait: number
}

/** Begins to follow the promise `result` of the host function `path`. */
export function createWait(path: string, result: Promise<readonly LuaValue[]>): Wait {
  const wait: Wait = {
    path,
    outcome: { kind: 'pending' },
    settled: result.then(
      (values) => {
        wait.outcome = { kind: 'values', values }
      },
      (error: unknown) => {
        wait.outcome = { kind: 'failed', error }
      },
    ),
  }
  return wait
}

/** Returns the number that Lua hands outward for this wait. */
export function addWait(state: Waits, wait: Wait): number {
  const id = state.nextWait++
  state.waits.set(id, wait)
  return id
}

/** Ends a wait and returns what the call that has waited gives back; going on too early is a failure of the call. */
export function takeOutcome({ waits }: Waits, id: number): Settled {
  const waited = waits.get(id)
  waits.delete(id)
  if (waited === undefined) return { kind: 'failed', error: new Error('a wait was resumed twice') }
  const { path, outcome } = waited
  if (outcome.kind !== 'pending') return outcome
  return { kind: 'failed', error: new Error(`the coroutine was resumed while '${path}' was waiting in it`) }
}

/** Makes a wait fail that was begun in a coroutine which was resumed where nobody can wait. */
export function failWait({ waits }: Waits, id: number): void {
  const refused = waits.get(id)
  if (refused !== undefined) refused.outcome = { kind: 'failed', error: cannotWait(refused.path) }
}

export function cannotWait(path: string): Error {
  return new Error(`'${path}' has to wait for its result, which is not possible inside this callback`)
}
