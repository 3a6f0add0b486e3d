/** How a stream of events stands: `lost` until the browser has it again. */
export type StreamState = 'connecting' | 'open' | 'lost'

export interface StreamOptions {
  /** By the name of an event: what is done with its data. */
  readonly on: Readonly<Record<string, (data: string) => void>>
  readonly onState: (state: StreamState) => void
}

/** A stream that the server has refused is asked for again after this many milliseconds. */
const again = 3_000

/**
 * Follows a stream of events until the returned function is called. The browser connects again by itself and names the last
 * event that it has seen; a stream that was refused begins anew.
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
