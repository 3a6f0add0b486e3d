import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { withoutMark } from '../base/text-lines.ts'

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
  /** Characters of the event that is not finished yet, without comments and empty lines; what a limit is put on. */
  pending(): number
}

/**
 * Decodes `text/event-stream`: UTF-8 that is cut anywhere, and a last event without a blank line. An event that is sent
 * again with its id is given once.
 */
export function createSseDecoder(): SseDecoder {
  // takes a fraction of the time of a TextDecoder
  const decoder = new StringDecoder('utf8')
  const isRepeated = createRepeatFinder()
  const pending = createPendingCount()
  // never replaced: see the list in exchange.ts
  const events: SseEvent[] = []
  let complete = true
  let endsInReturn = false
  let isBegun = false
  const parser = createParser({
    onEvent({ id, event: name = '', data }) {
      if (id === undefined || !isRepeated(id, data)) events.push({ name, data, complete })
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

/** Counts what has come of the event that is not finished yet: without comments and empty lines, which may be cut anywhere. */
function createPendingCount(): { add(text: string): void; bytes(): number } {
  let line: 'start' | 'comment' | 'field' = 'start'
  let bytes = 0

  function read(piece: string): void {
    if (line === 'start' && piece !== '') line = piece.startsWith(':') ? 'comment' : 'field'
    if (line === 'field') bytes += piece.length
  }

  return {
    add(text) {
      // nearly every read ends with its last event
      if (text.endsWith('\n\n')) {
        line = 'start'
        bytes = 0
        return
      }
      const [first = '', ...others] = text.split(/\r\n|[\r\n]/)
      read(first)
      for (const piece of others) {
        // an empty line ends an event, also one without data; after a CR that came before it may be half of a line end
        if (line === 'start') bytes = 0
        line = 'start'
        read(piece)
      }
    },
    bytes: () => bytes,
  }
}

/** An id is remembered this long: what is sent again is sent soon after. */
const mostIds = 1024

/**
 * Finds events that are sent again after a connection on the way broke: the same id and the same data. Some hosts give all
 * events of an answer one id; there it says nothing.
 */
function createRepeatFinder(): (id: string, data: string) => boolean {
  const known = new Map<string, string>()
  let isUnique = true
  return (id, data) => {
    if (!isUnique) return false
    const before = known.get(id)
    if (before !== undefined && before !== data) isUnique = false
    if (before !== undefined) return isUnique
    known.set(id, data)
    if (known.size > mostIds) known.delete(known.keys().next().value ?? '')
    return false
  }
}
