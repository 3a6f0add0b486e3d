/** Up to this length the engine's own search is fast whatever the texts contain. */
const shortLength = 8

/** Like `text.indexOf(wanted)`, in time that grows with the sum of both lengths, not with their product. */
export function firstIndexOf(text: string, wanted: string): number {
  if (wanted.length <= shortLength) return text.indexOf(wanted)
  return search(text, wanted, 'first')
}

/** Like `text.lastIndexOf(wanted)`, also in linear time. */
export function lastIndexOf(text: string, wanted: string): number {
  if (wanted.length <= shortLength) return text.lastIndexOf(wanted)
  return search(text, wanted, 'last')
}

/** All positions of a text in another one, including overlapping ones, in ascending order and in linear time. */
export function indicesOf(text: string, wanted: string): readonly number[] {
  return indicesIn(
    { length: text.length, at: (index) => text.charCodeAt(index) },
    { length: wanted.length, at: (index) => wanted.charCodeAt(index) },
  )
}

/** The same for a list of texts in another one. */
export function indicesOfList(list: readonly string[], wanted: readonly string[]): readonly number[] {
  return indicesIn(
    { length: list.length, at: (index) => list[index] },
    { length: wanted.length, at: (index) => wanted[index] },
  )
}

interface Units<Unit> {
  readonly length: number
  readonly at: (index: number) => Unit
}

function indicesIn<Unit>(all: Units<Unit>, wanted: Units<Unit>): readonly number[] {
  const borders = bordersOf(wanted.length, wanted.at)
  const found: number[] = []
  for (let index = 0, length = 0; index < all.length && wanted.length > 0; index += 1) {
    const unit = all.at(index)
    while (length > 0 && unit !== wanted.at(length)) length = borders[length - 1] ?? 0
    if (unit === wanted.at(length)) length += 1
    if (length < wanted.length) continue
    found.push(index + 1 - length)
    length = borders[length - 1] ?? 0
  }
  return found
}

/** The Knuth-Morris-Pratt algorithm; for the last position both texts are read from their ends. */
function search(text: string, wanted: string, which: 'first' | 'last'): number {
  const unitOf = (source: string, index: number): number =>
    source.charCodeAt(which === 'first' ? index : source.length - 1 - index)
  const borders = bordersOf(wanted.length, (index) => unitOf(wanted, index))
  for (let index = 0, length = 0; index < text.length; index += 1) {
    while (length > 0 && unitOf(text, index) !== unitOf(wanted, length)) length = borders[length - 1] ?? 0
    if (unitOf(text, index) === unitOf(wanted, length)) length += 1
    if (length === wanted.length) return which === 'first' ? index + 1 - length : text.length - 1 - index
  }
  return -1
}

/** For each prefix, the length of the longest shorter prefix that it also ends with. */
function bordersOf(size: number, unitAt: (index: number) => unknown): Int32Array {
  const borders = new Int32Array(size)
  for (let index = 1, length = 0; index < size; index += 1) {
    while (length > 0 && unitAt(index) !== unitAt(length)) length = borders[length - 1] ?? 0
    if (unitAt(index) === unitAt(length)) length += 1
    borders[index] = length
  }
  return borders
}
