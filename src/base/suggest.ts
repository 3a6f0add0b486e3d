/**
 * The number of edits (insert, delete, replace, swap of two neighbors) between two words. Distances above `limit` are
 * `limit + 1`, so that very long words cost nothing.
 */
export function editDistance(left: string, right: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(left.length - right.length) > limit) return limit + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row]
    let least = row
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1]
      const isSwap = row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
      least = Math.min(least, current[column] ?? 0)
    }
    // a swap looks back two rows, which saves at most one edit
    if (least > limit + 1) return limit + 1
    beforeLast = last
    last = current
  }
  return Math.min(last[right.length] ?? 0, limit + 1)
}

/** The first nearest candidate, if the distance is at most a third of the word's length, or one edit. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3))
  const folded = foldKey(word)
  let best: string | undefined
  let bestDistance = limit + 1
  for (const candidate of candidates) {
    const sameWord = foldKey(candidate) === folded
    const distance = sameWord ? 0 : editDistance(word, candidate, limit)
    if (distance >= bestDistance) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

/** The word without the differences that people confuse in keys: case, `-` and `_`. */
export function foldKey(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, '')
}
