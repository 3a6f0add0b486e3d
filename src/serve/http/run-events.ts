import type { PlacedRow, Row } from '../../history/rows.ts'
import { beginning, type Position, positionText } from '../../journal/follow.ts'
import type { Delta } from '../workers/messages.ts'
import { eventText, type OpenSource } from './event-stream.ts'
import type { ShownRun } from './read-runs.ts'
import type { RunFeed } from './run-feed.ts'

/** Calls the listener with each piece from a run of this server, until the returned function is called. */
export type ListenToDeltas = (listener: (delta: Delta) => void) => () => void

/** Changed rows, and the cursor for the next page. */
export interface RowPage {
  readonly rows: readonly Row[]
  readonly cursor: string
}

/** Rows per event, so that a client can draw while the next ones are prepared. */
const rowsAtOnce = 500

/** The events of one run for one client, starting after a position. The feed must have been read once. */
export function runEvents(feed: RunFeed, after: Position, listenToDeltas: ListenToDeltas): OpenSource {
  return (wake) => {
    // the client is ahead because records were lost in a power failure: everything is sent again
    let position = after > feed.position() ? beginning : after
    let sent: ShownRun | undefined
    let isOver = false
    const deltas = createWaitingDeltas(feed)
    const endListening = feed.listen(wake)
    const endDeltas = listenToDeltas((delta) => {
      deltas.add(delta)
      wake()
    })

    function rows(): string {
      if (feed.latest() <= position) return ''
      const page = firstOf(feed.changedAfter(position))
      position = page.at(-1)?.changed ?? position
      return eventText('rows', pageOf(page, position), positionText(position))
    }

    function run(): string {
      const now = feed.run()
      if (now === undefined || now === sent) return ''
      sent = now
      return eventText('run', now)
    }

    function over(): string {
      if (isOver || !feed.isOver() || feed.latest() > position) return ''
      isOver = true
      const left = feed.left()
      const rest = left.length === 0 ? '' : eventText('rows', { rows: left, cursor: positionText(position) })
      return `${rest}${eventText('over', {})}`
    }

    return {
      take() {
        const text = `${rows()}${deltas.take()}${run()}${over()}`
        return text === '' ? undefined : text
      },
      isOver: () => isOver,
      close() {
        endListening()
        endDeltas()
      },
    }
  }
}

/** Maximum characters of pieces pending for a client. More are dropped: the whole text is in the records. */
const mostWaiting = 256 * 1024

interface WaitingDelta {
  readonly delta: Delta
  /** How many times the run had been read when the piece arrived. */
  readonly since: number
}

/**
 * Pieces pending for one client, which identifies model calls by their rows: a piece is held until its row was read.
 */
function createWaitingDeltas(feed: RunFeed) {
  let waiting: WaitingDelta[] = []
  let size = 0
  return {
    add(delta: Delta): void {
      if (size + delta.text.length > mostWaiting) return
      size += delta.text.length
      const since = feed.reads()
      const last = waiting.at(-1)
      const isMore = last?.since === since && last.delta.place === delta.place && last.delta.kind === delta.kind
      if (isMore) waiting.pop()
      waiting.push({ since, delta: isMore ? { ...delta, text: last.delta.text + delta.text } : delta })
    },
    take(): string {
      const taken = waiting
      waiting = []
      size = 0
      let text = ''
      for (const one of taken) {
        const { delta, since } = one
        const place = feed.callIn(delta.place)
        if (place !== undefined) text += eventText('delta', { ...delta, place })
        // if no row appears within two reads, the call has ended, and its pieces are no longer needed
        else if (feed.reads() - since < 2) {
          waiting.push(one)
          size += delta.text.length
        }
      }
      return text
    },
  }
}

/** All rows changed after a position; in a run that is over, with the final state of rows that have not ended. */
export function rowsAfter(feed: RunFeed, after: Position): RowPage & { readonly over: boolean } {
  const position = after > feed.position() ? beginning : after
  const changed = feed.changedAfter(position)
  const { rows, cursor } = pageOf(changed, changed.at(-1)?.changed ?? position)
  if (!feed.isOver()) return { rows, cursor, over: false }
  const left = new Map(feed.left().map((row) => [row.n, row]))
  const seen = new Set(rows.map(({ n }) => n))
  const others = [...left.values()].filter(({ n }) => !seen.has(n))
  const all = [...rows.map((row) => left.get(row.n) ?? row), ...others]
  return { rows: all.toSorted(byNumber), cursor, over: true }
}

/**
 * The rows of one event. Rows changed by the same record stay together, because a cursor is a position after a record.
 */
function firstOf(changed: readonly PlacedRow[]): readonly PlacedRow[] {
  const last = changed[rowsAtOnce - 1]?.changed
  return last === undefined ? changed : changed.filter((one, index) => index < rowsAtOnce || one.changed === last)
}

function pageOf(placed: readonly PlacedRow[], position: Position): RowPage {
  const rows = placed.map(({ row }) => row).toSorted(byNumber)
  return { rows, cursor: positionText(position) }
}

function byNumber(one: Row, other: Row): number {
  return one.n - other.n
}
