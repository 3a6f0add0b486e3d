import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { type ModelScript, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

type Run = (...args: readonly string[]) => Promise<BatonResult>

async function world(files: { readonly [path: string]: string }, script: ModelScript): Promise<Run> {
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }
  return (...args) => baton(args, { cwd, env })
}

const refused = { status: 400, body: { error: { message: 'not like this' } } }

it('says why an iteration failed, and offers no resume that would do nothing', async () => {
  const run = await world({ 'ask.md': '+++\nmodel = "m"\n+++\nGo on.' }, [{ text: 'One.' }, refused])
  const { code, stdout, stderr } = await run('ask.md', '--iter', '2', '-c', 'iterate.commits=false')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^iteration 1 of 2\nfailed ask\.md: .*not like this\niteration 1 failed: 0 files/m)
  expect(stderr).toMatch(/^Iterations: 1\/2 succeeded \(1 failed\)$/m)
  expect(stderr).not.toContain('resume:')
})

it('replays fewer iterations than were recorded where --iter says so, and refuses an invalid one', async () => {
  const run = await world({ 'ask.md': '+++\nmodel = "m"\n+++\nGo on.' }, [{ text: 'One.' }, { text: 'Two.' }])
  expect(await run('ask.md', '--iter', '2', '--record', 'two.cassette')).toMatchObject({ code: 0, stdout: 'Two.\n' })
  expect(await run('ask.md', '--replay', 'two.cassette')).toMatchObject({ code: 0, stdout: 'Two.\n' })
  const { stdout, stderr } = await run('ask.md', '--replay', 'two.cassette', '--iter', '1')
  expect(stdout).toBe('One.\n')
  expect(stderr).toContain('Iterations: 1/1 succeeded (0 failed)')
  expect(await run('ask.md', '--replay', 'two.cassette', '--iter', 'x')).toMatchObject({ code: 2 })
})

it('does not iterate an agent silently once', async () => {
  const run = await world({ 'a.lua': 'return "once"' }, [])
  const { code, stdout, stderr } = await run('a.lua', '--iter', '3')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('--iter, like --until and [iterate], is for prompt files, and a.lua is an agent')
  expect(stderr).toContain('hint: Write a prompt file with agent = "a.lua".')
})
