import { orderVersions, parseVersion } from '../base/semver.ts'

/** How a version relates to the one that is installed. */
export type VersionOrder = 'newer' | 'same' | 'older'

/** Compares as AIPack does (spec/aipack.md 7.3): a leading `v` does not count, what is no version is compared as text. */
export function compareToInstalled(version: string, installed: string): VersionOrder {
  const [next, now] = [version, installed].map((text) => text.replace(/^v/, '')) as [string, string]
  const [left, right] = [parseVersion(next), parseVersion(now)]
  const plain = next === now ? 0 : next < now ? -1 : 1
  const order = left === undefined || right === undefined ? plain : orderVersions(left, right)
  return order === 0 ? 'same' : order > 0 ? 'newer' : 'older'
}

/** Whether it may be installed without force: a pre-release says by a number which one it is (spec/aipack.md 7.3). */
export function isInstallable(version: string): boolean {
  return !version.includes('-') || /-.*\.\d+$/.test(version)
}
