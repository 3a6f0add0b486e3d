export interface InOrder<T> {
  /** Takes what has the index, from 0; each index once. */
  add(index: number, value: T): void
  /** Opens what was held and hands over all that waits, in order, also behind an index that never came. */
  release(): void
}

/** Hands values over in the order of their index, whatever order they come in. `held`: not before `release`. */
export function createInOrder<T>(
  deliver: (value: T) => void,
  { held }: { readonly held: boolean } = { held: false },
): InOrder<T> {
  const waiting = new Map<number, T>()
  let next = 0
  let open = !held

  return {
    add(index, value) {
      waiting.set(index, value)
      if (!open) return
      while (waiting.has(next)) {
        const ready = waiting.get(next) as T
        waiting.delete(next)
        next += 1
        deliver(ready)
      }
    },
    release() {
      open = true
      const rest = [...waiting.entries()].toSorted(([left], [right]) => left - right)
      waiting.clear()
      for (const [, value] of rest) deliver(value)
    },
  }
}
