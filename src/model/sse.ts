import { createParser } from 'eventsource-parser'

/** One event of a server-sent event stream. `complete` is false for a last one without its blank line. */
export interface SseEvent {
  readonly name: string
  readonly data: string
  readonly complete: boolean
}

export interface SseDecoder {
  /** Takes the next bytes, cut anywhere, and gives the events that are finished by them. */
  push(bytes: Uint8Array): readonly SseEvent[]
  /** The end of the body: the last event when its blank line is missing. */
  end(): readonly SseEvent[]
  /** Bytes that were taken since the last event was finished; what a limit is put on. */
  pending(): number
}

/** Decodes `text/event-stream`: UTF-8 that is cut anywhere, and a last event without a blank line. */
export function createSseDecoder(): SseDecoder {
  const decoder = new TextDecoder()
  let events: SseEvent[] = []
  let complete = true
  let pending = 0
  let endsInReturn = false
  const parser = createParser({ onEvent: ({ event: name = '', data }) => events.push({ name, data, complete }) })

  function take(text: string): readonly SseEvent[] {
    if (text !== '') {
      parser.feed(text)
      endsInReturn = text.endsWith('\r')
    }
    const taken = events
    events = []
    return taken
  }

  return {
    push(bytes) {
      const taken = take(decoder.decode(bytes, { stream: true }))
      pending = taken.length > 0 ? 0 : pending + bytes.length
      return taken
    },
    end() {
      // the parser waits for the LF that may follow a CR
      const rest = [...take(decoder.decode()), ...(endsInReturn ? take('\n') : [])]
      complete = false
      return [...rest, ...take('\n\n')]
    },
    pending: () => pending,
  }
}
