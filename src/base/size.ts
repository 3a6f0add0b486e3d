const unitBytes: { readonly [unit: string]: number } = { kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 }

/** A size such as `500mb`, `2GB` or `1.5gb` in bytes, with 1024 bytes per kb; undefined for any other text. */
export function parseSize(text: string): number | undefined {
  const [, whole = '', part = '', unit = ''] = /^(\d+)(\.\d+)? ?([kmgt]b)$/.exec(text.trim().toLowerCase()) ?? []
  const factor = unitBytes[unit]
  // the pattern does not limit lengths: compiling counted repetitions takes a short run longer than everything else
  // here
  if (factor === undefined || whole.length > 10 || part.length > 4) return undefined
  return Math.round(Number(whole + part) * factor)
}

/** Bytes in the largest unit of `parseSize` that they fill, rounded up to a tenth: `1.5gb`, `0.2kb`. */
export function sizeText(bytes: number): string {
  const [unit, size] = Object.entries(unitBytes).findLast(([, factor]) => bytes >= factor) ?? ['kb', 1024]
  return `${Math.ceil((bytes / size) * 10) / 10}${unit}`
}
