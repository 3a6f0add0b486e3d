import { orderVersions, parseVersion, type Version } from '../../base/semver.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, text } from './arguments.ts'
import type { HostModule } from './module.ts'

/** `aip.semver` (spec/aipack.md 6.2, vectors 76 and 77). */
export const semverModule: HostModule = {
  name: 'aip.semver',
  functions: {
    /**
     * `aip.semver.compare(left, operator, right) → boolean`
     * Compares two versions by `<`, `<=`, `=`, `==`, `>=`, `>`, `!=` or `~=`. Build metadata counts. What is no version
     * or no operator is an error.
     */
    compare: {
      effect: 'pure',
      call: ([left, operator, right]) => {
        const name = 'aip.semver.compare'
        const order = orderVersions(
          version(left, name, 'the first version'),
          version(right, name, 'the second version'),
        )
        return [holds(order, text(operator, name, 'the operator'))]
      },
    },
    /**
     * `aip.semver.parse(version) → {major, minor, patch, prerelease?, build?}`
     * Takes a version apart. What is no version is an error.
     */
    parse: {
      effect: 'pure',
      call: ([value]) => {
        const { major, minor, patch, prerelease, build } = version(value, 'aip.semver.parse', 'the version')
        return [{ major, minor, patch, prerelease: prerelease || undefined, build: build || undefined }]
      },
    },
    /**
     * `aip.semver.is_prerelease(version) → boolean`
     * Whether a version is one before the release, such as `1.0.0-beta.1`. What is no version is an error.
     */
    is_prerelease: {
      effect: 'pure',
      call: ([value]) => [version(value, 'aip.semver.is_prerelease', 'the version').prerelease !== ''],
    },
    /**
     * `aip.semver.valid(version) → boolean`
     * Whether the text is a version; all three numbers are needed.
     */
    valid: {
      effect: 'pure',
      call: ([value]) => [parseVersion(text(value, 'aip.semver.valid', 'the version')) !== undefined],
    },
  },
}

function version(value: LuaValue, name: string, what: string): Version {
  const given = text(value, name, what)
  const parsed = parseVersion(given)
  if (parsed !== undefined) return parsed
  throw argumentError(name, `${what} must be like 1.2.3 or 1.2.3-beta.1, but was "${given}"`)
}

function holds(order: number, operator: string): boolean {
  switch (operator) {
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '=':
    case '==':
      return order === 0
    case '>=':
      return order >= 0
    case '>':
      return order > 0
    case '!=':
    case '~=':
      return order !== 0
    default:
      throw argumentError('aip.semver.compare', `there is no operator "${operator}"; use < <= = == >= > != or ~=`)
  }
}
