/** Rows of the table of distances, reused: a check compares many thousands of words. */
const rows: [number[], number[], number[]] = [[], [], []]

/**
 * The number of edits (insert, delete, replace, swap of two neighbors) between two words. Distances above `limit` are
 * `limit + 1`, so that very long words cost nothing.
 */
export function editDistance(left: string, right: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(left.length - right.length) > limit) return limit + 1
  let [height, width] = [left.length, right.length]
  while (height > 0 && width > 0 && left.charCodeAt(height - 1) === right.charCodeAt(width - 1)) {
    height -= 1
    width -= 1
  }
  let start = 0
  while (start < height && start < width && left.charCodeAt(start) === right.charCodeAt(start)) start += 1
  height -= start
  width -= start
  if (height === 0 || width === 0) return Math.min(height + width, limit + 1)
  let [beforeLast, last, current] = rows
  for (let column = 0; column <= width; column += 1) last[column] = column
  for (let row = 1; row <= height; row += 1) {
    const letter = left.charCodeAt(start + row - 1)
    const before = row > 1 ? left.charCodeAt(start + row - 2) : -1
    current[0] = row
    let least = row
    let beside = row
    for (let column = 1; column <= width; column += 1) {
      const other = right.charCodeAt(start + column - 1)
      let edits = Math.min((last[column] ?? 0) + 1, beside + 1, (last[column - 1] ?? 0) + (letter === other ? 0 : 1))
      if (column > 1 && before === other && letter === right.charCodeAt(start + column - 2)) {
        edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1)
      }
      current[column] = beside = edits
      if (edits < least) least = edits
    }
    // a swap looks back two rows, which saves at most one edit
    if (least > limit + 1) return limit + 1
    ;[beforeLast, last, current] = [last, current, beforeLast]
  }
  return Math.min(last[width] ?? 0, limit + 1)
}

/** The first nearest candidate, if the distance is at most a third of the word's length, or one edit. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  return nearestOf(candidates)(word)
}

/** The same for many words: what has to be known of the candidates is found out once. */
export function nearestOf(candidates: Iterable<string>): (word: string) => string | undefined {
  const known = Array.from(candidates, (text) => ({ text, folded: foldKey(text), letters: lettersOf(text) }))
  return (word) => {
    const folded = foldKey(word)
    const same = known.find((candidate) => candidate.folded === folded)
    if (same !== undefined) return same.text
    const letters = lettersOf(word)
    let limit = Math.max(1, Math.floor(word.length / 3))
    let best: string | undefined
    for (const candidate of known) {
      if (limit === 0) break
      if (Math.abs(candidate.text.length - word.length) > limit) continue
      // a letter that only one of them has costs an edit
      if (more(letters, candidate.letters) > limit || more(candidate.letters, letters) > limit) continue
      const distance = editDistance(word, candidate.text, limit)
      if (distance > limit) continue
      best = candidate.text
      limit = distance - 1
    }
    return best
  }
}

/** The characters of a word, as bits: letters, and others. Several characters may share one. */
interface Letters {
  readonly letters: number
  readonly others: number
}

function lettersOf(word: string): Letters {
  let [letters, others] = [0, 0]
  for (let index = 0; index < word.length; index += 1) {
    const code = word.charCodeAt(index)
    if ((code & 64) === 0) others |= 1 << (code & 31)
    else letters |= 1 << (code & 31)
  }
  return { letters, others }
}

/** How many characters of one, at least, the other does not have. */
function more(one: Letters, other: Letters): number {
  return bitsIn(one.letters & ~other.letters) + bitsIn(one.others & ~other.others)
}

function bitsIn(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1
  return count
}

/** The word without the differences that people confuse in keys: case, `-` and `_`. */
export function foldKey(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, '')
}
