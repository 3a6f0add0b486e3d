import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

/** For root, everything is writable: its runs are those of another user. */
const isRoot = process.getuid?.() === 0
const other = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']

/** Runs the command in a folder whose own folders `locked` (`.` is the folder itself) cannot be written. */
async function runLocked(
  files: { readonly [path: string]: string },
  { locked, args }: { readonly locked: readonly string[]; readonly args: readonly string[] },
) {
  const server = await startModelServer(() => ({ text: 'fine' }))
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const home = tempTree()
  mkdirSync(join(home, 'state'))
  chmodSync(dirname(cwd), 0o755)
  for (const folder of [cwd, home, join(home, 'state')]) chmodSync(folder, 0o777)
  for (const folder of locked) chmodSync(join(cwd, folder), 0o555)
  onTestFinished(async () => {
    for (const folder of locked) chmodSync(join(cwd, folder), 0o755)
    await server.close()
  })
  const [command = '', ...rest] = [...(isRoot ? other : []), process.execPath, join(root, 'dist/bin/baton.js'), ...args]
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    BATON_HOME: join(home, 'state'),
    BATON_GATEWAY_URL: server.url,
  }
  const run = promisify(execFile)(command, rest, { cwd, env })
  const { code, stdout, stderr } = await run.then(
    (result) => ({ code: 0, ...result }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  return { code, stdout, stderr, requests: server.requests.length }
}

const prompt = (keys: string, end = ''): string => `+++\nmodel = "m"\n${keys}+++\nDo it.\n${end}`

describe('before anything is paid, a run', () => {
  it('that may change files is refused if it can write none, once, with its place', async () => {
    const files = { 'ask.md': prompt('write_mode = true\n[iterate]\ncondition = "2"\n'), 'src/a.ts': '1' }
    const { code, stderr, requests } = await runLocked(files, { locked: ['src', '.git', '.'], args: ['ask.md'] })
    expect(stderr).toMatch(/error: no file changes can be written: no folder of .* is writable\n {2}at ask\.md:3:14\n/)
    expect([code, requests]).toEqual([2, 0])
  })

  it('that keeps its answers in its file is refused if it cannot write there', async () => {
    const files = { 'ask.md': prompt('', '\n====\n') }
    const { code, stderr, requests } = await runLocked(files, { locked: ['.'], args: ['ask.md'] })
    expect(stderr).toMatch(/error: the answers cannot be written to ask\.md: .*\n {2}at ask\.md:6:1\n/)
    expect([code, requests]).toEqual([2, 0])
  })

  it('is not refused where it writes nothing, or may write somewhere', async () => {
    const reading = { 'ask.md': prompt(''), 'src/a.ts': '1' }
    expect(await runLocked(reading, { locked: ['src', '.'], args: ['ask.md'] })).toMatchObject({ code: 0, requests: 1 })
    const writing = {
      'ask.md': prompt('write_mode = true\ncontext_globs = ["src/*"]\n'),
      'src/a.ts': '1',
      'out/x': '1',
    }
    const dry = await runLocked(writing, { locked: ['src', 'out', '.'], args: ['ask.md', '--dry', 'changes'] })
    expect(dry).toMatchObject({ code: 0, requests: 1 })
    const some = await runLocked(writing, { locked: ['src'], args: ['ask.md'] })
    expect(some).toMatchObject({ code: 0, requests: 1 })
    expect(some.stderr).toContain('warning changes to src/a.ts would fail: their folder cannot be written\n')
  })
})
