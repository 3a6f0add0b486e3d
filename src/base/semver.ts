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

/** All three numbers, nothing before and nothing after: no `v`, no blanks. */
const strict = /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:[-+]|$)/

/** A version by SemVer 2.0; undefined for any other text. */
export function parseVersion(text: string): Version | undefined {
  const version = strict.test(text) ? parse(text) : null
  if (version === null) return undefined
  const { major, minor, patch, prerelease, build } = version
  return { major, minor, patch, prerelease: prerelease.join('.'), build: build.join('.') }
}

/**
 * Negative, zero or positive. Versions that differ in build metadata only are not equal (spec/aipack.md 6.2, vector 76):
 * they are ordered by it, none first, numbers before words.
 */
export function orderVersions(left: Version, right: Version): number {
  return compareVersions(plainText(left), plainText(right)) || compareBuilds(left.build, right.build)
}

function plainText({ major, minor, patch, prerelease }: Version): string {
  return `${major}.${minor}.${patch}${prerelease === '' ? '' : `-${prerelease}`}`
}

function compareBuilds(left: string, right: string): number {
  const ours = left === '' ? [] : left.split('.')
  const theirs = right === '' ? [] : right.split('.')
  for (let index = 0; index < Math.min(ours.length, theirs.length); index += 1) {
    const order = compareIdentifiers(ours[index] ?? '', theirs[index] ?? '')
    if (order !== 0) return order
  }
  return ours.length - theirs.length
}

function compareIdentifiers(left: string, right: string): number {
  const isNumber = (text: string): boolean => /^\d+$/.test(text)
  if (isNumber(left) !== isNumber(right)) return isNumber(left) ? -1 : 1
  if (isNumber(left)) {
    const difference = BigInt(left) - BigInt(right)
    // 01 and 1 are the same number, but not the same metadata
    if (difference !== 0n) return difference < 0n ? -1 : 1
    return left.length - right.length
  }
  return left < right ? -1 : left > right ? 1 : 0
}
