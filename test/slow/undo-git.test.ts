import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, type BatonOptions, type BatonResult } from '../helpers/baton.ts'
import { lookBelow } from '../helpers/look.ts'
import { tempTree } from '../helpers/temp.ts'

const script = 'aip.git.restore("work")\nprint("restored")\n'

/** A repository whose folder `work` is edited after all its files were committed. */
function repository(files: Readonly<Record<string, string>>, prepare: (at: (path: string) => string) => void) {
  const cwd = tempTree({ ...files, 'restore.lua': script })
  const at = (path: string): string => join(cwd, 'work', path)
  prepare(at)
  const env = { BATON_HOME: join(tempTree(), 'baton') }
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    ['commit', '-qm', 'first'],
  ]) {
    const { status, stderr } = spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
      cwd,
    })
    if (status !== 0) throw new Error(String(stderr))
  }
  const run = (args: readonly string[], options: Partial<BatonOptions> = {}): Promise<BatonResult> =>
    baton(args, { cwd, env, ...options })
  return { at, run, look: () => lookBelow(at('')) }
}

describe('baton undo of aip.git.restore', () => {
  it.each(['lua54', 'fengari'])(
    'reverts restored edits: contents, absence, modes, links, folders (%s)',
    async (engine) => {
      const { at, run, look } = repository(
        {
          'work/text.txt': 'one\ntwo\n',
          'work/raw': '\0ÿ',
          'work/gone.txt': 'gone',
          'work/deep/gone/too.txt': 'too',
          'work/run.sh': '#!/bin/sh\n',
          'work/plain.txt': 'plain',
          'work/private.txt': 'private',
          'work/was-file': 'f',
          'work/was-folder/a.txt': 'a',
          'work/was-folder/b.txt': 'b',
          'work/same.txt': 'same',
        },
        (path) => {
          chmodSync(path('run.sh'), 0o755)
          symlinkSync('text.txt', path('link'))
          symlinkSync('text.txt', path('was-link'))
        },
      )
      const committed = look()
      writeFileSync(at('text.txt'), 'one\nTWO\n')
      writeFileSync(at('raw'), '\0ÿþ')
      rmSync(at('gone.txt'))
      rmSync(at('deep'), { recursive: true })
      chmodSync(at('run.sh'), 0o644)
      chmodSync(at('plain.txt'), 0o755)
      chmodSync(at('private.txt'), 0o600)
      writeFileSync(at('private.txt'), 'edited')
      rmSync(at('link'))
      symlinkSync('elsewhere', at('link'))
      rmSync(at('was-link'))
      writeFileSync(at('was-link'), 'a file now')
      rmSync(at('was-file'))
      mkdirSync(at('was-file/inner'), { recursive: true })
      writeFileSync(at('was-file/inner/unknown.txt'), 'git does not know this')
      rmSync(at('was-folder'), { recursive: true })
      writeFileSync(at('was-folder'), 'a file now')
      const edited = look()

      const done = await run(['restore.lua', '-c', `lua.engine=${engine}`])
      expect(done).toMatchObject({
        code: 0,
        stdout: 'restored\n',
        stderr: expect.stringContaining('files changed · see:'),
      })
      // a file that only its owner may read keeps its permissions
      expect(look()).toEqual({ ...committed, 'private.txt': `600 ${Buffer.from('private').toString('base64')}` })
      const diff = (await run(['runs', 'show', 'last', '--diff'])).stdout
      expect(diff).toContain('-TWO\n+two\n')
      expect(diff).toContain('old mode 100644\nnew mode 100755\n')

      expect((await run(['undo'])).code).toBe(0)
      expect(look()).toEqual(edited)
      expect((await run(['undo'])).code).toBe(0)
      expect(look()).toEqual({ ...committed, 'private.txt': `600 ${Buffer.from('private').toString('base64')}` })
    },
  )

  it('keeps what a killed run had restored, and what it restored when it was resumed', async () => {
    const names = Array.from({ length: 700 }, (_, index) => `${index % 7}/f${index}.txt`)
    const files = Object.fromEntries(names.map((name) => [`work/${name}`, `committed ${name}`]))
    const { at, run, look } = repository(files, () => undefined)
    const committed = look()
    for (const [index, name] of names.entries()) {
      if (index % 3 === 0) rmSync(at(name))
      else writeFileSync(at(name), `edited ${name}`)
    }
    const edited = look()
    const killed = await run(['restore.lua', '--json'], {
      onOutput: (stdout, kill) => void (stdout.split('"restore"').length > 40 && kill('SIGKILL')),
    })
    expect(killed.code).not.toBe(0)
    const half = look()
    expect(half).not.toEqual(edited)
    expect(half).not.toEqual(committed)

    const resumed = await run(['resume', 'last'])
    expect(resumed).toMatchObject({ code: 0, stdout: 'restored\n' })
    expect(look()).toEqual(committed)
    expect((await run(['undo'])).code).toBe(0)
    expect(look()).toEqual(edited)
  })

  it('is replayed without the repository', async () => {
    const { at, run } = repository({ 'work/a.txt': 'a', 'work/b.txt': 'b' }, (path) =>
      symlinkSync('a.txt', path('link')),
    )
    writeFileSync(at('a.txt'), 'edited')
    rmSync(at('b.txt'))
    rmSync(at('link'))
    expect((await run(['restore.lua'])).code).toBe(0)
    rmSync(join(dirname(at('')), '.git'), { recursive: true })
    const replayed = await run(['restore.lua', '--replay', 'last'])
    expect(replayed).toMatchObject({ code: 0, stdout: 'restored\n' })
  })
})
