/**
 * Orders text by its UTF-8 bytes, which is the order of its code points. Plain `<` differs from it where characters
 * beyond U+FFFF meet those from U+E000 on, because it compares UTF-16 units.
 */
export function compareBytes(left: string, right: string): number {
  const end = Math.min(left.length, right.length)
  for (let index = 0; index < end; index += 1) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a !== b) return rank(a) - rank(b)
  }
  return left.length - right.length
}

/** Surrogates are parts of code points above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
