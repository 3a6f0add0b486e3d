import { orderVersions, parseVersion, type Version } from '../../base/semver.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, text } from './arguments.ts'
import type { HostModule } from './module.ts'

/** `aip.semver` (spec/aipack.md 6.2, vectors 76 and 77). */
export const semverModule: HostModule = {
  name: 'aip.semver',
  functions: {
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
    parse: {
      effect: 'pure',
      call: ([value]) => {
        const { major, minor, patch, prerelease, build } = version(value, 'aip.semver.parse', 'the version')
        return [{ major, minor, patch, prerelease: prerelease || undefined, build: build || undefined }]
      },
    },
    is_prerelease: {
      effect: 'pure',
      call: ([value]) => [version(value, 'aip.semver.is_prerelease', 'the version').prerelease !== ''],
    },
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
