import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

it('a run reports its workspace once if it was started in another folder, but not with -q', async () => {
  const root = tempTree({ 'baton.toml': '', 'sub/a.lua': 'print("hi")\n', 'a.lua': 'print("hi")\n' })
  const at = (cwd: string, ...args: readonly string[]) => baton(args, { cwd: join(root, cwd) })
  expect(await at('sub', 'a.lua')).toMatchObject({ code: 0, stdout: 'hi\n', stderr: `workspace ${root}\n` })
  expect(await at('.', 'a.lua')).toMatchObject({ code: 0, stderr: '' })
  expect(await at('sub', '-q', 'a.lua')).toMatchObject({ code: 0, stderr: '' })
  const json = await at('sub', '--json', 'a.lua')
  expect(json.stderr).toBe('')
  expect(JSON.parse(json.stdout.split('\n')[0] ?? '')).toMatchObject({ type: 'run.started', workspace: root })
  expect((await at('sub', 'config')).stderr).toBe(`workspace ${root}\n`)
})

it('an invalid .git does not make its folder the workspace', async () => {
  const root = tempTree({ 'secret.txt': 'theirs', 'sub/mine.txt': 'mine', 'sub/ask.md': 'x' })
  mkdirSync(join(root, '.git'))
  const server = await startModelServer(() => ({ text: 'fine' }))
  try {
    const result = await baton(['run', '-p', 'Go.', '-m', 'm', '-c', 'context_globs=["*.txt"]'], {
      cwd: join(root, 'sub'),
      env: { BATON_GATEWAY_URL: server.url },
    })
    expect(result).toMatchObject({ code: 0, stderr: '' })
    const asked = JSON.stringify(server.requests[0]?.body)
    expect(asked).toContain('mine.txt')
    expect(asked).not.toContain('secret.txt')
  } finally {
    await server.close()
  }
})
