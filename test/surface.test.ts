import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import * as surface from '../src/index.ts'
import { version } from '../src/version.ts'
import { root } from './helpers/baton.ts'

it('exports these names', () => {
  expect(Object.keys(surface).toSorted()).toEqual(['BatonError', 'isBatonError', 'run'])
  const source = readFileSync(join(root, 'src/index.ts'), 'utf8')
  const types = [
    ...source.matchAll(/^export (?:type|interface) (\w+)|^export type \{ (\w+) \}|type (\w+) \} from/gm),
  ].map((match) => match[1] ?? match[2] ?? match[3])
  expect(types.filter((name) => name !== undefined).toSorted()).toEqual(
    ['ErrorCode', 'Run', 'RunEvent', 'RunOptions', 'RunReport'].toSorted(),
  )
})

it('has one version', () => {
  const { version: packaged } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  expect(version).toBe(packaged)
})

it('packs the command, the library, agents, pipelines and starters, and nothing else', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ files: { path: string }[] }]
  const folders = new Set(packed.files.map(({ path }) => (path.includes('/') ? `${path.split('/')[0]}/` : path)))
  expect([...folders].toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'agents/',
    'dist/',
    'package.json',
    'pipelines/',
    'starters/',
  ])
  const paths = packed.files.map(({ path }) => path)
  expect(paths).toEqual(
    expect.arrayContaining([
      'dist/bin/baton.js',
      'dist/bin/glue.wasm',
      'dist/index.js',
      'dist/index.d.ts',
      'agents/context-builder.aip',
      'pipelines/quickstart.md',
      'starters/pack/pack.toml',
    ]),
  )
})
