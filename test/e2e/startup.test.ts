import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { spawnSync } from 'node:child_process'
import { root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const bin = join(root, 'dist/bin')

/** What the built command loads, found by running it with a hook that logs every script and every module of Node. */
function noted(mark: 'loaded' | 'builtin', args: readonly string[], cwd: string): readonly string[] {
  const result = spawnSync(
    process.execPath,
    ['--require', join(root, 'test/e2e/fixtures/note-scripts.cjs'), join(bin, 'baton.js'), ...args],
    {
      cwd,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: cwd, BATON_HOME: join(cwd, '.baton-home') },
    },
  )
  return result.stderr
    .split('\n')
    .filter((line) => line.startsWith(`${mark} `))
    .map((line) => line.slice(mark.length + 1))
}

// for each package or part, a string that survives minification
// (wasmoon has no JavaScript in the bundle: only its wasm file is used)
const seldom = {
  openai: 'OPENAI_LOG',
  zod: 'ZodError',
  yaml: 'YAMLParseError',
  minisearch: 'MiniSearch',
  chokidar: 'CHOKIDAR_INTERVAL',
  yargs: 'Not enough non-option arguments',
  fengari: 'FENGARICONF',
  'answers of prompt files': 'the answer was truncated at its output limit, so it does not match',
  re2js: 'invalid or unsupported Perl syntax',
  'runs that go on': 'counts as failed, as chosen with --uncertain',
  'programs in JavaScript': 'the JavaScript box was closed',
  'the engine of Lua': 'wasmoon/dist/glue.wasm',
  'replayed runs': 'a replayed run calls no model',
}

describe('start-up', () => {
  it('finds the marks in the built chunks', () => {
    const all = readdirSync(join(bin, 'chunks'))
      .map((file) => readFileSync(join(bin, 'chunks', file), 'utf8'))
      .join('\n')
    expect(Object.entries(seldom).filter(([, mark]) => !all.includes(mark))).toEqual([])
  })

  it('has nothing in its chunks of what packages contain and nobody uses', () => {
    const all = readdirSync(join(bin, 'chunks')).map((file) => readFileSync(join(bin, 'chunks', file), 'utf8'))
    const unused = {
      'resources of openai': '/vector_stores',
      'comments of prices': 'price_comments',
      'schemas that zod reads': 'Conditional schemas (if/then/else) are not supported',
    }
    expect(Object.entries(unused).filter(([, mark]) => all.some((text) => text.includes(mark)))).toEqual([])
  })

  it.each([
    // of these six, only the code that prints the version is run
    [['--version'], { files: 1, kilobytes: 6, needed: [] }],
    [['--help'], { files: 2, kilobytes: 178, needed: ['yargs'] }],
    [['runs'], { files: 11, kilobytes: 434, needed: ['yargs'] }],
    [['run', 'a.aip'], { files: 5, kilobytes: 960, needed: ['yargs', 'the engine of Lua'] }],
    [
      ['-p', 'hi', '-m', 'offline::extractive'],
      { files: 20, kilobytes: 1304, needed: ['zod', 'minisearch', 'yargs', 'answers of prompt files'] },
    ],
  ] as const)(
    '%j loads few files, and rarely needed ones only if it needs them',
    (args, { files, kilobytes, needed }) => {
      const folder = tempTree({ 'a.aip': '# Output\n\n```lua\nreturn 1\n```\n' })
      const texts = noted('loaded', args, folder).map((file) => readFileSync(file, 'utf8'))
      const text = texts.join('\n')
      const found = Object.entries(seldom)
        .filter(([, mark]) => text.includes(mark))
        .map(([name]) => name)
      expect(found).toEqual(needed)
      expect(texts.length).toBeGreaterThan(0)
      expect(texts.length).toBeLessThanOrEqual(files)
      expect(text.length / 1024).toBeLessThanOrEqual(kilobytes)
    },
  )

  it('of a script loads no Node modules that only networks, packages, large files and temporary folders need', () => {
    const folder = tempTree({ 'a.aip': '# Output\n\n```lua\nreturn 1\n```\n' })
    // creates the key that records are signed with
    noted('builtin', ['run', 'a.aip'], folder)
    const builtins = noted('builtin', ['run', 'a.aip'], folder)
    expect(builtins).toContain('fs')
    const found = builtins.filter((name) =>
      ['dns', 'fs/promises', 'http', 'https', 'module', 'perf_hooks', 'tls', 'worker_threads'].includes(name),
    )
    expect(found).toEqual([])
  })
})
