import type { PlacedRow, Row } from '../../history/rows.ts'
import type { ShownSummary } from '../../journal/summary.ts'
import { beginning, type Position, positionText } from '../../journal/follow.ts'
import { eventText, type OpenSource } from './event-stream.ts'
import type { LiveText, LiveTexts } from '../../journal/live-texts.ts'
import type { RunChanges } from './run-feed.ts'

/** Changed rows, and the cursor for the next page. */
export interface RowPage {
  readonly rows: readonly Row[]
  readonly cursor: string
}

/** Rows per event, so that a client can draw while the next ones are prepared. */
const rowsAtOnce = 500

/** The events of one run for one client, starting after a position. The feed must have been read once. */
export function runEvents(feed: RunChanges, after: Position, texts: LiveTexts): OpenSource {
  return (wake) => {
    // the client is ahead because records were lost in a power failure: everything is sent again
    let position = after > feed.position() ? beginning : after
    let sent: ShownSummary | undefined
    let isOver = false
    /** What had changed when all before it was sent: looking for it once is enough for many events. */
    let unsent: readonly PlacedRow[] = []
    /** How many characters of each text were sent. */
    const sentLengths = new WeakMap<LiveText, number>()
    const endListening = feed.listen(wake)
    const endTexts = texts.listen(wake)

    function rows(): string {
      if (unsent.length === 0 && feed.latest() > position) unsent = feed.changedAfter(position)
      if (unsent.length === 0) return ''
      const page = firstOf(unsent)
      unsent = unsent.slice(page.length)
      position = page.at(-1)?.changed ?? position
      return eventText('rows', pageOf(page, position), positionText(position))
    }

    /** What the client lacks of the texts in progress; of one that it does not know, all of it. */
    function deltas(): string {
      let sent = ''
      for (const one of texts.all()) {
        const at = sentLengths.get(one) ?? 0
        // clients know calls by their rows, which are read a little later
        const place = one.text.length > at ? feed.callIn(one.agent, one.since) : undefined
        if (place === undefined) continue
        sentLengths.set(one, one.text.length)
        sent += eventText('delta', { place, kind: one.kind, at, text: one.text.slice(at) })
      }
      return sent
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
        const text = `${rows()}${deltas()}${run()}${over()}`
        return text === '' ? undefined : text
      },
      isOver: () => isOver,
      close() {
        endListening()
        endTexts()
      },
    }
  }
}

/** All rows changed after a position; in a run that is over, with the final state of rows that have not ended. */
export function rowsAfter(feed: RunChanges, after: Position): RowPage & { readonly over: boolean } {
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
  let end = Math.min(rowsAtOnce, changed.length)
  while (end > 0 && end < changed.length && changed[end]?.changed === changed[end - 1]?.changed) end += 1
  return changed.slice(0, end)
}

function pageOf(placed: readonly PlacedRow[], position: Position): RowPage {
  const rows = placed.map(({ row }) => row).toSorted(byNumber)
  return { rows, cursor: positionText(position) }
}

function byNumber(one: Row, other: Row): number {
  return one.n - other.n
}
