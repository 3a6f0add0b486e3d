/** Below 0 when the first of two versions `1.2.3` is the older one. What stands behind the numbers does not count. */
export function compareNodeVersions(left: string, right: string): number {
  const [one, other] = [numbers(left), numbers(right)]
  const differences = one.map((part, index) => part - (other[index] ?? 0))
  return differences.find((difference) => difference !== 0) ?? 0
}

function numbers(version: string): readonly number[] {
  const [, major = '0', minor = '0', patch = '0'] = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []
  return [major, minor, patch].map(Number)
}
