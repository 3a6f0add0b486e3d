import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
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

it('says why an iteration failed, and suggests no resume that would do nothing', async () => {
  const run = await world({ 'ask.md': '+++\nmodel = "m"\n+++\nGo on.' }, [{ text: 'One.' }, refused])
  const { code, stdout, stderr } = await run('ask.md', '--iter', '2', '-c', 'iterate.commits=false')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^iteration 1 of 2\nfailed ask\.md: .*not like this\niteration 1 failed: 0 files/m)
  expect(stderr).toMatch(/^Iterations: 1\/2 succeeded \(1 failed\)$/m)
  expect(stderr).not.toContain('resume:')
})

it('replays fewer iterations than were recorded with --iter, and refuses an invalid number', async () => {
  const run = await world({ 'ask.md': '+++\nmodel = "m"\n+++\nGo on.' }, [{ text: 'One.' }, { text: 'Two.' }])
  expect(await run('ask.md', '--iter', '2', '--record', 'two.cassette')).toMatchObject({ code: 0, stdout: 'Two.\n' })
  expect(await run('ask.md', '--replay', 'two.cassette')).toMatchObject({ code: 0, stdout: 'Two.\n' })
  const { stdout, stderr } = await run('ask.md', '--replay', 'two.cassette', '--iter', '1')
  expect(stdout).toBe('One.\n')
  expect(stderr).toContain('Iterations: 1/1 succeeded (0 failed)')
  expect(await run('ask.md', '--replay', 'two.cassette', '--iter', 'x')).toMatchObject({ code: 2 })
})

it('iterates an agent: its outputs are those of the last iteration', async () => {
  const script = 'local n = #aip.file.list("n*.txt")\naip.file.save("n" .. n .. ".txt", "x")\nreturn "run " .. n'
  const run = await world({ 'a.lua': script }, [])
  const { code, stdout, stderr } = await run(
    'a.lua',
    '--iter',
    '5',
    '--until',
    'test -e n1.txt',
    '-c',
    'iterate.commits=false',
  )
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'run 1\n' })
  expect(stderr).toContain('Iterations: 2/2 succeeded (0 failed), condition met')
})

it('continues after a failed agent, and exits like its last iteration', async () => {
  const script = 'if #aip.file.list("n*.txt") == 0 then aip.file.save("n.txt", "x") error("not yet") end\nreturn "good"'
  const run = await world({ 'a.lua': script }, [])
  const { code, stdout, stderr } = await run('a.lua', '--iter', '2', '-c', 'iterate.commits=false')
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'good\n' })
  expect(stderr).toContain('not yet')
  expect(stderr).toContain('Iterations: 1/2 succeeded (1 failed)')
})

it('says where an agent failed, and suggests no resume that would do nothing', async () => {
  const run = await world({ 'a.lua': 'aip.file.save("n.txt", "x")\nerror("no luck")\n' }, [])
  const { code, stderr } = await run('a.lua', '--iter', '2', '-c', 'iterate.commits=false')
  expect(code).toBe(1)
  expect(stderr).toMatch(/^warning no luck \(a\.lua:2\)\niteration 1 failed: 1 file$/m)
  expect(stderr).toMatch(/^error: no luck\n {2}at a\.lua:2\b/m)
  expect(stderr).not.toContain('resume:')
  const shown = await run('runs', 'show', 'last')
  expect(shown.stdout).toContain('no luck')
  expect(shown.stdout).not.toContain('resume:')
})

it('says how to see the output of a command that never succeeded', async () => {
  const run = await world({}, [{ text: 'One.' }, { text: 'Two.' }])
  const { code, stderr } = await run('-p', 'Hi', '-m', 'm', '--iter', '2', '--until', 'echo "3 tests failed"; false')
  expect(code).toBe(7)
  const [, command = ''] = /^hint: See its output with baton (.*?); /m.exec(stderr) ?? []
  expect((await run(...command.split(' '))).stdout).toContain('3 tests failed')
  expect((await run('runs', 'show', 'last')).stdout).not.toContain('resume:')
})

it('counts the usage of each iteration of an agent once', async () => {
  const files = { 'ask.aip': '# Options\n\n```toml\nmodel = "m"\n```\n\n# Instruction\n\nHello.\n' }
  const run = await world(files, [{ text: 'One.' }, { text: 'Two.' }])
  const { code, stdout } = await run('ask.aip', '--iter', '2', '--json')
  expect(code).toBe(0)
  const events = jsonLines(stdout)
  const used = events.filter(({ type }) => type === 'usage').map(({ call }) => call as Record<string, number>)
  const done = events.filter(({ type }) => type === 'iteration.completed')
  expect(done).toHaveLength(2)
  expect(done.map(({ tokens_used: tokens }) => tokens)).toEqual(used.map(({ input = 0, output = 0 }) => input + output))
})
