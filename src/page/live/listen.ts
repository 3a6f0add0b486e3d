/** The state of an event stream; `lost` until the browser has reconnected. */
export type StreamState = 'connecting' | 'open' | 'lost'

export interface StreamOptions {
  /** Handlers of event data, by event name. */
  readonly on: Readonly<Record<string, (data: string) => void>>
  readonly onState: (state: StreamState) => void
}

/** Milliseconds before a stream that the server has refused is opened again. */
const again = 3_000

/**
 * Follows an event stream until the returned function is called. The browser reconnects automatically with the id of
 * the last event. A stream that was refused is opened from the start.
 */
export function listen(path: string, { on, onState }: StreamOptions): () => void {
  let source: EventSource
  let timer: ReturnType<typeof setTimeout> | undefined

  function open(): void {
    source = new EventSource(path)
    source.addEventListener('open', () => onState('open'))
    source.addEventListener('error', () => {
      onState('lost')
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, again)
    })
    for (const [name, take] of Object.entries(on)) {
      source.addEventListener(name, (event: MessageEvent<string>) => take(event.data))
    }
  }

  onState('connecting')
  open()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}
