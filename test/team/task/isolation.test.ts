import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { inWorktree } from '../../../src/tool/worktree/open.ts'
import { commandAgent } from '../../helpers/command-world.ts'
import { core } from '../../helpers/series.ts'
import {
  type Answer,
  type Asked,
  type Call,
  type Life,
  taskWorld,
  type TaskWorld,
  wholeLife,
} from '../../helpers/task-world.ts'
import type { TaskWorldOptions } from '../../helpers/task-world.ts'

const find = (what: string, more: object = {}): Call => [
  'task',
  { description: `find ${what}`, prompt: what, subagent_type: 'finder', ...more },
]
const inBackground = { run_in_background: true }
const write = (path: string, content: string): Call => ['write', { path, content }]

const reading: Call = ['read', { path: 'a.txt' }]

const files = { 'a.txt': 'a\n', 'b.txt': 'b\n' }

/** A caller whose agent writes in its own work tree. */
function isolatedWorld(script: TaskWorldOptions['script'], more: Partial<TaskWorldOptions> = {}): TaskWorld {
  return taskWorld({
    script,
    frontMatter: 'tools = ["read", "write"]\nwrite_mode = true\nisolation = "worktree"',
    tools: ['task', 'task_output', 'task_stop', 'read', 'write'],
    repository: files,
    ...more,
    offered: { isolation: 'worktree', ...more.offered },
  })
}

function read({ folder }: TaskWorld, path: string): string {
  return readFileSync(join(folder, path), 'utf8')
}

/** The work trees that git knows about, apart from the workspace. */
function trees({ git }: TaskWorld): number {
  return git('worktree', 'list').trim().split('\n').length - 1
}

function resultIn({ result }: Life): string {
  return result.calls.at(-1)?.output ?? ''
}

/** An agent that creates a file and overwrites another, and whose caller repeats what it was told. */
function making({ who, turn, told }: Asked): Answer {
  if (who === 'parent') return turn === 0 ? [find('cat')] : `Told: ${told.join()}`
  if (turn === 0) return [reading]
  return turn === 1 ? [write('new/c.txt', 'c\n'), write('a.txt', 'other\n')] : 'It is done.'
}

describe('an agent with isolation that a model starts', () => {
  it('changes the workspace once it has finished, all at once', async () => {
    const seen: unknown[] = []
    const world = isolatedWorld((asked) => {
      if (asked.who === 'cat') seen.push([existsSync(join(world.folder, 'new')), read(world, 'a.txt'), trees(world)])
      return making(asked)
    })
    const life = await wholeLife(world)
    // its changes are visible nowhere else while it works
    expect(seen).toEqual([
      [false, 'a\n', 1],
      [false, 'a\n', 1],
      [false, 'a\n', 1],
    ])
    expect([read(world, 'a.txt'), read(world, 'new/c.txt'), trees(world)]).toEqual(['other\n', 'c\n', 0])
    expect(life.result.text).toMatch(
      /^Told: It is done\.\n\[changed in the workspace: a\.txt, new\/c\.txt\]\n\n\[agent a/,
    )
    expect(life.sent.find((one) => one.type === 'isolation.applied')).toMatchObject({ files: ['a.txt', 'new/c.txt'] })
    const changed = life.sent.flatMap((one) => (one.type === 'file.changed' ? [[one.path, one.isolated === true]] : []))
    expect(changed.filter(([, inTree]) => inTree === false)).toEqual([
      ['a.txt', false],
      ['new/c.txt', false],
    ])
  })

  it('changes nothing if somebody else has changed the same place, and returns its work to its caller as a diff', async () => {
    const world = isolatedWorld((asked) => {
      if (asked.who === 'cat' && asked.turn === 2) writeFileSync(join(world.folder, 'a.txt'), 'mine\n')
      return making(asked)
    })
    const life = await wholeLife(world)
    expect([read(world, 'a.txt'), existsSync(join(world.folder, 'new')), trees(world)]).toEqual(['mine\n', false, 0])
    expect(life.result.calls).toMatchObject([{ name: 'task', is_error: true }])
    const said = resultIn(life)
    expect(said).toContain(
      'failed: the changes of the work tree conflict with the workspace, and none of them were applied:\n  a.txt: it was',
    )
    expect(said).toContain('What it said until then:\nIt is done.')
    expect(said).toMatch(/None of the changes in its own work tree were applied[^]*-a\n\+other\n[^]*\+c\n/)
    expect(life.sent.find((one) => one.type === 'isolation.left_out')).toMatchObject({ files: ['a.txt', 'new/c.txt'] })
  })

  it('changes nothing when it fails, and continues in a new work tree when it is resumed', async () => {
    const failure = new BatonError('MODEL_FAILED', 'the model is gone')
    const prompts: string[] = []
    const world = isolatedWorld(({ who, turn, told }) => {
      if (who === 'parent' && turn > 1) return 'Good.'
      if (who === 'parent')
        return [turn === 0 ? find('cat') : find('it again', { resume: /agent (a\w+)/.exec(told.join())?.[1] })]
      if (turn === 0) return [write('c.txt', 'other\n')]
      const isAgain = told.join().includes('it again')
      if (isAgain) prompts.push(told.at(-1) ?? '')
      return isAgain ? [write('d.txt', 'better\n')] : turn === 1 ? { text: [], failure } : 'Good.'
    })
    const { result } = await wholeLife(world)
    const [first, second] = result.calls.map(({ output }) => output)
    expect(first).toMatch(/failed: the model is gone[^]*None of the changes in its own work tree[^]*\+other/)
    expect(second).toContain('[changed in the workspace: d.txt]')
    expect(prompts[0]).toMatch(/^it again\n\nYour folder is a new copy of the workspace/)
    expect([existsSync(join(world.folder, 'c.txt')), read(world, 'd.txt'), trees(world)]).toEqual([
      false,
      'better\n',
      0,
    ])
  })

  it('changes nothing when it is stopped', async () => {
    const never = new Promise<void>(() => {})
    let hasWritten = (): void => {}
    const gate = new Promise<void>((resolve) => (hasWritten = resolve))
    const world = isolatedWorld(({ who, turn, told }) => {
      if (who === 'cat' && turn === 0) return [write('c.txt', 'other\n')]
      if (who === 'cat') {
        hasWritten()
        return { text: ['Never.'], gate: never }
      }
      if (turn === 0) return [find('cat', inBackground)]
      const input = JSON.stringify({ id: /agent (a\w+)/.exec(told.join())?.[1] })
      if (turn === 1) return { text: [], toolCalls: ['task_stop'], toolInput: [input], finish: 'tool_calls', gate }
      return 'Good.'
    })
    expect(resultIn(await wholeLife(world))).toMatch(
      /was stopped\n\nNone of the changes in its own work tree[^]*\+other/,
    )
    expect([existsSync(join(world.folder, 'c.txt')), trees(world)]).toEqual([false, 0])
  })

  it('changes nothing when its gate fails, and reports how the gate ended', async () => {
    const front = 'tools = ["read", "write"]\nwrite_mode = true\nisolation = "worktree"\ngate = "cat a.txt; test -e ok"'
    const world = isolatedWorld(making, { frontMatter: front })
    expect(resultIn(await wholeLife(world))).toMatch(/failed: the gate "cat a.txt; test -e ok" exited with 1[^]*other/)
    expect([read(world, 'a.txt'), trees(world)]).toEqual(['a\n', 0])
    const passing = isolatedWorld(making, { frontMatter: front.replace('test -e ok', 'test -e new/c.txt') })
    await wholeLife(passing)
    expect([read(passing, 'a.txt'), trees(passing)]).toEqual(['other\n', 0])
  })

  it('can be a program, also in the background', async () => {
    const agent = commandAgent([], {
      command: 'sh',
      args: ['-c', 'echo program > a.txt; pwd'],
      mode: 'danger-full-access',
    })
    const world = isolatedWorld(
      ({ turn, told }) =>
        turn === 0 ? [find('cat', inBackground)] : told.join().includes('is done') ? `Told: ${told.join()}` : 'I wait.',
      { offered: { agent } },
    )
    const { result } = await wholeLife(world)
    expect(result.text).toMatch(/is done: \/[^]*worktrees[^]*\n\[changed in the workspace: a\.txt\]/)
    expect([read(world, 'a.txt'), trees(world)]).toEqual(['program\n', 0])
  })

  it('applies its changes to the work tree of a caller that has one', async () => {
    const between: string[] = []
    const world = isolatedWorld(
      (asked) => {
        if (asked.who === 'parent' && asked.turn === 1) between.push(read(world, 'a.txt'))
        return making(asked)
      },
      {
        within: async (context, work) => (await inWorktree(context, { name: 'caller' }, work)).value,
      },
    )
    await wholeLife(world)
    expect(between).toEqual(['a\n'])
    expect([read(world, 'a.txt'), read(world, 'new/c.txt'), trees(world)]).toEqual(['other\n', 'c\n', 0])
  })

  it('is refused outside of git, with the reason', async () => {
    const { folder, ...world } = taskWorld({
      script: making,
      frontMatter: 'tools = ["read", "write"]\nwrite_mode = true',
      offered: { isolation: 'worktree' },
    })
    const said = resultIn(await wholeLife({ folder, ...world }))
    expect(said).toContain(
      `failed: isolation = "worktree": ${folder} is not in a git repository. Run git init and commit`,
    )
    expect(world.asked).toEqual(['parent/0', 'parent/1'])
  })
})

it('an agent with isolation that is killed at any record has changed the workspace after a resume, and left no work tree', async () => {
  const whole: JournalRecord[] = []
  const expected = (await wholeLife(isolatedWorld(making), whole)).result.text
  for (let lives = core(5, 0); lives < whole.length; lives += core(15, 1)) {
    const where = `killed after ${lives} of ${whole.length} records`
    const world = isolatedWorld(making)
    const records: JournalRecord[] = []
    expect(await world.live(records, lives), where).toBe(undefined)
    const hasEnded = records.some((one) => one.k === 'done' && one.p.endsWith('/agent/finder'))
    if (!hasEnded)
      expect(existsSync(join(world.folder, 'new/c.txt')) && read(world, 'a.txt') === 'a\n', where).toBe(false)
    const life = await wholeLife(world, records)
    expect(life.result.text, where).toBe(expected)
    expect([read(world, 'a.txt'), read(world, 'new/c.txt')], where).toEqual(['other\n', 'c\n'])
    // killed after its end was recorded and before it was removed: the end of the run removes it
    if (!hasEnded) expect(trees(world), where).toBe(0)
  }
})
