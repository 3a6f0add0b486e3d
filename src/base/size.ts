const unitBytes: { readonly [unit: string]: number } = { kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 }

/** A size such as `500mb`, `2GB` or `1.5gb` in bytes, a kb being 1024 of them; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,10}(?:\.\d{1,3})?) ?(kb|mb|gb|tb)$/.exec(text.trim().toLowerCase())
  const factor = unitBytes[match?.[2] ?? '']
  return factor === undefined ? undefined : Math.round(Number(match?.[1]) * factor)
}

/** Bytes in the largest unit of `parseSize` that they fill, rounded up to a tenth: `1.5gb`, `0.2kb`. */
export function sizeText(bytes: number): string {
  const [unit, size] = Object.entries(unitBytes).findLast(([, factor]) => bytes >= factor) ?? ['kb', 1024]
  return `${Math.ceil((bytes / size) * 10) / 10}${unit}`
}
