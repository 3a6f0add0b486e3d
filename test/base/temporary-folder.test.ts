import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { staleTemporaryFolders, makeTemporaryFolder } from '../../src/base/temporary-folder.ts'
import { tempTree } from '../helpers/temp.ts'

it('a temporary folder is private, and removed with those that killed processes left more than a day ago', () => {
  const place = tempTree({ 'x-old/a/b.txt': 'b', 'x-now/a.txt': 'a', 'other/a.txt': 'a' })
  vi.stubEnv('TMPDIR', place)
  const before = new Date(Date.now() - 2 * 86_400_000)
  for (const name of ['x-old', 'other']) utimesSync(join(place, name), before, before)
  const listeners = process.listenerCount('exit')
  const folder = makeTemporaryFolder('x-')
  expect(readdirSync(place).filter((name) => join(place, name) !== folder.path)).toEqual(['other', 'x-now'])
  expect(statSync(folder.path).mode & 0o777).toBe(0o700)
  mkdirSync(join(folder.path, 'in'))
  writeFileSync(join(folder.path, 'in/a.txt'), 'a')
  folder.remove()
  expect(existsSync(folder.path)).toBe(false)
  expect(process.listenerCount('exit')).toBe(listeners)
  vi.unstubAllEnvs()
})

it.skipIf(!existsSync('/proc/self/stat'))(
  'a temporary folder of an ended process is removed at once, that of a running process is not',
  () => {
    const place = tempTree()
    vi.stubEnv('TMPDIR', place)
    const own = makeTemporaryFolder('y-')
    const left = (name: string): string =>
      basename(own.path)
        .replace('y-', `${name}-`)
        .replace(/\.\d+-/, '.1-')
    const known = join(place, left('baton-q'))
    mkdirSync(known)
    expect(staleTemporaryFolders()).toEqual([known])
    rmSync(known, { recursive: true })
    mkdirSync(join(place, left('z')))
    mkdirSync(join(place, basename(own.path).replace('y-', 'z-')))
    const other = makeTemporaryFolder('z-')
    expect(readdirSync(place).toSorted()).toEqual(
      [own.path, other.path, join(place, basename(own.path).replace('y-', 'z-'))]
        .map((path) => basename(path))
        .toSorted(),
    )
    // a server makes many, and others are killed meanwhile
    mkdirSync(join(place, left('z')))
    makeTemporaryFolder('z-').remove()
    expect(readdirSync(place)).not.toContain(left('z'))
    for (const folder of [own, other]) folder.remove()
    vi.unstubAllEnvs()
  },
)
