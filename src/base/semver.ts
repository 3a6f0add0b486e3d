export interface Version {
  /** Unsigned, up to 64 bits. */
  readonly major: bigint
  readonly minor: bigint
  readonly patch: bigint
  /** Empty if there is none. */
  readonly prerelease: string
  /** Empty if there is none. */
  readonly build: string
}

const number = String.raw`(0|[1-9]\d*)`
const identifier = String.raw`(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`
const prerelease = String.raw`(?:-(${identifier}(?:\.${identifier})*))?`
const build = String.raw`(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?`
const pattern = new RegExp(String.raw`^${number}\.${number}\.${number}${prerelease}${build}$`)

/** A version by SemVer 2.0, without `v` and blanks around it; undefined for any other text. */
export function parseVersion(text: string): Version | undefined {
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [major = 0n, minor = 0n, patch = 0n] = match.slice(1, 4).map(BigInt)
  if ([major, minor, patch].some((part) => BigInt.asUintN(64, part) !== part)) return undefined
  return { major, minor, patch, prerelease: match[4] ?? '', build: match[5] ?? '' }
}

/**
 * Negative, zero or positive. Versions that differ only in build metadata are not equal (docs/aipack.md "Vectors"):
 * they are ordered by it, none first, numbers before words.
 */
export function orderVersions(left: Version, right: Version): number {
  return (
    order(left.major, right.major) ||
    order(left.minor, right.minor) ||
    order(left.patch, right.patch) ||
    // a release comes after its prereleases
    order(left.prerelease === '', right.prerelease === '') ||
    compareParts(left.prerelease, right.prerelease) ||
    compareParts(left.build, right.build)
  )
}

function order<T extends bigint | boolean | string>(left: T, right: T): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function compareParts(left: string, right: string): number {
  const [ours = [], theirs = []] = [left, right].map((text) => (text === '' ? [] : text.split('.')))
  for (const [index, part] of ours.entries()) {
    const other = theirs[index]
    const difference = other === undefined ? 1 : compareIdentifiers(part, other)
    if (difference !== 0) return difference
  }
  return ours.length - theirs.length
}

function compareIdentifiers(left: string, right: string): number {
  const [ours, theirs] = [left, right].map((text) => (/^\d+$/.test(text) ? BigInt(text) : undefined))
  if (ours === undefined || theirs === undefined) {
    if (ours !== theirs) return ours === undefined ? 1 : -1
    return order(left, right)
  }
  // 01 and 1 are the same number, but not the same metadata
  return order(ours, theirs) || left.length - right.length
}
