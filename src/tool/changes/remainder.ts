import { closesFence, endsInFence, opensFence } from './fence.ts'

/** What is left of an answer while its changes are taken out, line by line. */
export interface Remainder {
  readonly add: (line: string) => void
  /**
   * A block has been taken out, and `at` is the first line behind it. A fence that held nothing else goes too, when
   * `lines` close it. Gives the line to go on with.
   */
  readonly cut: (lines: readonly string[], at: number) => number
  /** True while a fence is open that holds text already: what follows is part of a quotation. */
  readonly isQuoting: () => boolean
  /** The lines as they were written. */
  readonly text: () => string
  /** The same with an empty line in place of each hole; exactly the text when there is none. */
  readonly tidyText: () => string
}

export function createRemainder(): Remainder {
  const kept: string[] = []
  const cuts = new Set<number>()

  return {
    add(line) {
      if (line !== '') kept.push(line)
    },
    cut(lines, at) {
      const opening = kept.findLastIndex(hasText)
      const closing = lines.findIndex((line, index) => index >= at && hasText(line))
      const isEmptyFence = opensFence(kept[opening]) && closesFence(lines[closing]) && endsInFence(kept)
      if (isEmptyFence) kept.length = opening
      cuts.add(kept.length)
      return isEmptyFence ? closing + 1 : at
    },
    isQuoting: () => !opensFence(kept.findLast(hasText)) && endsInFence(kept),
    text: () => kept.join(''),
    tidyText() {
      if (cuts.size === 0) return kept.join('')
      const ends = [...cuts].filter((cut) => cut <= kept.length).toSorted((one, other) => one - other)
      const parts = [...ends, kept.length].map((end, index) => kept.slice(ends[index - 1] ?? 0, end))
      return parts
        .map((part) =>
          part
            .slice(part.findIndex(hasText), part.findLastIndex(hasText) + 1)
            .join('')
            .trimEnd(),
        )
        .filter((part) => part !== '')
        .join('\n\n')
    },
  }
}

function hasText(line: string): boolean {
  return line.trim() !== ''
}
