const unitMs: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration such as `250ms`, `30s`, `1.5m`, `2h`, `30d` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, whole = '', part = '', unit = ''] = /^(\d+)(\.\d+)?([a-z]+)$/.exec(text.trim()) ?? []
  const factor = Object.hasOwn(unitMs, unit) ? unitMs[unit] : undefined
  if (factor === undefined || whole.length > 10 || part.length > 4) return undefined
  return Math.round(Number(whole + part) * factor)
}
