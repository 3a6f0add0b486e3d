import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'
import { tempTree } from './helpers/temp.ts'

/** The loader, bundled from the source. */
const loader = join(tempTree(), 'chunk-loader.mjs')
beforeAll(async () => {
  const entryPoints = [join(import.meta.dirname, '../src/chunk-loader.ts')]
  await build({ entryPoints, outfile: loader, bundle: true, format: 'esm', platform: 'node', logLevel: 'warning' })
})

/** A command made of two files in a separate folder, and its output: the code cache is used only in its process. */
function createCommand(): { readonly folder: string; readonly run: (env?: Record<string, string>) => string } {
  const folder = tempTree({
    'bin/part.js': `(function(exports,require,module){
      const twice = (n) => n * 2
      module.exports = { answer: () => twice(21), also: () => [1, 2].map((n) => n + 41)[1] }
    })`,
    'main.mjs': [
      `import { createChunkLoader } from ${JSON.stringify(loader)}`,
      `const entry = import.meta.dirname + '/bin/entry.js'`,
      `const load = createChunkLoader({ env: process.env, home: process.env.HOME, entry, build: 'b1' })`,
      `const part = load('./part.js')`,
      `console.log(part.answer())`,
      `if (process.env.ALSO === '1') console.log(part.also())`,
    ].join('\n'),
  })
  return {
    folder,
    run(env = {}) {
      const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'main.mjs')], {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: folder, ...env },
      })
      return stdout + stderr
    },
  }
}

const below = 'baton/code/b1'

function filesIn(folder: string): readonly string[] {
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
    : []
}

describe('the cache of compiled code', () => {
  it('is discarded and rewritten when a single byte of it was changed', () => {
    const { folder, run } = createCommand()
    run()
    const cache = join(folder, '.cache', below)
    const [name = ''] = filesIn(cache)
    const whole = readFileSync(join(cache, name))
    const damaged = Buffer.from(whole)
    damaged.writeUInt8(damaged.readUInt8(whole.length - 40) ^ 1, whole.length - 40)
    writeFileSync(join(cache, name), damaged)
    expect(run()).toBe('42\n')
    expect(readFileSync(join(cache, name)).equals(damaged)).toBe(false)
  })

  it('is written to the cache folder of the user, with private permissions, and used by the next process', () => {
    const { folder, run } = createCommand()
    expect(run()).toBe('42\n')
    const cache = join(folder, '.cache', below)
    expect(filesIn(cache)).toEqual([`${process.version}-${process.arch}/part.js`])
    expect(statSync(cache).mode & 0o777).toBe(0o700)

    const file = join(cache, filesIn(cache)[0] ?? '')
    const minutesAgo = Math.round(Date.now() / 1000) - 600
    utimesSync(file, minutesAgo, minutesAgo)
    expect(run()).toBe('42\n')
    // an accepted cache is not written again
    expect(statSync(file).mtimeMs).toBe(minutesAgo * 1000)
  })

  it('is extended after an hour with what other commands needed', () => {
    const { folder, run } = createCommand()
    run()
    const cache = join(folder, '.cache', below)
    const file = join(cache, filesIn(cache)[0] ?? '')
    const before = statSync(file).size
    utimesSync(file, 1_000, 1_000)
    expect(run({ ALSO: '1' })).toBe('42\n43\n')
    expect(statSync(file).size).toBeGreaterThan(before)
    expect(Date.now() - statSync(file).mtimeMs).toBeLessThan(600_000)
  })

  it.each([
    ['BATON_HOME', (folder: string) => ({ BATON_HOME: join(folder, 'own') }), 'own/cache/code/b1'],
    ['XDG_CACHE_HOME', (folder: string) => ({ XDG_CACHE_HOME: join(folder, 'xdg') }), `xdg/${below}`],
    ['NODE_COMPILE_CACHE', (folder: string) => ({ NODE_COMPILE_CACHE: join(folder, 'node') }), 'node/baton-b1'],
  ])('is in the folder that %s names', (_, env, place) => {
    const { folder, run } = createCommand()
    expect(run(env(folder))).toBe('42\n')
    expect(filesIn(join(folder, place))).toHaveLength(1)
    expect(existsSync(join(folder, '.cache'))).toBe(false)
  })

  it('is disabled by NODE_DISABLE_COMPILE_CACHE', () => {
    const { folder, run } = createCommand()
    expect(run({ NODE_DISABLE_COMPILE_CACHE: '1' })).toBe('42\n')
    expect(existsSync(join(folder, '.cache'))).toBe(false)
  })

  it('is not used where others may write to its folder or the folder cannot be made', () => {
    const { folder, run } = createCommand()
    const cache = join(folder, '.cache', below)
    mkdirSync(cache, { recursive: true })
    chmodSync(cache, 0o777)
    expect(run()).toBe('42\n')
    expect(filesIn(cache)).toEqual([])

    writeFileSync(join(folder, 'file'), '')
    expect(run({ XDG_CACHE_HOME: join(folder, 'file') })).toBe('42\n')
  })

  it('is replaced when it is damaged, and caches of other builds are removed', () => {
    const { folder, run } = createCommand()
    const old = join(folder, '.cache/baton/code/b0')
    mkdirSync(old, { recursive: true })
    utimesSync(old, 1_000, 1_000)
    run()
    expect(existsSync(old)).toBe(false)

    const cache = join(folder, '.cache', below)
    const file = join(cache, filesIn(cache)[0] ?? '')
    const good = readFileSync(file)
    writeFileSync(file, good.subarray(0, good.length / 2))
    expect(run()).toBe('42\n')
    expect(readFileSync(file).length).toBeGreaterThan(good.length / 2)
  })

  it('does not remove files of others from the folder that NODE_COMPILE_CACHE names', () => {
    const { folder, run } = createCommand()
    const chosen = join(folder, 'node')
    for (const name of ['v20.0.0-x64-someone', 'baton-b0']) {
      mkdirSync(join(chosen, name), { recursive: true })
      utimesSync(join(chosen, name), 1_000, 1_000)
    }
    expect(run({ NODE_COMPILE_CACHE: chosen })).toBe('42\n')
    // Node itself adds a folder from version 22 on
    const left = readdirSync(chosen).filter((name) => !name.startsWith(`${process.version}-`))
    expect(left.toSorted()).toEqual(['baton-b1', 'v20.0.0-x64-someone'])
  })
})
