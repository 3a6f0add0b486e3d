import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { baton, type BatonOptions, type BatonResult, jsonLines, snapshot } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

async function world(files: { readonly [path: string]: string }, answers: readonly string[] = []) {
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const server = await startModelServer(answers.map((text) => ({ text })))
  onTestFinished(() => server.close())
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: join(tempTree(), 'baton') }
  const run = (args: readonly string[], options: Partial<BatonOptions> = {}): Promise<BatonResult> =>
    baton(args, { cwd, env, ...options })
  return { cwd, run, look: () => snapshot(cwd) }
}

const ask = `+++
model = "coder"
write_mode = true
context_globs = ["src/**"]
budget.unpriced = "allow"
+++
Change it.
`

describe('baton undo', () => {
  it('is mentioned after a run that changed files, shows its changes, and reverts them', async () => {
    const answer = `<FILE_CHANGES>
<FILE_PATCH file_path="src/a.js">
@@
-one
+two
</FILE_PATCH>
<FILE_NEW file_path="docs/new.md">
# New
</FILE_NEW>
</FILE_CHANGES>`
    const { cwd, run, look } = await world({ 'ask.md': ask, 'src/a.js': 'one\n' }, [answer])
    const before = look()
    const { code, stderr } = await run(['ask.md'])
    expect(code).toBe(0)
    const [, see = '', undo = ''] =
      /^2 files changed · see: baton (.*) · undo: baton (.*)$/m.exec(stderr) ?? expect.unreachable(stderr)
    const diff = await run(see.split(' '))
    expect(diff.stdout).toContain('--- a/src/a.js\n+++ b/src/a.js\n@@ -1 +1 @@\n-one\n+two\n')
    expect(diff.stdout).toContain('+++ b/docs/new.md\n@@ -0,0 +1 @@\n+# New\n')

    writeFileSync(join(cwd, 'docs/new.md'), 'mine')
    const part = await run([...undo.split(' '), '--json'])
    expect(part.code).toBe(1)
    expect(jsonLines(part.stdout).map(({ path, outcome }) => [path, outcome])).toEqual(
      [
        ['docs', 'as_before'],
        ['docs/new.md', 'refused'],
        ['src/a.js', 'restored'],
      ].filter(([, outcome]) => outcome !== 'as_before'),
    )
    writeFileSync(join(cwd, 'docs/new.md'), '# New\n')
    expect((await run(undo.split(' '))).code).toBe(0)
    expect(look()).toEqual(before)
    expect((await run(['undo', 'nothing.txt'])).stderr).toContain('did not change nothing.txt')
  })

  it.each(['lua54', 'fengari'])('reverts changes of a script and of an agent it runs with %s', async (engine) => {
    const { run, look } = await world({
      'main.lua': 'aip.file.save("a.txt", "A")\naip.agent.run("child.lua")\naip.file.append("log.txt", "more\\n")\n',
      'child.lua': 'aip.file.delete("gone/b.txt")\naip.file.move("c.txt", "d/c.txt")\n',
      'a.txt': 'a',
      'gone/b.txt': 'b',
      'c.txt': 'c',
      'log.txt': 'log\n',
    })
    const before = look()
    const { code, stderr } = await run(['main.lua', '-c', `lua.engine=${engine}`])
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('4 files changed') })
    expect((await run(['undo'])).code).toBe(0)
    expect(look()).toEqual(before)
  })

  it('reverts the changes of a run until it was killed, and those after it was resumed', async () => {
    const script = `for i = 1, 40 do aip.file.save("f" .. i .. ".txt", "new") end
print("half")
if not aip.file.exists("go") then while true do aip.file.append("f1.txt", "more") end end
aip.file.delete("keep.txt")
`
    const { cwd, run, look } = await world({ 'main.lua': script, 'f1.txt': 'old', 'keep.txt': 'kept' })
    const before = look()
    const killed = await run(['main.lua'], { onOutput: (_, kill) => kill('SIGKILL') })
    expect(killed.code).not.toBe(0)
    expect(existsSync(join(cwd, 'f40.txt'))).toBe(true)
    expect((await run(['undo'])).code).toBe(0)
    expect(look()).toEqual(before)
    const redone = await run(['undo'])
    expect(redone.code).toBe(0)
    expect(readFileSync(join(cwd, 'f2.txt'), 'utf8')).toBe('new')
    expect((await run(['undo'])).code).toBe(0)
    expect(look()).toEqual(before)
  })

  it('reverts the changes of both processes of a resumed run', async () => {
    const script = `aip.file.save("a.txt", "first")
aip.file.load("wanted.txt")
aip.file.save("a.txt", "second")
aip.file.delete("keep.txt")
`
    const { cwd, run, look } = await world({ 'main.lua': script, 'a.txt': 'old', 'keep.txt': 'kept' })
    expect((await run(['main.lua'])).code).toBe(1)
    writeFileSync(join(cwd, 'wanted.txt'), '')
    const resumed = await run(['resume', 'last'])
    expect({ code: resumed.code, stderr: resumed.stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('2 files changed'),
    })
    expect((await run(['undo'])).code).toBe(0)
    expect(look()).toMatchObject({ 'a.txt': 'old', 'keep.txt': 'kept' })
  })

  it('prevents a run from being resumed until its changes are restored', async () => {
    const { run, look } = await world({ 'a.lua': 'aip.file.save("made.txt", "x")\nerror("stop")\n' })
    const { stderr } = await run(['a.lua'])
    const [, id = ''] = /baton undo (\S+)$/m.exec(stderr) ?? expect.unreachable(stderr)
    const made = look()
    const by = /undo this: baton undo (\S+)/.exec((await run(['undo', id])).stderr)?.[1] ?? ''
    const refused = await run(['resume', id])
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Restore its changes with baton undo ${by}`),
    })
    expect((await run(['undo', by])).code).toBe(0)
    expect(look()).toEqual(made)
    expect((await run(['resume', id])).stderr).toContain('stop')
  })

  it('suggests a run for a mistyped id', async () => {
    const { run } = await world({ 'a.lua': 'aip.file.save("b.txt", "b")' })
    await run(['a.lua', '-q'])
    const id = (await run(['runs', '--ids'])).stdout.trim()
    const mistyped = `${id.slice(0, 4)}9${id.slice(5)}`
    for (const word of [mistyped, mistyped.slice(0, 15)]) {
      expect(await run(['undo', word])).toMatchObject({ code: 2, stderr: expect.stringContaining(id) })
    }
    expect((await run(['undo', 'lsat'])).stderr).toContain('Nearest: last')
    expect((await run(['undo', 'c.txt'])).stderr).toContain('did not change c.txt')
  })
})
