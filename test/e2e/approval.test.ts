import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const files = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  'ask.md': '+++\nmodel = "m"\nwrite_mode = "ask"\ncontext_globs = ["*.txt"]\n+++\nChange it.\n',
  'a.txt': 'one\n',
}
const answer = (to: string): string =>
  `Done.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="a.txt">\n@@\n-one\n+${to}\n</FILE_PATCH>\n</FILE_CHANGES>`

async function world() {
  const server = await startModelServer((_, index) => ({ text: answer(index === 0 ? 'two' : 'three') }))
  onTestFinished(() => server.close())
  const cwd = tempTree(files)
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }
  return { server, cwd, env, read: () => readFileSync(join(cwd, 'a.txt'), 'utf8') }
}

it('without a terminal --on-ask decides: a suspended run goes on where it was, and -y allows', async () => {
  const { server, cwd, env, read } = await world()
  const denied = await baton(['ask.md'], { cwd, env })
  expect([denied.code, read()]).toEqual([5, 'one\n'])
  expect(denied.stderr).toContain('needs an approval, and nobody can be asked')

  const suspended = await baton(['ask.md', '--on-ask', 'suspend'], { cwd, env })
  expect([suspended.code, read(), server.requests.length]).toEqual([5, 'one\n', 2])
  expect(suspended.stderr).toContain('suspended: write a.txt needs an approval\n')

  const { code, stdout } = await baton(['resume', '--last', '-y'], { cwd, env })
  expect([code, stdout, read(), server.requests.length]).toEqual([0, 'Done.\n', 'three\n', 2])
})
