import { describe, expect, it } from 'vitest'
import { type BoxPlan, bwrapArguments } from '../../../src/tool/sandbox/bwrap.ts'

const plan: BoxPlan = {
  workspace: '/w',
  canWrite: true,
  kept: ['/w/.git', '/w/agents/deep/a.lua'],
  hiddenFiles: ['/w/.env', '/home/me/.netrc'],
  hiddenFolders: ['/home/me/.ssh'],
  privateFolders: ['/tmp', '/run'],
  shown: ['/tmp/tools'],
  opened: ['/home/me/.ssh/open'],
  keptSystemFiles: ['/proc/sys'],
  tmpMb: 64,
  fileMb: 10,
  given: {},
}
const command = { command: 'npm', args: ['test', '--', 'a b'], cwd: '/w', environment: { PATH: '/bin' } }
const written = (changes: Partial<BoxPlan> = {}): string => bwrapArguments(command, { ...plan, ...changes }).join(' ')

describe('the arguments of bwrap', () => {
  it('end with the unchanged command', () => {
    expect(bwrapArguments(command, plan).slice(-6)).toEqual([
      expect.stringContaining('exec "$@"'),
      'sh',
      'npm',
      'test',
      '--',
      'a b',
    ])
  })

  it('remove all rights, and the whole environment', () => {
    const text = written()
    const namespaces = '--unshare-all --unshare-user --disable-userns --die-with-parent --new-session'
    expect(text).toContain(`${namespaces} --cap-drop ALL --clearenv --setenv PATH /bin --chdir /w --`)
    expect(text).not.toContain('--share-net')
  })

  it('mount in an order in which nothing exposes what is kept or hidden', () => {
    const text = written()
    const order = [
      '--ro-bind / /',
      '--proc /proc',
      '--ro-bind /proc/sys /proc/sys',
      '--tmpfs /tmp',
      '--ro-bind /tmp/tools /tmp/tools',
      '--tmpfs /home/me/.ssh',
      '--ro-bind /dev/null /home/me/.netrc',
      '--ro-bind /home/me/.ssh/open /home/me/.ssh/open',
      '--bind /w /w',
      '--bind /w/agents /w/agents --bind /w/agents/deep /w/agents/deep',
      '--ro-bind /w/.git /w/.git --ro-bind /w/agents/deep/a.lua /w/agents/deep/a.lua',
      '--ro-bind /dev/null /w/.env',
      '--remount-ro /home/me/.ssh',
      '--unshare-all',
    ].map((part) => text.indexOf(part))
    expect(order).not.toContain(-1)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  })

  it('bind the workspace read-only, and nothing in it writable, if it may not be changed', () => {
    const text = written({ canWrite: false })
    expect(text).toContain('--ro-bind /w /w')
    expect(text).not.toMatch(/--bind /)
    expect(text).toContain('--ro-bind /dev/null /w/.env')
  })

  it('limit the tasks of ordinary users, but not those of root', () => {
    expect(written({ tasks: 100 })).toContain('ulimit -u 100')
    expect(written()).not.toContain('ulimit -u')
    expect(written()).toContain('ulimit -f 20480')
  })
})
