import compareVersions from 'semver/functions/compare.js'
import parse from 'semver/functions/parse.js'

export interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
  /** Empty when there is none. */
  readonly prerelease: string
  /** Empty when there is none. */
  readonly build: string
}

/** A version by SemVer 2.0, without `v` and blanks around it; undefined for any other text. */
export function parseVersion(text: string): Version | undefined {
  const version = /^\d\S*$/.test(text) ? parse(text) : null
  if (version === null) return undefined
  const { major, minor, patch, prerelease, build } = version
  return { major, minor, patch, prerelease: prerelease.join('.'), build: build.join('.') }
}

/**
 * Negative, zero or positive. Versions that differ in build metadata only are not equal (docs/aipack.md "Vectors"): they
 * are ordered by it, none first, numbers before words. Not by `compareBuild` of the library, for which `1` equals `01`.
 */
export function orderVersions(left: Version, right: Version): number {
  return compareVersions(plainText(left), plainText(right)) || compareBuilds(left.build, right.build)
}

function plainText({ major, minor, patch, prerelease }: Version): string {
  return `${major}.${minor}.${patch}${prerelease === '' ? '' : `-${prerelease}`}`
}

function compareBuilds(left: string, right: string): number {
  const [ours = [], theirs = []] = [left, right].map((build) => (build === '' ? [] : build.split('.')))
  for (const [index, part] of ours.entries()) {
    const other = theirs[index]
    const order = other === undefined ? 1 : compareIdentifiers(part, other)
    if (order !== 0) return order
  }
  return ours.length - theirs.length
}

function compareIdentifiers(left: string, right: string): number {
  const [ours, theirs] = [left, right].map((text) => (/^\d+$/.test(text) ? BigInt(text) : undefined))
  if (ours === undefined || theirs === undefined) {
    if (ours !== theirs) return ours === undefined ? 1 : -1
    return left < right ? -1 : left > right ? 1 : 0
  }
  // 01 and 1 are the same number, but not the same metadata
  return ours < theirs ? -1 : ours > theirs ? 1 : left.length - right.length
}
