/** The number that a command printed: the last one on the last line that has one. Undefined without, or if it failed. */
export function scoreIn({ code, stdout }: { readonly code?: number; readonly stdout: string }): number | undefined {
  if (code !== 0) return undefined
  const numbers = /[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/g
  for (const line of stdout.trim().split('\n').toReversed()) {
    const found = line.match(numbers)?.at(-1)
    if (found !== undefined) return Number(found)
  }
  return undefined
}
