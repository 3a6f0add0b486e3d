import { describe, expect, it } from 'vitest'
import { type SeatbeltPlan, seatbeltArguments, seatbeltProfile } from '../../../src/tool/sandbox/seatbelt.ts'

const plan: SeatbeltPlan = {
  workspace: '/Users/me/w',
  canWrite: true,
  kept: ['/Users/me/w/.git'],
  hiddenFiles: ['/Users/me/w/.env'],
  hiddenFolders: ['/Users/me/.ssh'],
  temporary: '/private/var/t',
}
const lines = (changes: Partial<SeatbeltPlan> = {}): readonly string[] =>
  seatbeltProfile({ ...plan, ...changes }).split('\n')

describe('the profile for macOS', () => {
  it('denies first, then allows, then protects what is kept and hidden: the last rule counts', () => {
    const profile = lines()
    expect(profile.slice(0, 2)).toEqual(['(version 1)', '(deny default)'])
    const order = [
      '(allow file-write* (subpath "/private/var/t") (subpath "/Users/me/w"))',
      '(deny file-write* (subpath "/Users/me/w/.git"))',
      '(deny file-read* file-write* (literal "/Users/me/w/.env"))',
      '(deny file-read* file-write* (subpath "/Users/me/.ssh"))',
    ].map((rule) => profile.indexOf(rule))
    expect(order).not.toContain(-1)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  })

  it('makes the workspace writable only in that mode', () => {
    expect(lines({ canWrite: false })).toContain('(allow file-write* (subpath "/private/var/t"))')
  })

  it('has no network, except one port if there is a proxy', () => {
    expect(lines().join()).not.toContain('network')
    expect(lines({ proxyPort: 4242 })).toContain('(allow network-outbound (remote ip "localhost:4242"))')
  })

  it('escapes paths', () => {
    const profile = lines({ kept: ['/w/a"))(allow default)((x "\\'] })
    expect(profile).toContain(String.raw`(deny file-write* (subpath "/w/a\"))(allow default)((x \"\\"))`)
  })

  it('precedes the command', () => {
    const args = seatbeltArguments({ command: 'npm', args: ['test'] }, plan)
    expect(args).toEqual(['-p', seatbeltProfile(plan), 'npm', 'test'])
  })
})
