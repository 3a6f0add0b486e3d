import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { AppliedItem } from '../../src/undo/apply.ts'
import { baton, jsonLines } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const answer = `Done.

<FILE_CHANGES>
<FILE_PATCH file_path="a.txt">
@@
-one
+two
</FILE_PATCH>
<FILE_NEW file_path="new.txt">
new
</FILE_NEW>
<FILE_DELETE file_path="old.txt" />
<FILE_RENAME from_path="from.txt" to_path="to.txt" />
</FILE_CHANGES>`

async function dryRun() {
  const server = await startModelServer(() => ({ text: answer }))
  onTestFinished(() => server.close())
  const cwd = tempTree({
    '.git/HEAD': '',
    'ask.md': '+++\nmodel = "m"\nwrite_mode = true\ncontext_globs = ["*.txt"]\n+++\nChange it.\n',
    'a.txt': 'one\n',
    'old.txt': 'old\n',
    'from.txt': 'moved\n',
  })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }
  const at = { cwd, env }
  const dry = await baton(['ask.md', '--dry', 'changes'], at)
  const read = (name: string): string | undefined => {
    try {
      return readFileSync(join(cwd, name), 'utf8')
    } catch {
      return undefined
    }
  }
  const state = () => ['a.txt', 'new.txt', 'old.txt', 'from.txt', 'to.txt'].map(read)
  return { at, cwd, dry, state, calls: () => server.requests.length }
}

const before = ['one\n', undefined, 'old\n', 'moved\n', undefined]
const after = ['two\n', 'new\n', undefined, undefined, 'moved\n']

it('makes what a dry run has shown, without another call, and is undone like a run', async () => {
  const { at, dry, state, calls } = await dryRun()
  expect([dry.code, state()]).toEqual([0, before])
  expect(dry.stderr).toMatch(/not applied · apply: baton apply \d{8}-/)
  expect((await baton(['runs'], at)).stdout).toMatch(/  not applied  /)
  const shown = await baton(['runs', 'show', 'last', '--diff'], at)
  expect([shown.stdout, shown.stderr]).toEqual([
    dry.stdout,
    expect.stringContaining('planned, not made; apply: baton apply '),
  ])

  const applied = await baton(['apply'], at)
  expect([applied.code, state(), calls()]).toEqual([0, after, 1])
  expect(applied.stdout).toBe('wrote a.txt\nwrote new.txt\ndeleted old.txt\nmoved to.txt\n')
  expect((await baton(['runs'], at)).stdout).not.toContain('not applied')
  const again = await baton(['apply'], at)
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining('no run of this workspace has changes that are not applied'),
  ])

  expect([(await baton(['undo'], at)).code, state()]).toEqual([0, before])
  expect((await baton(['runs'], at)).stdout).toContain('not applied')
})

it('makes nothing if a file has changed since, unless the rest is asked for', async () => {
  const { at, cwd, state } = await dryRun()
  writeFileSync(join(cwd, 'a.txt'), 'mine\n')
  const refused = await baton(['apply'], at)
  expect([refused.code, state()]).toEqual([1, ['mine\n', ...before.slice(1)]])
  expect(refused.stderr).toContain('error: changed since the dry run: a.txt:1; nothing was applied\n')
  const rest = await baton(['apply', '--skip-changed', '--json'], at)
  expect([rest.code, state()]).toEqual([1, ['mine\n', ...after.slice(1)]])
  expect(jsonLines(rest.stdout)).toContainEqual(
    expect.objectContaining({ path: 'a.txt', outcome: 'changed' } satisfies AppliedItem),
  )
})

it('takes files, and refuses those that the run has not planned, and runs that have planned nothing', async () => {
  const { at, cwd, state } = await dryRun()
  const wrong = await baton(['apply', 'last', 'a.txt', 'b.txt'], at)
  expect([wrong.code, wrong.stderr, state()]).toEqual([
    2,
    expect.stringContaining('has planned no change of b.txt'),
    before,
  ])
  expect((await baton(['apply', 'last', 'a.txt'], at)).code).toBe(0)
  expect(state()).toEqual(['two\n', ...before.slice(1)])
  // what is already as planned does not prevent the rest
  expect((await baton(['apply'], at)).code).toBe(0)
  expect(state()).toEqual(after)
  rmSync(join(cwd, 'new.txt'))
  const [id = ''] = (await baton(['runs', '--ids'], at)).stdout.split('\n')
  const none = await baton(['apply', id], at)
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('has planned no changes of files')])
})

it('a dry run that planned changes before it was interrupted is not applied when it has been resumed', async () => {
  let asked = 0
  const server = await startModelServer(() => {
    asked += 1
    if (asked === 2) return { text: 'cut off', stallAfter: 1 }
    return {
      text: asked === 1 ? '<FILE_CHANGES>\n<FILE_NEW file_path="new.txt">\nx\n</FILE_NEW>\n</FILE_CHANGES>' : 'ok',
    }
  })
  onTestFinished(() => server.close())
  const file = '+++\nmodel = "m"\nwrite_mode = true\ntemplate = true\ninput_concurrency = 1\n+++\n{{input}}\n'
  const cwd = tempTree({ '.git/HEAD': '', 'ask.md': file })
  const at = { cwd, env: { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() } }
  await baton(['ask.md', '-i', 'one', '-i', 'two', '--dry', 'changes', '--json'], {
    ...at,
    onOutput: (text, kill) => void (asked === 2 && text.includes('cut') && kill('SIGKILL')),
  })
  const resumed = await baton(['resume', '--last'], at)
  expect(resumed).toMatchObject({ code: 0, stderr: expect.stringMatching(/not applied · apply: baton apply \S+\n/) })
  expect((await baton(['apply', '-q'], at)).code).toBe(0)
  expect(readFileSync(join(cwd, 'new.txt'), 'utf8')).toBe('x\n')
})
