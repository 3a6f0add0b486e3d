interface EventSource {
  /** The pending events as text; undefined: none. Called only after the client has taken the previous ones. */
  readonly take: () => string | undefined
  /** No more events will follow. */
  readonly isOver: () => boolean
  readonly close: () => void
}

/** Opens a source, which calls `wake` when there may be something to take. */
export type OpenSource = (wake: () => void) => EventSource

export interface EventStreams {
  /** A streaming response. It ends with its source, or when the client disconnects or stops reading. */
  readonly open: (source: OpenSource) => Response
  readonly close: () => void
}

/** A comment is sent at this interval, so that both ends notice when the other one is gone. */
const beatMs = 15_000
/** A client that has taken nothing for this many beats is disconnected. It can reconnect with its last event id. */
const mostBeats = 4

const encoder = new TextEncoder()

/**
 * Streams of server-sent events. Each read returns what has accumulated since the last one, so a slow client does not
 * use more memory.
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

/** An event in wire format. `id`: what a client sends when it reconnects. */
export function eventText(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
