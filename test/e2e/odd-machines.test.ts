import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

/** Runs a line of shell in the folder; `$baton` is the command. */
async function shell(line: string, { cwd, env }: { readonly cwd: string; readonly env: Record<string, string> }) {
  const baton = `${process.execPath} ${join(root, 'dist/bin/baton.js')}`
  const around = { PATH: process.env['PATH'] ?? '', ...env }
  const run = promisify(execFile)('sh', ['-c', line.replaceAll('$baton', baton)], { cwd, env: around })
  const { code, stdout, stderr } = await run.then(
    (ended) => ({ code: 0, ...ended }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  return { code, stdout, stderr }
}

it('a current folder that was removed is named as the problem', async () => {
  const cwd = tempTree({ 'gone/a': '' })
  const ended = await shell('cd gone; rm -r ../gone; exec $baton runs', { cwd, env: { HOME: cwd } })
  expect(ended).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'error: the current folder does not exist\n' +
      'hint: It was removed or replaced: change to a folder that exists, and try again.\n',
  })
})

it('a chat answers without a record where the home is no folder, as it is for some services', async () => {
  const server = await startModelServer(() => ({ text: 'fine' }))
  onTestFinished(() => server.close())
  const env = { HOME: '/dev/null', BATON_GATEWAY_URL: server.url }
  const ended = await shell('echo hi | $baton chat -m m', { cwd: tempTree({ 'a.txt': '' }), env })
  expect(ended).toEqual({ code: 0, stdout: 'fine\n', stderr: expect.stringMatching(/^warning .* is not recorded/) })
})

it('a command that finds the disk full leaves no empty files', async () => {
  const folder = tempTree({ 'project/.git/HEAD': '' })
  const [cwd, env] = [join(folder, 'project'), { HOME: join(folder, 'home') }]
  // a file size limit replaces a full disk
  const ended = await shell('ulimit -f 0; exec $baton init', { cwd, env })
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('baton.toml cannot be written: EFBIG') })
  const left = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  expect(left.map(({ name }) => name)).toEqual(['HEAD'])
})

it('a record that cannot be read is named, with what to do', async () => {
  const cwd = tempTree({ 'project/a.lua': 'return 1' })
  const places = { cwd: join(cwd, 'project'), env: { HOME: cwd, BATON_HOME: join(cwd, 'home') } }
  await shell('$baton a.lua', places)
  await shell('for file in ../home/state/runs/*/*/j-*; do rm $file; mkdir $file; done', places)
  const { code, stderr } = await shell('$baton report', places)
  expect(stderr).toMatch(/^error: the record \S*\/j-000001\.jsonl cannot be read: EISDIR: .*\nhint: Make it yours/)
  expect(code).toBe(1)
})
