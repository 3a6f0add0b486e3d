import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BatonResult } from '../helpers/baton.ts'
import { hasBox } from '../helpers/box.ts'
import { eventsOf, type GitWorld, gitWorld, writing } from '../helpers/git-world.ts'
import { callsTools } from '../helpers/tool-model.ts'

/** A prompt file that works in a work tree; `front`: lines of its front matter. */
function isolated(front = '', body = 'Improve it.'): string {
  return `+++\nmodel = "coder"\nwrite_mode = true\nbudget.unpriced = "allow"\nisolation = "worktree"\n${front}\n+++\n${body}\n`
}

function trees({ git }: GitWorld): number {
  return git('worktree', 'list').split('\n').length - 1
}

function runOf(result: BatonResult): string {
  return String(eventsOf(result, 'run.started')[0]?.['run_id'])
}

describe('a prompt file with isolation = "worktree"', () => {
  it('changes the workspace once its gate passes, and the changes can be undone', async () => {
    const world = await gitWorld(
      { 'ask.md': isolated('gate = "grep -q new b.txt"\ncontext_globs = ["a.txt"]'), 'a.txt': 'a\n' },
      [{ text: writing({ 'b.txt': 'new', 'a.txt': 'changed' }) }],
    )
    const result = await world.run(['ask.md', '--json'])
    expect(result.code, result.stderr).toBe(0)
    expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['changed\n', 'new\n'])
    expect(eventsOf(result, 'isolation.gate')).toMatchObject([{ passed: true, command: 'grep -q new b.txt' }])
    expect(eventsOf(result, 'isolation.applied')).toMatchObject([{ files: ['a.txt', 'b.txt'], merged: [] }])
    const changed = eventsOf(result, 'file.changed').map(({ path, isolated: inTree }) => [path, inTree])
    expect(changed.filter(([, inTree]) => inTree === undefined).map(([path]) => path)).toEqual(['a.txt', 'b.txt'])
    expect(trees(world)).toBe(0)
    expect((await world.run(['undo'])).code).toBe(0)
    expect(world.git('status', '--porcelain')).toBe('')
  })

  it('does not change the workspace when its gate fails; the changes can be shown, and applied nevertheless', async () => {
    const world = await gitWorld({ 'ask.md': isolated('gate = "cat b.txt; exit 3"'), 'a.txt': 'a\n' }, [
      { text: writing({ 'b.txt': 'new' }) },
    ])
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(1)
    expect(eventsOf(result, 'run.failed')[0]?.['error']).toMatchObject({
      code: 'GATE_FAILED',
      message: 'the gate "cat b.txt; exit 3" exited with 3, so nothing was changed in the workspace:\n  new',
    })
    expect(world.git('status', '--porcelain')).toBe('')
    const shown = await world.run(['runs', 'show', runOf(result), '--diff'])
    expect(shown.stdout).toContain('+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n')
    world.write({ '../the.patch': shown.stdout })
    world.git('apply', '../the.patch')
    expect(world.read('b.txt')).toBe('new\n')
  })

  it('runs the gate again when it is resumed, and removes the work tree with the run', async () => {
    const world = await gitWorld({ 'ask.md': isolated('gate = "test -e ../../../../../../../ok"') }, [
      { text: writing({ 'b.txt': 'new' }) },
    ])
    const first = await world.run(['ask.md', '--json'])
    expect([first.code, trees(world)]).toEqual([1, 1])
    const folder = String(eventsOf(first, 'isolation.started')[0]?.['folder'])
    world.write({ [join('..', 'home', 'ok')]: '', [join('..', 'ok')]: '' })
    const ok = join(folder, '../../../../../../../ok')
    expect(existsSync(ok), ok).toBe(true)
    const second = await world.run(['resume', runOf(first), '--json'])
    expect(second.code, second.stdout).toBe(0)
    expect([world.read('b.txt'), trees(world)]).toEqual(['new\n', 0])
  })

  it('removes the work tree of a failed run with the run', async () => {
    const world = await gitWorld({ 'ask.md': isolated('gate = "false"') }, [{ text: writing({ 'b.txt': 'new' }) }])
    const result = await world.run(['ask.md', '--json'])
    expect(trees(world)).toBe(1)
    expect((await world.run(['runs', 'rm', runOf(result)])).code).toBe(0)
    expect(trees(world)).toBe(0)
  })

  it.skipIf(!hasBox)('runs tools and commands of models there', async () => {
    const world = await gitWorld({ 'ask.md': isolated('tools = ["write", "read", "bash", "glob"]'), 'a.txt': 'a\n' }, [
      callsTools(
        ['write', { path: 'b.txt', content: 'written\n' }],
        ['bash', { command: 'cat b.txt a.txt; echo made > c.txt; echo x > .git; git status --short; pwd' }],
        ['glob', { pattern: '*.txt' }],
      ),
      { text: 'Done.' },
    ])
    const result = await world.run(['ask.md', '--json', '-c', 'permission.bash="allow"'])
    expect(result.code, result.stdout).toBe(0)
    const outputs = eventsOf(result, 'tool.completed').map(({ output }) => JSON.stringify(output))
    expect(outputs[1]).toContain('written\\na\\n')
    expect(outputs[1]).toContain('?? c.txt')
    expect(outputs[2]).toContain('c.txt')
    expect([world.read('b.txt'), world.read('c.txt')]).toEqual(['written\n', 'made\n'])
    expect([world.git('status', '--short'), trees(world)]).toEqual(['?? b.txt\n?? c.txt', 0])
  })

  it('changes nothing when a task fails', async () => {
    const world = await gitWorld(
      { 'ask.md': isolated('template = true\nallow_run_on_task_fail = true\ninput_concurrency = 1') },
      [{ text: writing({ 'b.txt': 'new' }) }, { status: 400, body: { error: { message: 'no' } } }] as never,
    )
    const result = await world.run(['ask.md', '-i', 'one', '-i', 'two', '--json'])
    expect(result.code).toBe(1)
    expect(eventsOf(result, 'isolation.left_out')).toMatchObject([{ reason: 'a task failed', files: ['b.txt'] }])
    expect(world.git('status', '--porcelain')).toBe('')
  })

  it('reports what is missing outside of git', async () => {
    const world = await gitWorld({ 'ask.md': isolated() })
    world.write({ '../bare/ask.md': isolated(), '../bare/baton.toml': '' })
    const result = await world.run(['ask.md'], { cwd: join(world.top, '../bare') })
    expect(result.code).toBe(2)
    expect(result.stderr).toContain('is not in a git repository')
    expect(result.stderr).toContain('Run git init and commit the files')
  })
})

describe('a workflow step with isolation = "worktree"', () => {
  it('gives its changes to the steps after it once it is done', async () => {
    const steps = `[[workflow.step]]\nid = "a"\ninstructions = "A"\nisolation = "worktree"\n[[workflow.step]]\nid = "b"\ninstructions = "B"\nneeds = ["a"]\nisolation = "worktree"`
    const file = `+++\nmodel = "coder"\nwrite_mode = true\nbudget.unpriced = "allow"\ncontext_globs = ["*.txt"]\n${steps}\n+++\n`
    const world = await gitWorld({ 'ask.md': file, 'a.txt': 'one\n' }, [
      { text: writing({ 'a.txt': 'two' }) },
      { text: writing({ 'a.txt': 'three', 'b.txt': 'new' }) },
    ])
    const result = await world.run(['ask.md', '--json'])
    expect(result.code, result.stdout).toBe(0)
    expect(JSON.stringify(world.server.requests[1]?.body)).toContain('two')
    expect(eventsOf(result, 'isolation.applied').map(({ agent, files }) => [agent, files])).toEqual([
      ['task/0/step/a', ['a.txt']],
      ['task/0/step/b', ['a.txt', 'b.txt']],
    ])
    expect([world.read('a.txt'), world.read('b.txt'), trees(world)]).toEqual(['three\n', 'new\n', 0])
  })

  it('reports steps whose changes conflict', async () => {
    const steps = ['a', 'b'].map(
      (id) => `[[workflow.step]]\nid = "${id}"\ninstructions = "${id}"\nisolation = "worktree"`,
    )
    const file = `+++\nmodel = "coder"\nwrite_mode = true\nbudget.unpriced = "allow"\ncontext_globs = ["*.txt"]\n${steps.join('\n')}\n+++\n`
    const world = await gitWorld({ 'ask.md': file, 'a.txt': 'one\n' }, [
      { text: writing({ 'a.txt': 'two' }) },
      { text: writing({ 'a.txt': 'three' }) },
    ])
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(1)
    expect(String(Object(eventsOf(result, 'run.failed')[0]?.['error']).message)).toContain(
      'a.txt: it was changed both in the workspace and in the work tree',
    )
    expect(['two\n', 'three\n']).toContain(world.read('a.txt'))
  })
})
