import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { eventsOf, filesOf, type GitWorld, gitWorld, iteratedPrompt, subjects, writing } from '../helpers/git-world.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const said = ({ server }: GitWorld, index: number): string =>
  server.requests[index]?.body?.messages.at(-1)?.content ?? ''

/** The iteration and the task to which a prompt belongs. */
function partOf(prompt: string): string {
  const iteration = /^Iteration: (\d+) of/m.exec(prompt)?.[1] ?? '0'
  const input = /<<(.*?)>>/.exec(prompt)?.[1] ?? ''
  return `${iteration}${input}`
}

/** Each task of each iteration creates a separate file. */
const making = ({
  body,
}: {
  readonly body: { readonly messages: readonly { readonly content: string }[] } | null
}): ModelReply => {
  const part = partOf(body?.messages.at(-1)?.content ?? '')
  return { text: writing({ [`made/${part}.txt`]: part }, `Answer ${part}.`) }
}

const each = 'return { coder_prompts_append = "<<" .. (input.input or input.task.label) .. ">>" }\n'

describe('the tasks of a prompt file', () => {
  it('belong to one iteration, with pre and post once around all of them', async () => {
    const world = await gitWorld(
      {
        'ask.md': iteratedPrompt('condition = "3"\ncommits = true', {
          front: `sub_agents = [
  { name = "pre.lua", stage = "pre" }, { name = "each.lua", stage = "pre_task" },
  { name = "after.lua", stage = "post_task" }, { name = "post.lua", stage = "post" },
]`,
        }),
        'pre.lua': 'print("pre")\n',
        'each.lua': each,
        'after.lua': 'print("after " .. input.input)\n',
        'post.lua':
          'print("post " .. #input.iterations .. " " .. #input.coder_responses .. " " .. input.coder_responses[2].content)\n',
      },
      making,
    )
    const result = await world.run(['ask.md', '--json', '-i', 'a', '-i', 'b'])
    expect(result).toMatchObject({ code: 0 })
    expect(world.server.requests.map((_, index) => partOf(said(world, index))).toSorted()).toEqual([
      '0a',
      '0b',
      '1a',
      '1b',
      '2a',
      '2b',
    ])
    expect(
      eventsOf(result, 'print')
        .map(({ text }) => text)
        .toSorted(),
    ).toEqual(
      ['pre', 'after a', 'after b', 'after a', 'after b', 'after a', 'after b', 'post 3 2 Answer 2b.'].toSorted(),
    )
    expect(subjects(world).slice(1)).toEqual([0, 1, 2].map((index) => `[iter-${index}] Iteration ${index} changes`))
    expect([0, 1, 2].map((index) => filesOf(world, `HEAD~${2 - index}`))).toEqual(
      [0, 1, 2].map((index) => [`made/${index}a.txt`, `made/${index}b.txt`]),
    )
    // the blocks are put around the prompt as changed by agents
    expect(said(world, 2)).toMatch(/^<task_context>\n## Original Task\nImprove it\.\n\n<<[ab]>>\n\n## Progress\n/)
    expect(eventsOf(result, 'answer').map(({ text }) => text)).toEqual(['Answer 2a.', 'Answer 2b.'])
  })

  it('come from working_globs that are listed in each iteration', async () => {
    const world = await gitWorld(
      {
        'ask.md': iteratedPrompt('condition = "2"\ncommits = true', {
          front: 'working_globs = ["w/*.txt"]\nsub_agents = [{ name = "each.lua", stage = "pre_task" }]',
        }),
        'each.lua': 'return { coder_prompts_append = "<<" .. input.task.label .. ">>" }\n',
        'w/a.txt': 'a\n',
      },
      ({ body }) => {
        const part = partOf(body?.messages.at(-1)?.content ?? '')
        return part === '0w/a.txt' ? { text: writing({ 'w/b.txt': 'b' }) } : { text: `Answer ${part}.` }
      },
    )
    const { code, stdout } = await world.run(['ask.md'])
    expect(code).toBe(0)
    expect(stdout).toBe('==> w/a.txt <==\nAnswer 1w/a.txt.\n\n==> w/b.txt <==\nAnswer 1w/b.txt.\n')
    expect(world.server.requests).toHaveLength(3)
  })

  it('end with the exit code of the last iteration', async () => {
    const failing: ModelReply = { status: 400, body: { error: { message: 'refused' } } }
    for (const [replies, code] of [
      [[failing, { text: 'good' }], 0],
      [[{ text: 'good' }, failing], 1],
    ] as const) {
      const world = await gitWorld({ 'ask.md': iteratedPrompt('condition = "2"') }, replies)
      expect(await world.run(['ask.md'])).toMatchObject({ code, stdout: code === 0 ? 'good\n' : '' })
      expect(world.server.requests).toHaveLength(2)
    }
  })

  it('may fail one by one: the others are worked on, and the iteration has failed', async () => {
    for (const allow of [false, true]) {
      const world = await gitWorld(
        {
          'ask.md': iteratedPrompt('condition = "2"\ncommits = true', {
            front: `allow_run_on_task_fail = ${allow}\nsub_agents = [{ name = "each.lua", stage = "pre_task" }]`,
          }),
          'each.lua': each,
        },
        (request) => {
          const part = partOf(request.body?.messages.at(-1)?.content ?? '')
          return part === '0a' ? { status: 400, body: { error: { message: 'refused' } } } : making(request)
        },
      )
      const result = await world.run(['ask.md', '--json', '-i', 'a', '-i', 'b'])
      expect(result).toMatchObject({ code: 0 })
      expect(
        eventsOf(result, 'iteration.completed').map(({ success, changed_files: files }) => [success, files]),
      ).toEqual([
        [false, ['made/0b.txt']],
        [true, ['made/1a.txt', 'made/1b.txt']],
      ])
    }
  })
})

describe('redo', () => {
  const redoing = `
if input.coder_redo_count < 1 then return { coder_redo = true } end
`
  const front = 'sub_agents = [{ name = "post.lua", stage = "post" }]'

  it('is outermost: all iterations are done again, with commits of their own', async () => {
    const world = await gitWorld(
      { 'ask.md': iteratedPrompt('condition = "2"\ncommits = true', { front }), 'post.lua': redoing },
      (_, index) => ({ text: writing({ [`${index}.txt`]: 'x' }, `Answer ${index}.`) }),
    )
    const { code, stdout } = await world.run(['ask.md'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Answer 3.\n' })
    expect(said(world, 2)).not.toContain('<task_context>')
    expect(
      world
        .git('log', '--reverse', '--format=%(trailers:key=Baton-Iteration,valueonly,separator=)')
        .split('\n')
        .slice(1),
    ).toEqual(['0', '1', '0 of redo/1', '1 of redo/1'])
  })

  it('does not begin to commit in a later round', async () => {
    const world = await gitWorld(
      { 'ask.md': iteratedPrompt('condition = "1"', { front }), 'post.lua': redoing, 'a.txt': 'a\n' },
      (_, index) => ({ text: writing({ [`${index}.txt`]: 'x' }) }),
    )
    world.write({ 'a.txt': 'mine\n' })
    const result = await world.run(['ask.md', '--json'])
    expect(result).toMatchObject({ code: 0 })
    expect(eventsOf(result, 'iteration.completed').map(({ changed_files: files }) => files)).toEqual([
      ['0.txt'],
      ['1.txt'],
    ])
    expect(subjects(world)).toEqual(['base'])
    expect(eventsOf(result, 'warning')).toHaveLength(1)
  })
})

describe('until', () => {
  const tests = {
    'package.json': '{ "type": "module" }\n',
    'src/slug.js': 'export const slug = (text) => text\n',
    'test/slug.test.js': `import assert from 'node:assert/strict'
import test from 'node:test'
import { slug } from '../src/slug.js'
test('is lower case', () => assert.equal(slug('AB'), 'ab'))
test('has no spaces', () => assert.equal(slug('a b'), 'a-b'))
`,
  }
  const versions = ['text.toLowerCase()', "text.toLowerCase().replaceAll(' ', '-')"]
  const line = 'node --test --test-reporter=tap test/slug.test.js'
  const fixing = (index: number): ModelReply => ({
    text: `<FILE_CHANGES>\n<FILE_NEW file_path="src/slug.js">\nexport const slug = (text) => ${versions[index]}\n</FILE_NEW>\n</FILE_CHANGES>\n`,
  })
  const ask = iteratedPrompt(`until = ${JSON.stringify(line)}\ncommits = true`, {
    front: 'context_globs = ["src/*.js"]',
  })

  it('works until the tests of a project pass, and shows what they printed', async () => {
    const world = await gitWorld({ ...tests, 'ask.md': ask }, (_, index) => fixing(index))
    const { code, stderr } = await world.run(['ask.md'])
    expect(code).toBe(0)
    expect(stderr).toContain('Iterations: 2/2 succeeded (0 failed), condition met\n')
    expect(world.server.requests).toHaveLength(2)
    expect(said(world, 1)).toContain(`\nCheck: ${line}: exit code 1\n`)
    expect(said(world, 1)).toContain('not ok 2 - has no spaces')
    expect(said(world, 1)).toContain('Iteration: 1 of ongoing\n')
    expect(subjects(world)).toHaveLength(3)
  })

  it('ends with 7 when they never do, and with 0 when they do in the last iteration', async () => {
    const never = await gitWorld({ ...tests, 'ask.md': ask }, () => fixing(0))
    const failed = await never.run(['ask.md', '--iter', '2'])
    expect(failed.code).toBe(7)
    expect(failed.stderr).toContain('error: the command of "until" has not exited with 0 after 2 iterations\n')
    expect(failed.stderr).not.toContain('resume: ')
    const last = await gitWorld({ ...tests, 'ask.md': ask }, (_, index) => fixing(index))
    expect(await last.run(['ask.md', '--iter', '2'])).toMatchObject({ code: 0 })
  })

  it('is --until for any prompt file, and has a limit of time', async () => {
    const plain = '+++\nmodel = "coder"\nbudget.unpriced = "allow"\n+++\nAsk.\n'
    const world = await gitWorld({ 'ask.md': plain }, () => ({ text: 'again' }))
    const result = await world.run([
      'ask.md',
      '--iter',
      '2',
      '--until',
      'echo waiting; exec sleep 100',
      '-c',
      'iterate.command_timeout="500ms"',
    ])
    expect(result.code).toBe(7)
    expect(said(world, 1)).toContain(
      'Check: echo waiting; exec sleep 100: did not end by itself\nwaiting\n(stopped after 0.5 s)\n',
    )
  })
})

describe('limits', () => {
  it('of calls hold for all iterations together, and a resume with more goes on', async () => {
    for (const commits of [true, false]) {
      const world = await gitWorld(
        { 'ask.md': iteratedPrompt(`condition = "5"\ncommits = ${commits}`, { front: 'budget.calls = 2' }) },
        making,
      )
      const stopped = await world.run(['ask.md'])
      expect(stopped.code).toBe(4)
      expect(stopped.stderr).toMatch(
        /error: the budget of 2 calls .*\nhint: .*\nresume: baton resume \S+ -c budget\.calls=N\n/,
      )
      const result = await world.run(['resume', '--last', '-c', 'budget.calls=9', '--json'])
      expect(result).toMatchObject({ code: 0 })
      expect(world.server.requests).toHaveLength(5)
      expect(eventsOf(result, 'iteration.completed').map(({ changed_files: files }) => files)).toEqual(
        [0, 1, 2, 3, 4].map((index) => [`made/${index}.txt`]),
      )
      expect(subjects(world)).toHaveLength(commits ? 6 : 1)
    }
  })
})

describe('a person', () => {
  it('is waited for within an iteration, which goes on where it was', async () => {
    const world = await gitWorld(
      {
        'ask.md': iteratedPrompt('condition = "2"\ncommits = true', { front: 'write_mode = "ask"' }).replace(
          'write_mode = true\n',
          '',
        ),
      },
      making,
    )
    const first = await world.run(['ask.md', '--on-ask', 'suspend'])
    expect(first.code).toBe(5)
    expect(first.stderr).toContain('waiting for approval: 1 call\n1  write  ')
    expect(subjects(world)).toEqual(['base'])
    const second = await world.run(['resume', '--last', '-y'])
    expect(second).toMatchObject({ code: 0, stdout: 'Answer 1.\n' })
    expect(subjects(world)).toHaveLength(3)
    expect(world.server.requests).toHaveLength(2)
  })
})

describe('a dry run', () => {
  it('does one iteration, runs no command of the author, and changes and commits nothing', async () => {
    const world = await gitWorld(
      { 'ask.md': iteratedPrompt('condition = "3"\ncommits = true\nuntil = "touch ran"\nscore = "touch ran; echo 1"') },
      making,
    )
    const asked = await world.run(['ask.md', '--dry', 'req'])
    expect(asked).toMatchObject({ code: 0 })
    expect(world.server.requests).toEqual([])
    const planned = await world.run(['ask.md', '--dry', 'changes'])
    expect(planned).toMatchObject({ code: 0 })
    expect(planned.stdout).toContain('made/0.txt')
    expect(world.server.requests).toHaveLength(1)
    expect(existsSync(join(world.top, 'ran'))).toBe(false)
    expect(world.git('status', '--porcelain')).toBe('')
    expect(subjects(world)).toEqual(['base'])
  })
})

describe('a recorded run', () => {
  it('replays without repository, git and model, here and as a cassette elsewhere', async () => {
    const ask = iteratedPrompt(
      'condition = "2"\ncommits = true\nuntil = "test -e made/1.txt"\nscore = "ls made | wc -l"',
    )
    const world = await gitWorld({ 'ask.md': ask, 'made/.keep': '' }, making)
    const cassette = join(tempTree(), 'run.cassette')
    const recorded = await world.run(['ask.md', '--record', cassette])
    expect(recorded).toMatchObject({ code: 0, stdout: 'Answer 1.\n' })
    const commits = world.git('log', '--format=%H')
    await world.server.close()

    const here = await world.run(['run', '--replay', ...runOf(world)])
    expect(here).toMatchObject({ code: 0, stdout: 'Answer 1.\n' })
    expect(world.git('log', '--format=%H')).toBe(commits)
    expect(world.git('status', '--porcelain')).toBe('')

    const cwd = tempTree({ 'ask.md': ask })
    const away = await baton(['run', '--replay', cassette], { cwd })
    expect(away).toMatchObject({ code: 0, stdout: 'Answer 1.\n' })
    expect(away.stderr).toContain('the result is the same as recorded')
    expect(readdirSync(cwd)).toEqual(['ask.md'])
  })
})

/** Id of the only run. */
function runOf({ home }: GitWorld): readonly string[] {
  const runs = join(home, 'baton/state/runs')
  return readdirSync(runs).flatMap((folder) => readdirSync(join(runs, folder)).filter((name) => /^\d{8}-/.test(name)))
}

describe('other ways to run it', () => {
  it('is to watch: what iterations change begins no run, what a person saves does', async () => {
    const ask = iteratedPrompt('condition = "2"\ncommits = true', { front: 'context_globs = ["made/*.txt"]' })
    const world = await gitWorld({ 'ask.md': ask }, (_, index) => ({
      text: writing({ [`made/${index}.txt`]: `${index}` }, `Answer ${index}.`),
    }))
    let isSaved = false
    const { stdout, stderr } = await world.run(['ask.md', '--watch'], {
      onError(text, kill) {
        const runs = text.split('Iterations: 2/2').length - 1
        const rests = text.split('watching').length - 1
        if (runs === 1 && rests >= 1 && !isSaved) {
          isSaved = true
          world.write({ 'ask.md': ask.replace('Improve it.', 'Improve it more.') })
        }
        if (runs === 2) kill('SIGTERM')
      },
    })
    expect(stdout).toContain('Answer 1.\n')
    expect(stderr.split('Iterations: 2/2')).toHaveLength(3)
    expect(world.server.requests).toHaveLength(4)
    expect(said(world, 2)).toContain('Improve it more.')
    expect(subjects(world)).toHaveLength(5)
    expect(world.git('status', '--porcelain')).toBe(' M ask.md')
  })

  it('is as an agent of another prompt file: its commits are made, and --iter is for the file that is run', async () => {
    const world = await gitWorld(
      {
        'ask.md':
          '+++\nmodel = "coder"\nwrite_mode = true\nbudget.unpriced = "allow"\nsub_agents = ["inner.md"]\n+++\nOuter.\n',
        'inner.md': iteratedPrompt('condition = "2"\ncommits = true', { task: 'Inner.' }),
      },
      (request) =>
        said(world, world.server.requests.length - 1).includes('Outer.') ? { text: 'outer' } : making(request),
    )
    const result = await world.run(['ask.md', '--json'])
    expect(result).toMatchObject({ code: 0 })
    expect(world.server.requests).toHaveLength(3)
    expect(said(world, 2)).toContain('Answer 1.')
    expect(subjects(world)).toHaveLength(3)
    expect(eventsOf(result, 'answer').map(({ text }) => text)).toEqual(['outer'])
  })

  it('is as items of a step, at the same time: no iteration takes the commit of another for its own', async () => {
    const child = iteratedPrompt('condition = "2"\ncommits = true', {
      front: '[input.x]',
      task: 'Work on {{input.x}}.',
    })
    const steps =
      '[[workflow.step]]\nid = "each"\nfor_each = "{ { x = \'a\' }, { x = \'b\' }, { x = \'c\' } }"\nagent = "child.md"\nconcurrency = 3'
    const world = await gitWorld(
      {
        'ask.md': `+++\nmodel = "coder"\nwrite_mode = true\nbudget.unpriced = "allow"\n${steps}\n+++\n`,
        'child.md': child,
      },
      ({ body }, index) => {
        const [, item = ''] = /Work on (\w)\./.exec(body?.messages.at(-1)?.content ?? '') ?? []
        return { text: writing({ [`${item}${index}.txt`]: item }), delayMs: 20 }
      },
    )
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    const commits = eventsOf(result, 'iteration.completed').map((event) => ({
      id: event['commit_id'],
      at: event['agent'],
    }))
    const made = commits.filter(({ id }) => id !== undefined)
    expect(new Set(made.map(({ id }) => id)).size).toBe(made.length)
    for (const { id, at } of made) {
      const trailer = world.git('log', '-1', '--format=%(trailers:key=Baton-Iteration,valueonly,unfold)', String(id))
      const [, within, number] = /^(.*)\/iteration\/(\d+)$/.exec(String(at)) ?? []
      expect(trailer).toBe(`${number} of ${within}`)
    }
    expect(world.git('rev-list', '--count', 'HEAD')).toBe(String(made.length + 1))
    expect(world.git('status', '--porcelain')).toBe('')
  })

  it('is with --json: each line is as baton schema says', async () => {
    const world = await gitWorld(
      {
        'ask.md': iteratedPrompt(
          'condition = "3"\ncommits = true\nscore = "ls made | wc -l"\nscore_best = "lowest"\nsummarizer = "llm"',
        ),
        'made/0': '',
      },
      (request) =>
        request.body?.messages.at(-1)?.content.startsWith('Summarize') === true ? { text: 'Did it.' } : making(request),
    )
    const result = await world.run(['ask.md', '--json'])
    expect(result).toMatchObject({ code: 0 })
    const { stdout } = await world.run(['schema', 'events'])
    const validate = new Ajv({ strict: false }).compile(JSON.parse(stdout) as object)
    const lines = result.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly type: string })
    expect(lines.filter((line) => !validate(line))).toEqual([])
    expect([...new Set(lines.map(({ type }) => type).filter((type) => type.startsWith('iterat')))].toSorted()).toEqual([
      'iterate.completed',
      'iterate.progress',
      'iterate.restored',
      'iterate.started',
      'iteration.completed',
      'iteration.started',
    ])
    // the state before the first iteration was the best
    expect(subjects(world).at(-1)).toBe('[iter-best] Restore the state before the first iteration (score 1)')
    expect(world.git('diff', '--name-only', 'HEAD~4', 'HEAD')).toBe('')
    expect(world.git('status', '--porcelain')).toBe('')
    rmSync(join(world.top, 'made/0'))
  })
})
