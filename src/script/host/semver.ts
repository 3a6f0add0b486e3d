import type * as semverCode from '../../base/semver.ts'
import type { LuaValue } from '../engine.ts'
import type { HostCall } from './call.ts'
import { type HostModule, type ModuleFunction, pure } from './module.ts'

/** `aip.semver`. Its code is loaded at the first call. */
export const semverModule: HostModule = {
  name: 'aip.semver',
  functions: {
    /**
     * `aip.semver.compare(left, operator, right) → boolean` Compares two versions by `<`, `<=`, `=`, `==`, `>=`, `>`,
     * `!=` or `~=`. Build metadata counts. What is no version or no operator is an error.
     */
    compare: withVersions((call, { orderVersions, parseVersion }) => {
      const left = version(call, parseVersion, { index: 0, what: 'the first version' })
      const right = version(call, parseVersion, { index: 2, what: 'the second version' })
      return holds(orderVersions(left, right), call)
    }),
    /**
     * `aip.semver.parse(version) → {major, minor, patch, prerelease?, build?}`
     * Takes a version apart. What is no version is an error.
     */
    parse: withVersions((call, { parseVersion }) => {
      const { major, minor, patch, prerelease, build } = version(call, parseVersion)
      const numbers = { major: luaNumber(major), minor: luaNumber(minor), patch: luaNumber(patch) }
      return { ...numbers, prerelease: prerelease || undefined, build: build || undefined }
    }),
    /**
     * `aip.semver.is_prerelease(version) → boolean`
     * Whether a version is one before the release, such as `1.0.0-beta.1`. What is no version is an error.
     */
    is_prerelease: withVersions((call, { parseVersion }) => version(call, parseVersion).prerelease !== ''),
    /** `aip.semver.valid(version) → boolean` Whether the text is a version; all three numbers are needed. */
    valid: withVersions((call, { parseVersion }) => parseVersion(call.text(0, 'the version')) !== undefined),
  },
}

type SemVer = typeof semverCode

function withVersions(work: (call: HostCall, semver: SemVer) => LuaValue): ModuleFunction {
  return pure(async (call) => work(call, await import('../../base/semver.ts')))
}

/** An integer where Lua has it, else the nearest number. */
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
