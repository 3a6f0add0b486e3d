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
  /** Bytes that have been taken and belong to no finished event; what a limit is put on. */
  pending(): number
}

/**
 * Decodes `text/event-stream`: LF, CRLF and CR line ends, a byte order mark, comments, data over several lines, UTF-8
 * cut anywhere, and a last event without a blank line (spec/engines.md F8). A long line is joined once, not per piece.
 */
export function createSseDecoder(): SseDecoder {
  const decoder = new TextDecoder()
  let pieces: string[] = []
  let size = 0
  let afterReturn = false
  let name = ''
  let data: string[] = []

  function push(bytes: Uint8Array): SseEvent[] {
    size += bytes.length
    return takeText(decoder.decode(bytes, { stream: true }))
  }

  function takeText(text: string): SseEvent[] {
    const events: SseEvent[] = []
    let start = 0
    if (afterReturn && text !== '') {
      afterReturn = false
      if (text.startsWith('\n')) start = 1
    }
    for (let end = lineEnd(text, start); end !== -1; end = lineEnd(text, start)) {
      pieces.push(text.slice(start, end))
      const line = pieces.length === 1 ? (pieces[0] ?? '') : pieces.join('')
      pieces = []
      const event = takeLine(line, true)
      if (event !== undefined) events.push(event)
      start = end + 1
      if (text[end] !== '\r') continue
      if (start === text.length) afterReturn = true
      else if (text[start] === '\n') start += 1
    }
    if (start < text.length) pieces.push(text.slice(start))
    return events
  }

  function takeLine(line: string, complete: boolean): SseEvent | undefined {
    if (line === '') return dispatch(complete)
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    if (field !== 'data' && field !== 'event') return undefined
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else name = value
    return undefined
  }

  function dispatch(complete: boolean): SseEvent | undefined {
    const event = data.length === 0 ? undefined : { name, data: data.join('\n'), complete }
    name = ''
    data = []
    size = 0
    return event
  }

  function end(): SseEvent[] {
    const events = takeText(decoder.decode())
    const rest = pieces.join('')
    pieces = []
    if (rest !== '') takeLine(rest, false)
    const last = dispatch(false)
    return last === undefined ? events : [...events, last]
  }

  return { push, end, pending: () => size }
}

function lineEnd(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  const carriage = text.indexOf('\r', from)
  if (carriage === -1) return feed
  return feed === -1 ? carriage : Math.min(feed, carriage)
}
