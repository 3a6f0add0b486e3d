import { describe, expect, it, vi } from 'vitest'
import { prompt, runShipped, shippedWorld } from './shipped.ts'

// these tests spawn the command
vi.setConfig({ testTimeout: 60_000 })

describe('test-runner', () => {
  it('adds the outcome of a command to the answer, and fails the run if configured', async () => {
    const entry = (more: string) =>
      prompt([`{ name = "test-runner", stage = "post_task", command = "sh tests.sh"${more} }`])
    const world = await shippedWorld(
      {
        'with.md': entry(', append = true'),
        'strict.md': entry(', fail = true'),
        'tests.sh': 'echo broken >&2\nexit 3\n',
      },
      () => 'An answer.',
    )
    expect(await world.run('with.md')).toMatchObject({
      code: 0,
      stdout: 'An answer.\n\nTests: `sh tests.sh` failed with exit code 3.\n\n````text\nbroken\n````\n',
    })
    const strict = await world.run('strict.md')
    expect(strict.code).toBe(1)
    expect(strict.stderr).toContain(
      'Sub-agent [test-runner] failed: `sh tests.sh` failed with exit code 3\nDetails: broken',
    )
    world.write({ 'tests.sh': 'echo fine\n' })
    expect(await world.run('strict.md')).toMatchObject({
      code: 0,
      stdout: 'An answer.\n',
      stderr: '[test-runner] `sh tests.sh` passed\n',
    })
  })

  const run = (entry: object) => runShipped('test-runner', { coder_stage: 'post', agent_config: entry })

  it('needs no shell for a list, and keeps the end of the output', async () => {
    const command = [process.execPath, '-e', 'for (let i = 0; i < 9; i++) console.log(i, "$HOME"); process.exit(1)']
    expect(await run({ command, max_lines: 2 })).toEqual({
      agent_result: { passed: false, exit: 1, command: command.join(' '), output: '7 $HOME\n8 $HOME' },
    })
  })

  it('stops a command at its time limit', async () => {
    expect(await run({ command: 'sleep 60', timeout: '50ms' })).toEqual({
      agent_result: { passed: false, command: 'sleep 60', output: '' },
    })
  })
})

describe('git-diff', () => {
  it('lets the model review the changes, and skips the run when there are none', async () => {
    const files = {
      '.gitignore': '.baton\n',
      'with.md': prompt(['"git-diff"']),
      'without.md': prompt([]),
      'src/a.ts': 'a\n',
    }
    const world = await shippedWorld(files, () => 'An answer.')
    world.git('init', '-q')
    world.git('add', '.')
    world.git('commit', '-qm', 'start')
    const clean = await world.run('with.md')
    expect(clean).toMatchObject({ code: 0, stdout: '' })
    expect(clean.stderr).toContain('[git-diff] no changes since HEAD')
    expect(world.asked()).toEqual([])

    world.write({ 'src/a.ts': 'b\n', 'src/[new].ts': 'new\n', '.cache/x': 'kept' })
    await world.run('without.md')
    expect(world.asked()[0]?.text).not.toContain('+b')
    expect((await world.run('with.md')).code).toBe(0)
    const text = world.asked()[0]?.text ?? ''
    for (const part of [
      '-a\n+b\n',
      '+++ b/src/[new].ts\n+new\n',
      '<file path="src/a.ts"',
      '<file path="src/[new].ts"',
    ]) {
      expect(text).toContain(part)
    }
    expect(text).not.toContain('kept')
  })

  it('compares with the point where this branch left another one, only below base_dir, and truncates long diffs', async () => {
    const long = `${'x'.repeat(99)}\n`.repeat(50)
    const world = await shippedWorld({ 'a.ts': 'a\n', 'src/b.ts': 'b\n' }, () => 'An answer.')
    world.git('init', '-q', '-b', 'main')
    world.git('add', '.')
    world.git('commit', '-qm', 'start')
    world.git('checkout', '-qb', 'topic')
    world.write({ 'src/b.ts': 'ours\n', 'src/long.ts': long, 'a.ts': 'elsewhere\n' })
    world.git('commit', '-qam', 'topic')
    world.git('checkout', '-q', 'main')
    world.write({ 'src/b.ts': 'theirs\n' })
    world.git('commit', '-qam', 'later')
    world.git('checkout', '-q', 'topic')
    world.git('add', '.')
    world.write({ 'ask.md': prompt(['{ name = "git-diff", base = "main", max_kb = 1 }'], 'base_dir = "src"') })
    await world.run('ask.md')
    const text = world.asked()[0]?.text ?? ''
    expect(text).toContain('<git_diff base="main">\ndiff --git a/b.ts b/b.ts')
    expect(text).toContain('-b\n+ours\n')
    expect(text).toContain('[cut here: ')
    expect(text).not.toContain('theirs')
    expect(text).not.toContain('elsewhere')

    world.write({ 'ask.md': prompt(['{ name = "git-diff", base = "--output=x" }']) })
    expect((await world.run('ask.md')).stderr).toContain('Sub-agent [git-diff] failed: there is no commit "--output=x"')
  })

  it('reports a folder that is not a repository', async () => {
    expect(await runShipped('git-diff', {})).toEqual({ success: false, error_msg: 'there is no git repository here' })
    expect(await runShipped('commit-suggester', { coder_stage: 'post' })).toBeNull()
  })
})
