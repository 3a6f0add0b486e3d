/** What has been opened so far, to be closed together. */
export interface Closers {
  readonly add: (close: () => void | Promise<void>) => void
  /** Closes all of it once, the last that was opened first. @throws what the first that failed has thrown, in the end */
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
