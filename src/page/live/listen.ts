import { fetchSigned } from './session.ts'

/** The state of an event stream; `lost` until it is open again. */
export type StreamState = 'connecting' | 'open' | 'lost'

export interface StreamOptions {
  /** Handlers of event data, by event name. */
  readonly on: Readonly<Record<string, (data: string) => void>>
  readonly onState: (state: StreamState) => void
}

/** Milliseconds before a stream that has ended or was refused is opened again. */
const again = 3_000

/**
 * Follows an event stream until the returned function is called. A stream that breaks off is opened again with the id of
 * the last event, and one that was refused from the start; without a valid token it is not opened again. While nobody
 * looks at the page it has no stream: a browser has six connections to a server for all its tabs together.
 */
export function listen(path: string, { on, onState }: StreamOptions): () => void {
  const stop = new AbortController()
  const { signal } = stop
  let lastId = ''

  async function open(signal: AbortSignal): Promise<'again' | 'refused'> {
    const headers = { accept: 'text/event-stream', ...(lastId !== '' && { 'last-event-id': lastId }) }
    const response = await fetchSigned(path, { headers, signal, cache: 'no-store' })
    if (response.status === 401) return 'refused'
    if (!response.ok || response.body === null) {
      lastId = ''
      await response.body?.cancel()
      return 'again'
    }
    onState('open')
    for await (const { event, data, id } of eventsIn(response.body)) {
      if (signal.aborted) break
      lastId = id ?? lastId
      on[event]?.(data)
    }
    return 'again'
  }

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      await untilShown(signal)
      const { hidden, leave } = whenHidden()
      const end = await open(AbortSignal.any([signal, hidden])).catch((): 'again' => 'again')
      leave()
      if (signal.aborted) return
      // it goes on from here when the page is looked at again
      if (hidden.aborted) continue
      onState('lost')
      if (end === 'refused') return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, again)
        signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
      })
    }
  }

  onState('connecting')
  void follow()
  return () => stop.abort()
}

const isHidden = (): boolean => document.visibilityState === 'hidden'

/** Resolves when the page is looked at, or the signal is aborted. */
function untilShown(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isHidden() && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look, { once: true })
    look()
  })
}

/** `hidden`: aborted when nobody looks at the page any more, until `leave` is called. */
function whenHidden(): { readonly hidden: AbortSignal; readonly leave: () => void } {
  const stop = new AbortController()
  const look = (): void => {
    if (isHidden()) stop.abort()
  }
  document.addEventListener('visibilitychange', look)
  return { hidden: stop.signal, leave: () => document.removeEventListener('visibilitychange', look) }
}

interface ServerEvent {
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/** The events of our own server: one line for each field, and an empty line after each event. */
async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const parts = `${text}${decoder.decode(value, { stream: true })}`.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const fields = new Map(part.split('\n').map(field))
        const data = fields.get('data')
        if (data !== undefined) yield { event: fields.get('event') ?? 'message', data, id: fields.get('id') }
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

function field(line: string): readonly [name: string, value: string] {
  const end = line.indexOf(': ')
  return [line.slice(0, end), line.slice(end + 2)]
}
