import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { withoutMark } from '../base/text-lines.ts'

/** One event of a server-sent event stream. `complete` is false for a last event without its blank line. */
export interface SseEvent {
  readonly name: string
  readonly data: string
  readonly complete: boolean
}

export interface SseDecoder {
  /** Takes the next bytes, split anywhere, and returns the events they complete. */
  push(bytes: Uint8Array): readonly SseEvent[]
  /** Call at the end of the body; returns the last event if its blank line is missing. */
  end(): readonly SseEvent[]
  /** Characters of the unfinished event, without comments and empty lines; used for a size limit. */
  pending(): number
}

/**
 * Decodes `text/event-stream`: accepts UTF-8 that is split anywhere, and a last event without a blank line. Ids are
 * ignored, because many hosts use one id for all events of an answer. Two kinds of lines that are no fields of the
 * standard are events too, because servers report failures in them: `error: …`, which is an event named `error`, and a
 * JSON object without `data:`.
 */
export function createSseDecoder(): SseDecoder {
  // much faster than a TextDecoder
  const decoder = new StringDecoder('utf8')
  const pending = createPendingCount()
  // emptied, never replaced: see the list in exchange.ts
  const events: SseEvent[] = []
  let complete = true
  let endsInReturn = false
  let isBegun = false
  const parser = createParser({
    onEvent({ event: name = '', data }) {
      events.push({ name, data, complete })
    },
    onError({ type, field, value = '', line = '' }) {
      if (type !== 'unknown-field') return
      if (field === 'error') events.push({ name: 'error', data: value, complete })
      else if (line.startsWith('{')) events.push({ name: '', data: line, complete })
    },
  })

  function take(text: string): readonly SseEvent[] {
    if (text !== '') {
      parser.feed(text)
      endsInReturn = text.endsWith('\r')
    }
    return events.splice(0)
  }

  return {
    push(bytes) {
      const text = isBegun ? decoder.write(bytes) : withoutMark(decoder.write(bytes))
      isBegun ||= text !== ''
      const taken = take(text)
      pending.add(text)
      return taken
    },
    end() {
      // the parser waits for the LF that may follow a CR
      const rest = [...take(decoder.end()), ...(endsInReturn ? take('\n') : [])]
      complete = false
      return [...rest, ...take('\n\n')]
    },
    pending: () => pending.bytes(),
  }
}

/** Counts the characters of the unfinished event, without comments and empty lines; input may be split anywhere. */
function createPendingCount(): { add(text: string): void; bytes(): number } {
  let line: 'start' | 'comment' | 'field' = 'start'
  let bytes = 0

  function read(piece: string): void {
    if (line === 'start' && piece !== '') line = piece.startsWith(':') ? 'comment' : 'field'
    if (line === 'field') bytes += piece.length
  }

  return {
    add(text) {
      // fast path: nearly every read ends with a complete event
      if (text.endsWith('\n\n')) {
        line = 'start'
        bytes = 0
        return
      }
      const [first = '', ...others] = text.split(/\r\n|[\r\n]/)
      read(first)
      for (const piece of others) {
        // an empty line ends an event, even one without data; after a CR at the end of the last chunk it may be half a
        // CRLF
        if (line === 'start') bytes = 0
        line = 'start'
        read(piece)
      }
    },
    bytes: () => bytes,
  }
}
