import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeReported, trailLines } from '../../src/cli/report.ts'
import { placeText } from '../../src/render/format.ts'
import { tempTree } from '../helpers/temp.ts'

const plain = (_: unknown, text: string): string => text

it('names places relative to the current folder', () => {
  expect(placeText({ file: '/work/a/b.md', line: 3, column: 4 }, '/work/a')).toBe('b.md:3:4')
  expect(placeText({ file: '/other/b.md', line: 3 }, '/work/a')).toBe('/other/b.md:3')
})

it('names the file of an error in its message as in its place', () => {
  const reported = { severity: 'error', message: 'there is no file /work/b.md', place: { file: '/work/b.md' } } as const
  expect(describeReported(reported, { cwd: '/work', paint: plain })).toBe('error: there is no file b.md\n  at b.md\n')
  expect(describeReported(reported, { cwd: '/a', paint: plain })).toContain('no file /work/b.md\n  at /work/b.md\n')
})

it('truncates long messages and names', () => {
  const long = 'x'.repeat(1_000_000)
  for (const severity of ['error', 'warning'] as const) {
    const shown = describeReported({ severity, message: long, place: { file: long } }, { cwd: '/', paint: plain })
    expect(shown.length).toBeLessThan(4200)
    expect(shown).toContain('more characters)')
  }
})

it('omits the middle of a long trail', () => {
  const trail = (length: number): readonly { readonly file: string }[] =>
    Array.from({ length }, (_, index) => ({ file: `${index}.lua` }))
  expect(trailLines(trail(7), '/')).toHaveLength(7)
  expect(trailLines(trail(20), '/')).toEqual([
    'called from 0.lua',
    'called from 1.lua',
    'called from 2.lua',
    'called from 3.lua',
    '… 14 more …',
    'called from 18.lua',
    'called from 19.lua',
  ])
})

it('shows the trail between the frame and the hint', () => {
  const place = { file: 'a.lua', line: 1, column: 1, endLine: 1, endColumn: 6, text: 'error()' }
  const reported = {
    severity: 'error',
    message: 'boom',
    place,
    trail: [{ file: 'b.lua', line: 2 }],
    hint: 'Mend it.',
  } as const
  expect(describeReported(reported, { cwd: '/', paint: plain })).toBe(
    'error: boom\n  at a.lua:1:1\n> 1 | error()\n    | ^^^^^\n  called from b.lua:2\nhint: Mend it.\n',
  )
  expect(describeReported({ severity: 'warning', message: 'hm', hint: '' }, { cwd: '/', paint: plain })).toBe(
    'warning: hm\n',
  )
})

it('shows no lines of a file that a link in the project leads to outside of it', () => {
  const outside = tempTree({ 'x.lua': 'hidden\n' })
  const project = tempTree({ '.git/HEAD': '', 'own.lua': 'shown\n', 'sub/a': '' })
  symlinkSync(join(outside, 'x.lua'), join(project, 'link.lua'))
  symlinkSync(outside, join(project, 'packs'))
  symlinkSync('own.lua', join(project, 'inner.lua'))
  const frameOf = (file: string, cwd = project): string => {
    const place = { file, line: 1, text: file.includes('own') || file.includes('inner') ? 'shown' : 'hidden' }
    return describeReported({ severity: 'error', message: 'no', place }, { cwd, paint: plain })
  }
  for (const file of ['link.lua', 'packs/x.lua', join(project, 'link.lua')])
    expect(frameOf(file)).not.toContain('hidden')
  expect(frameOf(join(project, 'link.lua'), join(project, 'sub'))).not.toContain('hidden')
  for (const file of ['own.lua', 'inner.lua']) expect(frameOf(file)).toContain('> 1 | shown')
  // a file that the user names outside of the project is no link
  expect(frameOf(join(outside, 'x.lua'))).toContain('> 1 | hidden')
})
