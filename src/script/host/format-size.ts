const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const

export interface SizeFormat {
  /** Smallest unit to use: `KB`, `MB`, `GB`, `TB`; anything else means bytes. */
  readonly lowestUnit?: string
}

/**
 * A number of bytes as nine characters, right aligned, in steps of 1000 with two decimals above bytes
 * (spec/aipack.md 6.2 `format_size`, vector 42). Negative counts as 0.
 */
export function formatSize(bytes: number, { lowestUnit = 'B' }: SizeFormat = {}): string {
  const wanted = lowestUnit.toUpperCase()
  let unit = Math.max(
    0,
    units.findIndex((name) => name === wanted && name !== 'PB'),
  )
  const whole = Math.max(0, Math.round(bytes))
  let size = whole / 1000 ** unit
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000
    unit += 1
  }
  return unit === 0 ? `${String(whole).padStart(6)} B ` : `${size.toFixed(2).padStart(6)} ${units[unit] ?? ''}`
}
