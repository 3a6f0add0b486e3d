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
  let data: string | undefined

  function push(bytes: Uint8Array): SseEvent[] {
    size += bytes.length
    return takeText(decoder.decode(bytes, { stream: true }))
  }

  function takeText(text: string): SseEvent[] {
    const events: SseEvent[] = []
    const nextEnd = text.includes('\r') ? anyLineEnd : lineFeed
    let start = 0
    if (afterReturn && text !== '') {
      afterReturn = false
      if (text.startsWith('\n')) start = 1
    }
    for (let end = nextEnd(text, start); end !== -1; end = nextEnd(text, start)) {
      const event = takeLine(withPieces(text.slice(start, end)), true)
      if (event !== undefined) events.push(event)
      start = end + 1
      if (text[end] !== '\r') continue
      if (start === text.length) afterReturn = true
      else if (text[start] === '\n') start += 1
    }
    if (start < text.length) pieces.push(text.slice(start))
    return events
  }

  /** The line that ends with this text. */
  function withPieces(text: string): string {
    if (pieces.length === 0) return text
    const line = pieces.join('') + text
    pieces = []
    return line
  }

  function takeLine(line: string, complete: boolean): SseEvent | undefined {
    if (line === '') return dispatch(complete)
    if (isField(line, 'data')) {
      const value = valueOf(line, 'data')
      data = data === undefined ? value : `${data}\n${value}`
    } else if (isField(line, 'event')) {
      name = valueOf(line, 'event')
    }
    return undefined
  }

  function dispatch(complete: boolean): SseEvent | undefined {
    const event = data === undefined ? undefined : { name, data, complete }
    name = ''
    data = undefined
    size = 0
    return event
  }

  function end(): SseEvent[] {
    const events = takeText(decoder.decode())
    const rest = withPieces('')
    if (rest !== '') takeLine(rest, false)
    const last = dispatch(false)
    return last === undefined ? events : [...events, last]
  }

  return { push, end, pending: () => size }
}

function isField(line: string, field: string): boolean {
  return line.startsWith(field) && (line.length === field.length || line[field.length] === ':')
}

function valueOf(line: string, field: string): string {
  const start = field.length + 1
  return line.slice(line[start] === ' ' ? start + 1 : start)
}

function lineFeed(text: string, from: number): number {
  return text.indexOf('\n', from)
}

function anyLineEnd(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  const carriage = text.indexOf('\r', from)
  if (carriage === -1) return feed
  return feed === -1 ? carriage : Math.min(feed, carriage)
}
