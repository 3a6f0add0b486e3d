import { originText, placeAround } from '../../event/place.ts'
import type { Delta } from '../live/wire.ts'
import type { Row } from './row.ts'

/** Answers in progress, by the place of their model call. */
export type LiveTexts = ReadonlyMap<string, string>

/** The answers in progress of a run. One stays until what was recorded of it is shown, so that nothing flickers. */
export interface LiveTextStore {
  readonly texts: LiveTexts
  readonly add: (delta: Delta) => void
  readonly rows: (rows: readonly Row[]) => void
  /** What the run has answered was fetched again: forgets the texts of tasks that had ended. */
  readonly fetched: () => void
  readonly clear: () => void
}

export function createLiveTextStore(): LiveTextStore {
  const texts = new Map<string, string>()
  const ended = new Set<string>()
  return {
    texts,
    add({ place, kind, at, text }) {
      if (kind !== 'text') return
      const known = texts.get(place)
      // the next call of a conversation
      if (known === undefined)
        for (const other of texts.keys()) if (agentOf(other) === agentOf(place)) texts.delete(other)
      texts.set(place, (known ?? '').slice(0, at) + text)
    },
    rows(rows) {
      for (const { kind, place, state } of rows) if (kind === 'task' && state !== 'running') ended.add(place)
    },
    fetched() {
      for (const place of texts.keys()) if (isInside(place, ended)) texts.delete(place)
      ended.clear()
    },
    clear: () => texts.clear(),
  }
}

function agentOf(place: string): string {
  return place.replace(/turn\/\d+#\d+$/, '')
}

function isInside(place: string, ended: ReadonlySet<string>): boolean {
  for (let at = originText(place); at !== ''; at = placeAround(at)) if (ended.has(at)) return true
  return false
}

const fence = /^ {0,3}(`{3,}|~{3,})/
/** Characters after which a text is divided at its next blank line. */
const blockSize = 3_000

/**
 * Divides Markdown at blank lines outside of code, so that only the end of a growing text is rendered again. Joined by
 * line breaks, the blocks are the text.
 */
export function liveBlocks(text: string): readonly string[] {
  const blocks: string[] = []
  let lines: string[] = []
  let size = 0
  let code: string | undefined
  for (const line of text.split('\n')) {
    const [, ticks] = fence.exec(line) ?? []
    if (code === undefined) code = ticks
    else if (ticks?.startsWith(code) === true) code = undefined
    lines.push(line)
    size += line.length + 1
    if (size < blockSize || code !== undefined || line.trim() !== '') continue
    blocks.push(lines.join('\n'))
    lines = []
    size = 0
  }
  return [...blocks, lines.join('\n')]
}
