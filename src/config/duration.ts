const unitMs: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration such as `250ms`, `30s`, `1.5m`, `2h`, `30d` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,10}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text.trim())
  const factor = unitMs[match?.[2] ?? '']
  return factor === undefined ? undefined : Math.round(Number(match?.[1]) * factor)
}
