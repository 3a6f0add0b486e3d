import { describe, expect, it } from 'vitest'
import { defaultAssessment } from '../../src/strategies/iterate/blocks.ts'
import { jsonLines } from '../helpers/baton.ts'
import { eventsOf, filesOf, gitWorld, iteratedPrompt, subjects, writing } from '../helpers/git-world.ts'
import { tempTree } from '../helpers/temp.ts'

const task = 'Implement user authentication'

const steps = [
  {
    files: { 'auth.rs': 'tokens', 'auth_tests.rs': 'test tokens' },
    summary: 'Implemented JWT token generation with basic claim validation',
  },
  {
    files: { 'auth.rs': 'tokens, hashes', 'sessions.rs': 'sessions' },
    summary: 'Added bcrypt password hashing and session store integration',
  },
  { files: { 'middleware.rs': 'middleware' }, summary: 'Added middleware. All tests pass.' },
] as const

describe('three iterations', () => {
  it('send the prompts, make the commits and keep the records of the specification', async () => {
    const ask = iteratedPrompt('condition = "3"\nassessment = "assessment.md"\nsummarizer = "llm"', {
      front: 'context_globs = ["*.rs"]',
      task,
    })
    const replies = steps.flatMap(({ files, summary }, index) => [
      { text: writing(files, `Step ${index}.`) },
      { text: `${summary}\n` },
    ])
    const world = await gitWorld({ 'ask.md': ask, 'assessment.md': '\nA\n\n', 'main.rs': 'main\n' }, replies)
    const base = world.git('rev-parse', 'HEAD')

    const heads: string[] = []
    const result = await world.run(['ask.md', '--json'], {
      onOutput(stdout) {
        const ended = stdout.split('"type":"iteration.completed"').length - 1
        while (heads.length < ended) heads.push(world.git('rev-parse', `HEAD`))
      },
    })
    expect(result.code).toBe(0)

    const assessment = '<task_assessment>\n## Task Complexity Assessment\nA\n</task_assessment>'
    const [, first = '', second = '', third = ''] = world.git('log', '--reverse', '--format=%H').split('\n')
    const short = (id: string): string => id.slice(0, 9)
    const asked = world.server.requests.map(({ body }) => body?.messages.at(-1)?.content)
    expect(asked).toHaveLength(6)
    expect(asked[0]).toBe(`${assessment}\n\n${task}`)
    expect(asked[2]).toBe(`<task_context>
## Original Task
${task}

## Progress
Iteration: 1 of 3
Base commit: ${short(base)}

## Previous Iterations
### Iteration 0 → commit ${short(first)}
Files: auth.rs, auth_tests.rs
Summary: Implemented JWT token generation with basic claim validation
</task_context>

${assessment}

${task}`)
    expect(asked[4]).toBe(`<task_context>
## Original Task
${task}

## Progress
Iteration: 2 of 3
Base commit: ${short(base)}

## Previous Iterations
### Iteration 0 → commit ${short(first)}
Files: auth.rs, auth_tests.rs
Summary: Implemented JWT token generation with basic claim validation

### Iteration 1 → commit ${short(second)}
Files: auth.rs, sessions.rs
Summary: Added bcrypt password hashing and session store integration
</task_context>

${assessment}

${task}`)
    // a new agent each time, which sees the current files and nothing of the earlier answers
    const shown = (index: number): string => JSON.stringify(world.server.requests[index]?.body?.messages)
    expect(shown(2)).toContain('tokens\\n')
    expect(shown(2)).not.toContain('Step 0')
    expect(shown(4)).toContain('tokens, hashes\\n')

    const run = eventsOf(result, 'run.started')[0]?.['run_id'] as string
    const messages = [first, second, third].map((id) => world.git('log', '-1', '--format=%an <%ae>%n%B', id))
    expect(messages).toEqual([
      `Ada <ada@example.org>\n[iter-0] Implemented JWT token generation with basic claim validation\n\nModified files: auth.rs, auth_tests.rs\n\nBaton-Run: ${run}\nBaton-Iteration: 0`,
      `Ada <ada@example.org>\n[iter-1] Added bcrypt password hashing and session store integration\n\nModified files: auth.rs, sessions.rs\n\nBaton-Run: ${run}\nBaton-Iteration: 1`,
      `Ada <ada@example.org>\n[iter-2] Added middleware\n\nModified files: middleware.rs\n\nBaton-Run: ${run}\nBaton-Iteration: 2`,
    ])
    expect(world.git('log', '-1', '--format=%(trailers:only,unfold)', second)).toBe(
      `Baton-Run: ${run}\nBaton-Iteration: 1`,
    )
    expect([first, second, third].map((id) => filesOf(world, id))).toEqual([
      ['auth.rs', 'auth_tests.rs'],
      ['auth.rs', 'sessions.rs'],
      ['middleware.rs'],
    ])
    expect(world.git('status', '--porcelain')).toBe('')

    const events = jsonLines(result.stdout).filter(({ type }) => String(type).startsWith('iterat'))
    expect(events.map(({ type, iteration }) => [type, iteration].flatMap((part) => part ?? []).join(' '))).toEqual([
      'iterate.started',
      'iteration.started 0',
      'iteration.completed 0',
      'iterate.progress',
      'iteration.started 1',
      'iteration.completed 1',
      'iterate.progress',
      'iteration.started 2',
      'iteration.completed 2',
      'iterate.progress',
      'iterate.completed',
    ])
    expect(events[0]).toMatchObject({ condition: '3 iterations', initial_prompt: task, max_iterations: 3 })
    const ended = eventsOf(result, 'iteration.completed')
    expect(ended.map(({ commit_id: id }) => id)).toEqual([first, second, third])
    // the commit exists when the end of its iteration is reported
    for (const [index, head] of heads.entries())
      expect([first, second, third].indexOf(head)).toBeGreaterThanOrEqual(index)
    expect(events.at(-1)?.['result']).toMatchObject({
      iterations_attempted: 3,
      iterations_succeeded: 3,
      iterations_failed: 0,
      stop_reason: 'completed',
      records: steps.map(({ summary }, iteration) => ({
        iteration,
        success: true,
        summary,
        commit_id: [first, second, third][iteration],
        changed_files: [['auth.rs', 'auth_tests.rs'], ['auth.rs', 'sessions.rs'], ['middleware.rs']][iteration],
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      })),
    })
    expect(eventsOf(result, 'answer').map(({ text }) => text)).toEqual(['Step 2.'])
  })

  it('are reported on stderr with their results, with one summary at the end, and return the last answer', async () => {
    const replies = [
      { text: writing({ 'a.txt': 'one' }, 'First.') },
      { status: 400, body: { error: { message: 'no such thing' } } },
      { text: 'Nothing to do.' },
    ]
    const world = await gitWorld({ 'ask.md': iteratedPrompt('condition = "3"', { task }) }, replies)
    const { code, stdout, stderr } = await world.run(['ask.md'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Nothing to do.\n' })
    expect(stderr).toMatch(/^iteration 0 of 3\nnew +a\.txt\niteration 0 done: 1 file, commit [0-9a-f]{9}\n/)
    expect(stderr).toMatch(/iteration 1 of 3\nfailed .*no such thing.*\niteration 1 failed: 0 files\n/)
    expect(stderr).toMatch(/iteration 2 of 3\niteration 2 done: 0 files\nIterations: 2\/3 succeeded \(1 failed\)\n/)
    expect(subjects(world)).toEqual(['base', '[iter-0] Iteration 0 changes'])
    const asked = world.server.requests.map(({ body }) => body?.messages.at(-1)?.content ?? '')
    expect(asked[0]).toBe(
      `<task_assessment>\n## Task Complexity Assessment\n${defaultAssessment}\n</task_assessment>\n\n${task}`,
    )
    expect(asked[2]).toContain(
      '### Iteration 1 → no changes\nFiles: none\nSummary: Iteration 1 failed with no file changes.\n',
    )
  })
})

describe('iterations', () => {
  it('are possible for any prompt file or text with --iter, in the exact prompt of its author', async () => {
    const replies = [{ text: 'one' }, { text: 'two' }]
    const world = await gitWorld(
      { 'ask.md': '+++\nmodel = "coder"\nbudget.unpriced = "allow"\n+++\nDo $& {it}.\n' },
      replies,
    )
    const { code, stdout } = await world.run([
      'ask.md',
      '--iter',
      ' 2 ',
      '-c',
      'iterate.assessment=false',
      '-c',
      'iterate.context=false',
    ])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'two\n' })
    const asked = world.server.requests.map(({ body }) => body?.messages.at(-1)?.content)
    expect(asked[0]).toBe('Do $& {it}.')
    expect(asked[1]).toMatch(/^Do \$& \{it\}\.\n\nEarlier iterations have already worked on this task/)
  })

  it('of a text on the command line are a run of their own: --iter 2 -p TEXT (R2)', async () => {
    const world = await gitWorld({}, [{ text: 'one' }, { text: 'two' }])
    const { code, stdout, stderr } = await world.run(['--iter', '2', '-p', 'Implement it.', '-m', 'coder'])
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'two\n' })
    const asked = world.server.requests.map(({ body }) => body?.messages.at(-1)?.content ?? '')
    expect(asked).toHaveLength(2)
    for (const text of asked) expect(text.endsWith('\n\nImplement it.')).toBe(true)
    expect(asked[1]).toContain('Iteration: 1 of 2\n')
  })

  it.each([
    [
      ['ask.md', '--iter', '5x'],
      'error: --iter "5x" is neither a count nor a duration',
      'Write a count ("5") or a duration ("30m", "2h", "1d").',
    ],
    [['ask.md', '--iter', '0'], 'error: --iter "0" is neither', 'a count ("5")'],
    [['ask.md', '--iter', ''], 'error: --iter "" is neither', 'a count ("5")'],
    [['ask.md', '--until', ' '], 'error: --until is empty', '--until "npm test"'],
    [['bad.md'], 'must be a count ("5") or a duration ("30m", "2h", "1d"), not "5x"', 'bad.md:7:13'],
    [['bad.md'], '7 | condition = "5x"', '^'],
  ])('are refused at the place of the error: %j', async (args, message, more) => {
    const world = await gitWorld({
      'ask.md': iteratedPrompt('condition = "2"'),
      'bad.md': iteratedPrompt('condition = "5x"'),
    })
    const { code, stderr } = await world.run(args)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(stderr).toContain(more)
    expect(world.server.requests).toEqual([])
  })
})

describe('commits', () => {
  it('are refused before anything is paid if they are configured and the work tree is dirty', async () => {
    const world = await gitWorld({ 'ask.md': iteratedPrompt('condition = "2"\ncommits = true'), 'a.txt': 'a\n' })
    world.write({ 'a.txt': 'mine\n', 'b.txt': 'b\n' })
    const { code, stderr } = await world.run(['ask.md'])
    expect(code).toBe(2)
    expect(stderr).toContain('error: the work tree has changes: a.txt, b.txt\nhint: Commit or stash them first')
    expect(world.server.requests).toEqual([])
    expect(subjects(world)).toEqual(['base'])
  })

  it('are refused outside of a repository, and omitted by default', async () => {
    const files = { 'ask.md': iteratedPrompt('condition = "2"\ncommits = true') }
    const world = await gitWorld(files, [{ text: writing({ 'x.txt': '1' }) }, { text: writing({ 'y.txt': '2' }) }])
    const cwd = tempTree(files)
    const refused = await world.run(['ask.md'], { cwd })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('is not in a git repository')
    expect(world.server.requests).toEqual([])

    const result = await world.run(['ask.md', '--json', '-c', 'iterate.commits=false'], { cwd })
    expect(result.code).toBe(0)
    expect(world.server.requests[1]?.body?.messages.at(-1)?.content).toContain(
      'Base commit: unknown\n\n## Previous Iterations\n### Iteration 0 → no changes\nFiles: x.txt\n',
    )
    expect(
      eventsOf(result, 'iteration.completed').map((event) => [event['commit_id'], event['changed_files']]),
    ).toEqual([
      [undefined, ['x.txt']],
      [undefined, ['y.txt']],
    ])
  })

  it('are not made without changes', async () => {
    const replies = [{ text: 'Nothing.' }, { text: writing({ 'a.txt': 'a' }) }]
    const world = await gitWorld(
      { 'ask.md': iteratedPrompt('condition = "2"\ncommits = true'), 'a.txt': 'a\n' },
      replies,
    )
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    expect(eventsOf(result, 'iteration.completed').map((event) => 'commit_id' in event)).toEqual([false, false])
    expect(subjects(world)).toEqual(['base'])
  })
})
