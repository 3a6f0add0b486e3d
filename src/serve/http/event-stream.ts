/** What one client of an event stream is to get. */
interface EventSource {
  /** The events that wait, as text; undefined: none now. Asked only when the client has taken what came before. */
  readonly take: () => string | undefined
  /** Nothing comes any more. */
  readonly isOver: () => boolean
  readonly close: () => void
}

/** Opens a source; `wake` is to be called when there may be something to take. */
export type OpenSource = (wake: () => void) => EventSource

export interface EventStreams {
  /** The answer with a stream; it ends with its source, or when the client goes or no longer reads. */
  readonly open: (source: OpenSource) => Response
  /** Ends all of them. */
  readonly close: () => void
}

/** A comment is sent this often, so that both ends notice when the other one is gone. */
const beatMs = 15_000
/** A client that has taken nothing for so many beats is let go: it comes again with its last event id. */
const mostBeats = 4

const encoder = new TextEncoder()

/**
 * Streams of server-sent events. A client is given what has come together since it took the last piece, so that one that
 * reads slowly takes no memory.
 */
export function createEventStreams(): EventStreams {
  const ends = new Set<() => void>()

  function stream(openSource: OpenSource): ReadableStream<Uint8Array> {
    let wake = (): void => {}
    let isPulling = false
    let wantsBeat = false
    let missed = 0
    let isClosed = false
    const source = openSource(() => wake())

    function end(): void {
      isClosed = true
      clearInterval(timer)
      ends.delete(end)
      source.close()
      wake()
    }

    function beat(controller: ReadableStreamDefaultController<Uint8Array>): void {
      missed = isPulling ? 0 : missed + 1
      wantsBeat = true
      wake()
      if (missed < mostBeats) return
      end()
      controller.error(new Error('the client does not read'))
    }

    let timer: NodeJS.Timeout | undefined
    ends.add(end)
    return new ReadableStream<Uint8Array>({
      start(controller) {
        timer = setInterval(() => beat(controller), beatMs).unref()
      },
      async pull(controller) {
        isPulling = true
        try {
          for (;;) {
            const text = isClosed ? undefined : source.take()
            if (text !== undefined) return controller.enqueue(encoder.encode(text))
            if (isClosed || source.isOver()) break
            if (wantsBeat) {
              wantsBeat = false
              return controller.enqueue(encoder.encode(': still here\n\n'))
            }
            await new Promise<void>((resolve) => (wake = resolve))
          }
          if (!isClosed) end()
          controller.close()
        } finally {
          isPulling = false
          missed = 0
        }
      },
      cancel: end,
    })
  }

  return {
    open: (source) =>
      new Response(stream(source), {
        headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
      }),
    close() {
      for (const end of ends) end()
    },
  }
}

/** One event as it is sent. `id`: what a client comes again with. */
export function eventText(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
