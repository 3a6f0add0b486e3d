import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { spawnSync } from 'node:child_process'
import { root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const bin = join(root, 'dist/bin')

/** Chunks that the built command loads, by running it with a hook that notes every module. */
function loaded(args: readonly string[], cwd: string): string {
  const result = spawnSync(
    process.execPath,
    ['--experimental-loader', join(root, 'test/e2e/fixtures/note-modules.mjs'), join(bin, 'baton.js'), ...args],
    {
      cwd,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: cwd, BATON_HOME: join(cwd, '.baton-home'), NODE_NO_WARNINGS: '1' },
    },
  )
  return result.stderr
    .split('\n')
    .filter((line) => line.startsWith('loaded '))
    .map((line) => readFileSync(line.slice('loaded '.length), 'utf8'))
    .join('\n')
}

// a string of each package that survives minification
// (wasmoon has no JavaScript in the bundle: only its wasm file is used)
const heavy = {
  openai: 'OPENAI_LOG',
  zod: 'ZodError',
  yaml: 'YAMLParseError',
  minisearch: 'MiniSearch',
  chokidar: 'CHOKIDAR_INTERVAL',

  yargs: 'Not enough non-option arguments',
}

describe('start-up', () => {
  it('finds the marks in the built chunks', () => {
    const all = readdirSync(join(bin, 'chunks'))
      .map((file) => readFileSync(join(bin, 'chunks', file), 'utf8'))
      .join('\n')
    expect(Object.entries(heavy).filter(([, mark]) => !all.includes(mark))).toEqual([])
  })

  it.each([
    [['--version'], []],
    [['--help'], ['yargs']],
    [['run', 'a.aip'], []],
  ] as const)('%j loads no heavy package but %j', (args, needed) => {
    const folder = tempTree({ 'a.aip': '# Output\n\n```lua\nreturn 1\n```\n' })
    const text = loaded(args, folder)
    const found = Object.entries(heavy)
      .filter(([, mark]) => text.includes(mark))
      .map(([name]) => name)
    expect(found.filter((name) => !(needed as readonly string[]).includes(name))).toEqual([])
    expect(text).not.toBe('')
    expect(needed.filter((name) => !found.includes(name))).toEqual([])
  })
})
