const unitBytes: { readonly [unit: string]: number } = { kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 }

/** A size such as `500mb`, `2GB` or `1.5gb` in bytes, a kb being 1024 of them; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  const [, whole = '', part = '', unit = ''] = /^(\d+)(\.\d+)? ?([kmgt]b)$/.exec(text.trim().toLowerCase()) ?? []
  const factor = unitBytes[unit]
  // lengths are not asked by the pattern: to compile repetitions with limits takes a short run longer than all else here
  if (factor === undefined || whole.length > 10 || part.length > 4) return undefined
  return Math.round(Number(whole + part) * factor)
}

/** Bytes in the largest unit of `parseSize` that they fill, rounded up to a tenth: `1.5gb`, `0.2kb`. */
export function sizeText(bytes: number): string {
  const [unit, size] = Object.entries(unitBytes).findLast(([, factor]) => bytes >= factor) ?? ['kb', 1024]
  return `${Math.ceil((bytes / size) * 10) / 10}${unit}`
}
