import type * as semverCode from '../../base/semver.ts'
import type { LuaValue } from '../engine.ts'
import type { HostCall } from './call.ts'
import { type HostModule, type ModuleFunction, pure } from './module.ts'

/** `aip.semver`. Its code is loaded on the first call. */
export const semverModule: HostModule = {
  name: 'aip.semver',
  functions: {
    /**
     * `aip.semver.compare(left, operator, right) → boolean` Compares two versions with `<`, `<=`, `=`, `==`, `>=`, `>`,
     * `!=` or `~=`. Build metadata counts. An invalid version or operator is an error.
     */
    compare: withVersions((call, { orderVersions, parseVersion }) => {
      const left = version(call, parseVersion, { index: 0, what: 'the first version' })
      const right = version(call, parseVersion, { index: 2, what: 'the second version' })
      return holds(orderVersions(left, right), call)
    }),
    /**
     * `aip.semver.parse(version) → {major, minor, patch, prerelease?, build?}`
     * Parses a version. An invalid version is an error.
     */
    parse: withVersions((call, { parseVersion }) => {
      const { major, minor, patch, prerelease, build } = version(call, parseVersion)
      const numbers = { major: luaNumber(major), minor: luaNumber(minor), patch: luaNumber(patch) }
      return { ...numbers, prerelease: prerelease || undefined, build: build || undefined }
    }),
    /**
     * `aip.semver.is_prerelease(version) → boolean`
     * Whether a version is a prerelease, such as `1.0.0-beta.1`. An invalid version is an error.
     */
    is_prerelease: withVersions((call, { parseVersion }) => version(call, parseVersion).prerelease !== ''),
    /** `aip.semver.valid(version) → boolean` Whether the string is a valid version; all three numbers are required. */
    valid: withVersions((call, { parseVersion }) => parseVersion(call.text(0, 'the version')) !== undefined),
  },
}

type SemVer = typeof semverCode

function withVersions(work: (call: HostCall, semver: SemVer) => LuaValue): ModuleFunction {
  return pure(async (call) => work(call, await import('../../base/semver.ts')))
}

/** An integer if it fits into a Lua integer, otherwise the nearest float. */
function luaNumber(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) || BigInt.asIntN(64, value) !== value ? Number(value) : value
}

function version(
  call: HostCall,
  parse: SemVer['parseVersion'],
  { index, what } = { index: 0, what: 'the version' },
): semverCode.Version {
  const given = call.text(index, what)
  const parsed = parse(given)
  if (parsed !== undefined) return parsed
  throw call.error(`${what} must be like 1.2.3 or 1.2.3-beta.1, but was "${given}"`)
}

const operators: { readonly [operator: string]: (order: number) => boolean } = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '=': (order) => order === 0,
  '==': (order) => order === 0,
  '>=': (order) => order >= 0,
  '>': (order) => order > 0,
  '!=': (order) => order !== 0,
  '~=': (order) => order !== 0,
}

function holds(order: number, call: HostCall): boolean {
  const operator = call.text(1, 'the operator')
  const test = Object.hasOwn(operators, operator) ? operators[operator] : undefined
  if (test !== undefined) return test(order)
  throw call.error(`there is no operator "${operator}"; use < <= = == >= > != or ~=`)
}
