/**
 * Where a list of lines occurs in another one, as ascending start indices, overlapping ones too. Takes time in
 * proportion to both lengths, also when all lines are alike (Knuth, Morris and Pratt).
 */
export function occurrences(needle: readonly string[], lines: readonly string[]): readonly number[] {
  if (needle.length === 0) return []
  const fallback = borders(needle)
  const found: number[] = []
  let matched = 0
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]
    while (matched > 0 && line !== needle[matched]) matched = fallback[matched - 1] ?? 0
    if (line === needle[matched]) matched += 1
    if (matched < needle.length) continue
    found.push(index - needle.length + 1)
    matched = fallback[matched - 1] ?? 0
  }
  return found
}

/** For each prefix, the length of the longest shorter prefix that it ends with. */
function borders(needle: readonly string[]): readonly number[] {
  const lengths = [0]
  let length = 0
  for (let index = 1; index < needle.length; index += 1) {
    while (length > 0 && needle[index] !== needle[length]) length = lengths[length - 1] ?? 0
    if (needle[index] === needle[length]) length += 1
    lengths.push(length)
  }
  return lengths
}
