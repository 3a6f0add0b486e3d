import { type Place, placeText, withoutCall } from '../event/place.ts'
import type { JournalRecord, RecordOf } from './record.ts'
import type { RunIndex } from './run-index.ts'
import { type PlaceNode, showsBelow } from './tree.ts'

/** Called for each event that is shown again. */
export type OnShow = (record: RecordOf<'show'>) => void

/** Replays, in order, the events of parts that are answered from a record and not done again. */
interface ShownAgain {
  /** Replays what a call has shown: below its place, and in its section before it returned. */
  readonly ofCall: (at: Place) => void
  /** Replays what was shown in a boundary that is reused. */
  readonly ofBoundary: (node: PlaceNode) => void
}

export function createShownAgain({ tree, source, shows }: RunIndex, onShow: OnShow): ShownAgain {
  /** How much of each unfinished section was shown again. */
  const shownIn = new Map<PlaceNode, number>()

  function show(record: JournalRecord): void {
    if (record.k === 'show') onShow(record)
  }

  return {
    ofCall(at) {
      const section = tree.find(placeText(withoutCall(at)))
      const node = tree.find(placeText(at))
      if (section === undefined || node?.returned === undefined) return
      const own = section.shows ?? []
      const first = shownIn.get(section) ?? 0
      let end = first
      while ((own[end] ?? Infinity) < node.returned) end += 1
      shownIn.set(section, end)
      const below = [...own.slice(first, end), ...showsBelow(node)]
      for (const location of below.toSorted((left, right) => left - right)) show(source.at(location))
    },
    ofBoundary(node) {
      for (const record of shows(node)) show(record)
    },
  }
}
