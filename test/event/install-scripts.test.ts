import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runsAfterChange } from '../../src/event/install-scripts.ts'
import { tempTree } from '../helpers/temp.ts'

const manifest = (...lines: readonly string[]): string =>
  ['--- a/x', '+++ b/x', '@@ -1,3 +1,4 @@', ...lines, ''].join('\n')

it('names each install script that is added to or changed in a package.json, with its text', () => {
  const gained = manifest(
    ' {',
    '   "scripts": {',
    '+    "postinstall": "node x.js",',
    '     "test": "vitest"',
    '   }',
    ' }',
  )
  expect(runsAfterChange('/w/package.json', gained)).toEqual(['postinstall: node x.js'])
  const changed = manifest(' {"scripts": {', '-  "prepare": "tsc"', '+  "prepare": "tsc && curl x"', ' }}')
  expect(runsAfterChange('/w/sub/package.json', changed)).toEqual(['prepare: tsc && curl x'])
  const onOneLine = manifest('-{"scripts":{}}', '+{"scripts":{"pre\\u0069nstall":"a \\"b\\""}}')
  expect(runsAfterChange('/w/package.json', onOneLine)).toEqual(['preinstall: a "b"'])
  const valueOnly = manifest('   "install":', '-    "old"', '+    "new"')
  expect(runsAfterChange('/w/package.json', valueOnly)).toEqual(['install: new'])
})

it('does not name scripts that are unchanged, removed, or not run automatically', () => {
  const stays = manifest('   "postinstall": "x",', '+  "test": "y"', '-  "prepare": "z"')
  expect(runsAfterChange('/w/package.json', stays)).toEqual([])
  expect(runsAfterChange('/w/other.json', manifest('+"postinstall": "x"'))).toEqual([])
})

it('names scripts of composer.json, and files that are executed as a whole', () => {
  const lists = manifest('+"post-install-cmd": ["a", "b"]')
  expect(runsAfterChange('/w/composer.json', lists)).toEqual(['post-install-cmd: ["a","b"]'])
  for (const name of ['setup.py', 'pyproject.toml', 'build.rs', 'Gemfile', 'x.gemspec', 'build.gradle.kts']) {
    expect(runsAfterChange(`/w/${name}`, manifest('+x'))).toEqual([expect.stringContaining(`${name} is run when`)])
  }
})

it('reads the whole file: the key may be far above the changed value, with any line endings', () => {
  const lines = ['{"scripts": {', '"prepare": "a",', '"postinstall":', '', '', '', '', '', '"node old.js"', '}}', '']
  const diff = [
    '--- a/x',
    '+++ b/x',
    '@@ -6,6 +6,6 @@',
    ' ',
    ' ',
    ' ',
    '-"node old.js"',
    '+"node new.js"',
    ' }}',
    ' ',
    '',
  ].join('\n')
  for (const end of ['\n', '\r\n']) {
    const path = join(tempTree({ 'package.json': lines.join(end) }), 'package.json')
    expect(runsAfterChange(path, diff)).toEqual(['postinstall: node new.js'])
  }
  const added = ['@@ -7,0 +8,1 @@', '+"node x.js"', ''].join('\n')
  const open = [...lines.slice(0, 7), '}}', ''].join('\n')
  expect(runsAfterChange(join(tempTree({ 'package.json': open }), 'package.json'), added)).toEqual([
    'postinstall: node x.js',
  ])
  const other = join(tempTree({ 'package.json': '{}' }), 'package.json')
  expect(runsAfterChange(other, manifest('+"install": "x"'))).toEqual(['install: x'])
})
