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
  /** Bytes of the event that is not finished yet; what a limit is put on. */
  pending(): number
  /** Whether the last bytes only kept the connection alive: comments, empty lines, pings, events that came before. */
  isQuiet(): boolean
}

/**
 * Decodes `text/event-stream`: UTF-8 that is cut anywhere, and a last event without a blank line. An event that is sent
 * again with its id is given once.
 */
export function createSseDecoder(): SseDecoder {
  const decoder = new TextDecoder()
  const isRepeated = createRepeatFinder()
  const comments = createCommentFinder()
  let events: SseEvent[] = []
  let complete = true
  let pending = 0
  let isQuiet = false
  let endsInReturn = false
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
    const taken = events
    events = []
    return taken
  }

  return {
    push(bytes) {
      const text = decoder.decode(bytes, { stream: true })
      const taken = take(text)
      if (taken.length > 0) {
        comments.passOver(text)
        isQuiet = taken.every(isPing)
        pending = 0
      } else {
        isQuiet = !comments.hasFields(text)
        pending += isQuiet ? 0 : bytes.length
      }
      return taken
    },
    end() {
      // the parser waits for the LF that may follow a CR
      const rest = [...take(decoder.decode()), ...(endsInReturn ? take('\n') : [])]
      complete = false
      return [...rest, ...take('\n\n')]
    },
    pending: () => pending,
    isQuiet: () => isQuiet,
  }
}

/** What some hosts send while nothing else is there to be sent. */
function isPing({ name, data }: SseEvent): boolean {
  return name === 'ping' || data === '' || (data.length < 40 && /^\{\s*"type"\s*:\s*"ping"\s*\}$/.test(data))
}

/** Finds out whether text that finishes no event has anything besides comments and empty lines, which may be cut anywhere. */
function createCommentFinder(): { hasFields(text: string): boolean; passOver(text: string): void } {
  let line: 'start' | 'comment' | 'field' = 'start'

  function read(piece: string): boolean {
    if (line === 'start' && piece !== '') line = piece.startsWith(':') ? 'comment' : 'field'
    return line === 'field' && piece !== ''
  }

  return {
    hasFields(text) {
      const [first = '', ...others] = text.split(/[\r\n]/)
      let found = read(first)
      for (const piece of others) {
        line = 'start'
        found = read(piece) || found
      }
      return found
    },
    passOver(text) {
      const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
      if (end !== -1) line = 'start'
      read(text.slice(end + 1))
    },
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
