import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { semverModule } from '../../../src/script/host/semver.ts'
import { hostSection } from './host-section.ts'

const { wait } = hostSection('/')

function semver(name: string, ...args: readonly LuaValue[]): Promise<LuaValue> {
  return wait(semverModule, name, ...args)
}

describe('aip.semver', () => {
  it.each([
    ['0.6.12-WIP', '>', '0.6.9', true],
    ['0.6.7-wip', '<', '0.6.7', true],
    ['0.6.7-alpha.1', '<', '0.6.7-beta', true],
    ['1.0.0+build', '=', '1.0.0', false],
    ['1.0.0+build', '!=', '1.0.0', true],
    ['1.0.0+build', '>', '1.0.0', true],
    ['1.0.0+2', '<', '1.0.0+10', true],
    ['1.0.0+1.a', '>', '1.0.0+1', true],
    ['1.0.0+9', '<', '1.0.0+a', true],
    ['1.0.0+x', '==', '1.0.0+x', true],
    ['1.0.0-2', '<', '1.0.0-10', true],
    ['2.0.0', '>=', '10.0.0', false],
    ['1.2.3', '<=', '1.2.3', true],
    ['1.2.3', '~=', '1.2.3', false],
    ['0.8.34', '>=', '0.8.9', true],
  ])('compares %s %s %s (vector 76)', async (left, operator, right, expected) => {
    expect(await semver('compare', left, operator, right)).toBe(expected)
  })

  it('parses a version (vector 77)', async () => {
    expect(await semver('parse', '1.2.3-beta.1+build.123')).toEqual({
      major: 1,
      minor: 2,
      patch: 3,
      prerelease: 'beta.1',
      build: 'build.123',
    })
    expect(await semver('parse', '10.0.7')).toEqual({
      major: 10,
      minor: 0,
      patch: 7,
      prerelease: undefined,
      build: undefined,
    })
  })

  it('recognizes pre-releases by their hyphen, not by build metadata (vector 77)', async () => {
    expect(await semver('is_prerelease', '1.0.0-rc.1')).toBe(true)
    expect(await semver('is_prerelease', '1.0.0+build.123')).toBe(false)
  })

  it('requires all three numbers and nothing else', async () => {
    const texts = [
      '1.0.0',
      '1.0',
      '1',
      '',
      'v1.0.0',
      ' 1.0.0',
      '1.0.0 ',
      '01.0.0',
      '1.0.0-',
      '1.0.0-a..b',
      '1.0.0.0',
      'ä',
    ]
    const valid = await Promise.all(texts.map((text) => semver('valid', text)))
    expect(texts.filter((_, index) => valid[index])).toEqual(['1.0.0'])
  })

  it('refuses an invalid version, operator or type', async () => {
    await expect(semver('compare', '1.0', '<', '1.0.0')).rejects.toThrow(
      'aip.semver.compare: the first version must be like 1.2.3 or 1.2.3-beta.1, but was "1.0"',
    )
    await expect(semver('compare', '1.0.0', '=>', '1.0.0')).rejects.toThrow('there is no operator "=>"')
    await expect(semver('parse', 'x')).rejects.toThrow('but was "x"')
    await expect(semver('is_prerelease', undefined)).rejects.toThrow('the version must be a string, but was nil')
    await expect(semver('valid', {})).rejects.toThrow('but was table')
  })
})
