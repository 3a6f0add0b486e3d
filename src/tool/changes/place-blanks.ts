import { hasText } from './fence.ts'
import type { Hunk } from './hunk.ts'
import type { Looking } from './place-starts.ts'

type Lines = Pick<Looking, 'lines' | 'without'>

/** For each line of a hunk, the index of the matching line of the file, if any. */
export type LineIndices = readonly (number | undefined)[]

/**
 * Matches blank context and removed lines, which were not compared, with the blank lines of the file at their place, if
 * any.
 */
export function placeBlanks(at: LineIndices, hunk: Hunk, options: Lines): LineIndices {
  const isOpen = hunk.lines.map(
    (line, number) => (line.kind === 'context' || line.kind === 'remove') && at[number] === undefined,
  )
  if (!isOpen.includes(true)) return at
  const used = new Set(at)
  const placed = [...at]
  const first = at.findIndex((index) => index !== undefined)

  const fill = (from: number, step: 1 | -1): void => {
    let neighbour = at[first]
    for (let number = from; number >= 0 && number < placed.length; number += step) {
      if (isOpen[number] === true && neighbour !== undefined) {
        const next = blankBeside(neighbour, step, options)
        if (next !== undefined && !used.has(next)) {
          placed[number] = next
          used.add(next)
        }
      }
      neighbour = placed[number] ?? neighbour
    }
  }
  fill(first + 1, 1)
  fill(first - 1, -1)
  return placed
}

function blankBeside(index: number, step: 1 | -1, { lines, without }: Lines): number | undefined {
  let next = index + step
  while (without === 'added' && lines[next] !== undefined && lines[next]?.number === undefined) next += step
  const line = lines[next]
  return line !== undefined && !hasText(line.text) ? next : undefined
}
