import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withScope, withServices } from '../../../src/event/context.ts'
import type { EventBody } from '../../../src/event/event.ts'
import { failureOf } from '../../../src/run/answer.ts'
import { runPrompt } from '../../../src/run/prompt-run.ts'
import { agentWorld, loadPromptFile } from '../../helpers/agents.ts'
import { createFakeProvider } from '../../helpers/fake-model.ts'
import { gitIn } from '../../helpers/git-world.ts'
import { textIn } from '../../helpers/messages.ts'
import { tempTree } from '../../helpers/temp.ts'
import { worktreeWorld } from '../../helpers/worktree-world.ts'
import { strategies } from '../../../src/strategies/strategies.ts'
import type { TaskOutcome } from '../../../src/run/strategy.ts'

const program = (name: string, script: string): string =>
  `[[ensemble.agents]]\nname = "${name}"\ncommand = "sh"\nargs = ["-c", ${JSON.stringify(script)}]\nsandbox.mode = "danger-full-access"\n`

/** Two programs that change the same line, and a file of a submodule. */
const both =
  program('a', 'echo one > notes.txt; echo a > made-a.txt; echo did a') +
  program('b', 'echo two > notes.txt; cat untracked.txt > made-b.txt; echo b > sub/lib.txt; echo did b')

/**
 * Runs an ensemble in a repository with a submodule and an untracked file. A model that is asked answers `judgement`.
 */
async function run(keys: string, { members = both, judgement = '' } = {}) {
  const provider = createFakeProvider(() => ({ text: [judgement] }))
  const front = `+++\nmodel = "main"\nwrite_mode = true\n${keys}\n${members}+++\nChange the notes.\n`
  const { folder, context: plain } = agentWorld({ 'e.md': front, 'notes.txt': 'base\n' }, { provider })
  const library = worktreeWorld({ 'lib.txt': 'base\n' })
  const git = gitIn(folder, library.home)
  git('init', '-q')
  git('submodule', '--quiet', 'add', library.top, 'sub')
  git('add', '-A')
  git('commit', '-q', '-m', 'base')
  writeFileSync(join(folder, 'untracked.txt'), 'nobody has added it\n')
  const worktrees = join(tempTree({}), 'worktrees')
  mkdirSync(worktrees)
  const { folders } = plain.scope
  const placed = withScope(plain, { folders: { ...folders, worktrees } })
  const sent: EventBody[] = []
  const events = (_: unknown, event: EventBody): void => void sent.push(event)
  const context = withServices(placed, { env: { ...process.env, HOME: library.home }, events })
  const target = await loadPromptFile('e.md', folder, {
    overrides: ['sandbox.mode="danger-full-access"'],
    env: { BATON_HOME: join(tempTree({}), '.state') },
  })
  const tasks: TaskOutcome[] = []
  const keep = (task: TaskOutcome): void => void tasks.push(task)
  const thrown: unknown = await runPrompt(
    { strategies, target, inputs: [], onOutcome: keep, onFailure: keep },
    context,
  ).then(
    () => undefined,
    (error: unknown) => failureOf(error).error,
  )
  const [task] = tasks
  return {
    content: task?.status === 'done' ? task.content.trim() : undefined,
    thrown,
    sent,
    asked: provider.requests,
    made: readdirSync(folder).filter((name) => name.startsWith('made-')),
    read: (path: string) => readFileSync(join(folder, path), 'utf8'),
    left: git('worktree', 'list', '--porcelain')
      .split('\n')
      .filter((line) => line.startsWith('worktree ')).length,
  }
}

describe('members in work trees of their own', () => {
  it('the changes of the first member that passes the check are applied, also in a submodule, and no others', async () => {
    const { content, made, read, left } = await run(
      '[ensemble]\nisolation = "worktree"\ncheck = "grep -q two notes.txt"',
    )
    expect({ content, made, left }).toEqual({ content: 'did b', made: ['made-b.txt'], left: 1 })
    expect([read('notes.txt'), read('sub/lib.txt'), read('made-b.txt')]).toEqual([
      'two\n',
      'b\n',
      'nobody has added it\n',
    ])
  })

  it('if no member passes, nothing changes, and the work trees stay for a resumed run', async () => {
    const { thrown, made, read, left } = await run('[ensemble]\nisolation = "worktree"\ncheck = "exit 3"')
    expect(thrown).toMatchObject({
      code: 'AGENT_FAILED',
      message: expect.stringContaining('"a" exit code 3') as string,
    })
    expect({ made, left, notes: read('notes.txt') }).toEqual({ made: [], left: 3, notes: 'base\n' })
  })

  it('a judge sees the answers and the diffs, and selects one', async () => {
    const judgement = '{"reason": "two is more", "winner": "b"}'
    const { content, asked, made, read, left, sent } = await run('[ensemble]\nisolation = "worktree"', { judgement })
    expect({ content, made, left }).toEqual({ content: 'did b', made: ['made-b.txt'], left: 1 })
    expect(read('notes.txt')).toBe('two\n')
    expect(asked).toHaveLength(1)
    expect(sent.find(({ type }) => type === 'ensemble.completed')).toMatchObject({ winner: 'b', reason: 'two is more' })
    const shown = asked[0]?.messages.map((message) => textIn(message)).join('\n')
    expect(shown).toContain('<answer member="a"')
    expect(shown).toContain('+one')
    expect(shown).toContain('+two')
  })

  it('the work of the first voter for the most frequent value is taken', async () => {
    const vote = (name: string, value: string): string =>
      program(name, `echo ${name} > notes.txt; echo '{"v": "${value}"}'`)
    const { made, read, left, thrown } = await run(
      '[output.schema]\ntype = "object"\n[ensemble]\nisolation = "worktree"\naggregate = "vote"',
      { members: vote('a', 'no') + vote('b', 'yes') + vote('c', 'yes') },
    )
    expect({ made, left, thrown, notes: read('notes.txt') }).toEqual({
      made: [],
      left: 1,
      thrown: undefined,
      notes: 'b\n',
    })
  })

  it('work that conflicts with changes made meanwhile is refused as a whole: the file is named, the others are restored', async () => {
    // once it has its work tree, it changes the workspace directly, as someone else might
    const somebody = 'echo mine > "$(git worktree list --porcelain | sed -n \'1s/worktree //p\')/notes.txt"'
    const { thrown, made, read, left, sent } = await run(
      '[ensemble]\nisolation = "worktree"\naggregate = "first"\ncheck = "true"',
      {
        members:
          program('a', `${somebody}; echo one > notes.txt; echo a > made-a.txt; echo a > sub/lib.txt; echo did a`) +
          program('b', 'exit 1'),
      },
    )
    expect(thrown).toMatchObject({
      code: 'CHANGES_FAILED',
      message: expect.stringContaining('\n  notes.txt: it was changed both in the workspace') as string,
    })
    expect({ made, left, notes: read('notes.txt'), lib: read('sub/lib.txt') }).toEqual({
      made: [],
      left: 3,
      notes: 'mine\n',
      lib: 'base\n',
    })
    expect(sent.find(({ type }) => type === 'isolation.left_out')).toMatchObject({
      reason: 'the changes of "a" could not be applied',
      diff: expect.stringContaining('+one') as string,
    })
    expect(sent.filter(({ type }) => type === 'isolation.applied')).toEqual([])
  })
})
