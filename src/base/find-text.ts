/** Up to this length the search of the engine is fast whatever the texts hold. */
const shortLength = 8

/** As `text.indexOf(wanted)`, in time that grows with the sum of both lengths, not with their product. */
export function firstIndexOf(text: string, wanted: string): number {
  if (wanted.length <= shortLength) return text.indexOf(wanted)
  return search(text, wanted, 'first')
}

/** As `text.lastIndexOf(wanted)`, in the same time. */
export function lastIndexOf(text: string, wanted: string): number {
  if (wanted.length <= shortLength) return text.lastIndexOf(wanted)
  return search(text, wanted, 'last')
}

/** The algorithm of Knuth, Morris and Pratt; for the last place both texts are read from their ends. */
function search(text: string, wanted: string, which: 'first' | 'last'): number {
  const unitOf = (source: string, index: number): number =>
    source.charCodeAt(which === 'first' ? index : source.length - 1 - index)
  const borders = new Int32Array(wanted.length)
  for (let index = 1, length = 0; index < wanted.length; index += 1) {
    while (length > 0 && unitOf(wanted, index) !== unitOf(wanted, length)) length = borders[length - 1] ?? 0
    if (unitOf(wanted, index) === unitOf(wanted, length)) length += 1
    borders[index] = length
  }
  for (let index = 0, length = 0; index < text.length; index += 1) {
    while (length > 0 && unitOf(text, index) !== unitOf(wanted, length)) length = borders[length - 1] ?? 0
    if (unitOf(text, index) === unitOf(wanted, length)) length += 1
    if (length === wanted.length) return which === 'first' ? index + 1 - length : text.length - 1 - index
  }
  return -1
}
