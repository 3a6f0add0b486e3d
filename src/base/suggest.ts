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
  return nearestOf(candidates)(word)
}

/** The same for many words: what has to be known of the candidates is found out once. */
export function nearestOf(candidates: Iterable<string>): (word: string) => string | undefined {
  const known = Array.from(candidates, candidateOf)
  return (word) => {
    const folded = foldKey(word)
    const same = known.find((candidate) => candidate.folded === folded)
    if (same !== undefined) return same.text
    const letters = lettersOf(word)
    let limit = Math.max(1, Math.floor(word.length / 3))
    let best: string | undefined
    for (const candidate of known) {
      if (limit === 0) break
      const distance = distanceTo(candidate, word, letters, limit)
      if (distance > limit) continue
      best = candidate.text
      limit = distance - 1
    }
    return best
  }
}

/** Finds the candidates that are exactly one edit from a word, in their order. */
export function oneEditFrom(candidates: Iterable<string>): (word: string) => readonly string[] {
  const known = Array.from(candidates, candidateOf)
  return (word) => {
    const letters = lettersOf(word)
    return known.filter((candidate) => distanceTo(candidate, word, letters, 1) === 1).map(({ text }) => text)
  }
}

interface Candidate {
  readonly text: string
  readonly folded: string
  readonly letters: Letters
}

function candidateOf(text: string): Candidate {
  return { text, folded: foldKey(text), letters: lettersOf(text) }
}

/** The number of edits; if it is above the limit, any number above it. Most candidates are ruled out by their letters. */
function distanceTo({ text, letters: theirs }: Candidate, word: string, letters: Letters, limit: number): number {
  if (Math.abs(text.length - word.length) > limit) return limit + 1
  // a letter that only one of them has costs an edit
  if (more(letters, theirs) > limit || more(theirs, letters) > limit) return limit + 1
  return editDistance(word, text, limit)
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
