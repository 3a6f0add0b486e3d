/** Resources opened so far, to be closed together. */
export interface Closers {
  readonly add: (close: () => void | Promise<void>) => void
  /** Closes everything once, in reverse order. @throws the first error, after everything was closed */
  readonly close: () => Promise<void>
}

export function createClosers(): Closers {
  const all: (() => void | Promise<void>)[] = []
  return {
    add: (close) => void all.push(close),
    async close() {
      const failures: unknown[] = []
      for (const close of all.splice(0).toReversed()) {
        try {
          await close()
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}
