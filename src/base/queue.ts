/** A push side and an async-iterable side. Reading ends after `end()`, once everything pushed was read. */
export interface Queue<T> extends AsyncIterable<T> {
  readonly push: (item: T) => void
  readonly end: () => void
}

export function createQueue<T>(): Queue<T> {
  const items: T[] = []
  let ended = false
  let wake = (): void => {}

  async function* read(): AsyncGenerator<T> {
    for (;;) {
      while (items.length > 0) yield items.shift() as T
      if (ended) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  return {
    push(item) {
      items.push(item)
      wake()
    },
    end() {
      ended = true
      wake()
    },
    [Symbol.asyncIterator]: read,
  }
}
