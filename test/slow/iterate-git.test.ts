import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BatonResult } from '../helpers/baton.ts'
import {
  eventsOf,
  filesOf,
  gitIn,
  type GitWorld,
  gitWorld,
  iteratedPrompt,
  subjects,
  writeHook,
  writing,
} from '../helpers/git-world.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree, writeTree } from '../helpers/temp.ts'
import { callsTools } from '../helpers/tool-model.ts'

const twice = iteratedPrompt('condition = "2"\ncommits = true')
const allowing = iteratedPrompt('condition = "2"\ncommits = true\non_dirty = "allow"')

/** Answers that write one file each. */
function answers(...paths: readonly string[]): readonly ModelReply[] {
  return paths.map((path, index) => ({ text: writing({ [path]: `content ${index}` }) }))
}

/** Files that belong to others: they must be unchanged. */
function untouched({ git, top }: GitWorld): unknown {
  return {
    config: readFileSync(join(top, '.git/config'), 'utf8'),
    refs: git('for-each-ref', '--format=%(refname) %(objectname)')
      .split('\n')
      .filter((ref) => !ref.startsWith('refs/heads/main ')),
    stash: git('stash', 'list'),
  }
}

/** The files of each iteration according to its event and to its commit. */
function worked(world: GitWorld, result: BatonResult): readonly (readonly [unknown, readonly string[]])[] {
  return eventsOf(result, 'iteration.completed').map((event) => [
    event['changed_files'],
    typeof event['commit_id'] === 'string' ? filesOf(world, event['commit_id']) : [],
  ])
}

const warnings = (result: BatonResult): readonly unknown[] => eventsOf(result, 'warning').map(({ message }) => message)

describe('a work tree with changes', () => {
  it('keeps them as they are, unstaged and staged, where on_dirty allows them', async () => {
    const world = await gitWorld(
      {
        'ask.md': allowing,
        'a.txt': 'a\n',
        'b.txt': 'b\n',
        'c.txt': 'c\n',
        'gone.txt': 'g\n',
        'old.txt': 'a long line to be known again\n',
      },
      answers('x.txt', 'y.txt'),
    )
    world.write({ 'a.txt': 'unstaged\n', 'b.txt': 'staged\n', 'new.txt': 'untracked\n', 'added.txt': 'added\n' })
    world.git('add', 'b.txt', 'added.txt')
    world.git('mv', 'old.txt', 'moved.txt')
    world.git('rm', '-q', '--cached', 'gone.txt')
    world.write({ 'b.txt': 'staged, then changed\n' })
    const before = {
      ...Object(untouched(world)),
      status: world.git('status', '--porcelain', '-uall'),
      staged: world.git('diff', '--cached'),
    }

    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    expect(worked(world, result)).toEqual([
      [['x.txt'], ['x.txt']],
      [['y.txt'], ['y.txt']],
    ])
    expect({
      ...Object(untouched(world)),
      status: world.git('status', '--porcelain', '-uall'),
      staged: world.git('diff', '--cached'),
    }).toEqual(before)
  })

  it('is no reason to end where an iteration works on them, which is neither committed nor hidden', async () => {
    const ask = iteratedPrompt('condition = "1h"\nmax_iterations = 4\ncommits = true\non_dirty = "allow"')
    const world = await gitWorld({ 'ask.md': ask, 'a.txt': 'a\n' }, (_, index) => ({
      text: writing({ 'new.txt': `round ${index}` }),
    }))
    world.write({ 'new.txt': 'mine\n' })
    const result = await world.run(['ask.md', '--json', '-c', 'context_globs=["new.txt"]'])
    expect(result.code).toBe(0)
    expect(worked(world, result)).toEqual(Array(4).fill([['new.txt'], []]))
    expect(subjects(world)).toEqual(['base'])
    expect(eventsOf(result, 'iterate.completed')[0]?.['result']).toMatchObject({ stop_reason: 'max_iterations' })
    expect(world.git('status', '--porcelain')).toBe('?? new.txt')
  })

  it('turns commits off that are not asked for, with one line', async () => {
    const world = await gitWorld(
      { 'ask.md': iteratedPrompt('condition = "2"'), 'a.txt': 'a\n' },
      answers('x.txt', 'y.txt'),
    )
    world.write({ 'a.txt': 'mine\n' })
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    expect(warnings(result)).toEqual(['iterations are not committed: the work tree has changes: a.txt'])
    expect(worked(world, result)).toEqual([
      [['x.txt'], []],
      [['y.txt'], []],
    ])
    expect(subjects(world)).toEqual(['base'])
    expect(world.git('status', '--porcelain')).toBe(' M a.txt\n?? x.txt\n?? y.txt')
  })
})

describe('what is never committed', () => {
  it('is the prompt file, changed or new', async () => {
    const world = await gitWorld(
      { 'ask.md': `${twice}\n====\n`, 'a.txt': 'a\n' },
      answers('x.txt', 'y.txt', 'z.txt', 'w.txt'),
    )
    world.write({ 'ask.md': `${twice}More.\n\n====\n`, 'other.md': twice })
    world.git('add', 'ask.md')
    writeFileSync(join(world.top, '.git/info/exclude'), '')
    const refused = await world.run(['other.md'])
    expect(refused.stderr).toContain('the work tree has changes: ask.md')
    rmSync(join(world.top, 'other.md'))
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    expect(worked(world, result)).toEqual([
      [['x.txt'], ['x.txt']],
      [['y.txt'], ['y.txt']],
    ])
    expect(world.git('status', '--porcelain')).toBe('MM ask.md')
    expect(world.read('ask.md')).toContain('Done.')
  })

  it('is what git ignores', async () => {
    const world = await gitWorld({ 'ask.md': twice, '.gitignore': '*.log\nbuild/\n' }, [
      { text: writing({ 'x.log': '1', 'build/out.js': '1', 'src/x.txt': '1' }) },
      { text: writing({ 'y.log': '2' }) },
    ])
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    expect(worked(world, result)).toEqual([
      [['src/x.txt'], ['src/x.txt']],
      [[], []],
    ])
  })

  it.each([
    ['BATON_HOME', 'state', ['--json'], { BATON_HOME: 'state' }],
    ['runs.dir', 'kept', ['--json', '-c', 'runs.dir=kept'], {}],
  ])('is the folder of runs inside of the workspace: %s', async (_, folder, flags, env) => {
    for (const commits of ['true', 'false']) {
      const ask = iteratedPrompt(`condition = "1h"\nmax_iterations = 9\ncommits = ${commits}`)
      const world = await gitWorld({ 'ask.md': ask }, [
        ...answers('x.txt'),
        { text: '1' },
        { text: '2' },
        { text: '3' },
      ])
      const home = Object.fromEntries(Object.entries(env).map(([key, path]) => [key, join(world.top, path)]))
      const result = await world.run(['ask.md', ...flags], { env: home })
      expect(result.code).toBe(0)
      expect(eventsOf(result, 'iteration.completed').map((event) => event['changed_files'])).toEqual([
        ['x.txt'],
        [],
        [],
        [],
      ])
      expect(eventsOf(result, 'iterate.completed')[0]?.['result']).toMatchObject({ stop_reason: 'stalled' })
      expect(world.git('ls-files')).not.toContain(`${folder}/`)
    }
  })
})

describe('names and changes of files', () => {
  it('may be anything: spaces, line breaks, quotes, other scripts, glob characters, options', async () => {
    const odd = [
      'a b.txt',
      'line\nbreak.txt',
      '"quoted".txt',
      'Ünï/çödé.txt',
      'x -> y.txt',
      '[ab]*.txt',
      '-rf',
      ':(top)x',
      "it's",
    ]
    const script = `for _, name in ipairs(input.coder_params.names) do aip.file.save(name, "1") end`
    const world = await gitWorld(
      {
        'ask.md': iteratedPrompt('condition = "1"\ncommits = true', {
          front: `names = ${JSON.stringify(odd)}\nsub_agents = [{ name = "save.lua", stage = "post_task" }]`,
        }),
        'save.lua': `${script}\n`,
        'a.txt': 'a\n',
      },
      [{ text: 'ok' }],
    )
    const result = await world.run(['ask.md', '--json'])
    expect(result).toMatchObject({ code: 0 })
    const [[files, committed] = []] = worked(world, result)
    expect(files).toEqual(odd.toSorted())
    expect(committed?.toSorted()).toEqual(odd.toSorted())
    expect(world.git('status', '--porcelain')).toBe('')
    expect(world.git('log', '-1', '--format=%b')).toMatch(/^Modified files: .*\n\nBaton-Run: /)
  })

  it('may be a rename, a deletion, a mode, a link, a file in place of a folder', async () => {
    const text = Array.from({ length: 20 }, (_, line) => `line ${line}`).join('\n')
    const world = await gitWorld(
      {
        'ask.md': iteratedPrompt('condition = "1"\ncommits = true\nuntil = "true"', {
          front: 'sub_agents = [{ name = "work.lua", stage = "post_task" }]',
        }),
        'work.lua': `
aip.file.move("old name.txt", "sub/new name.txt")
aip.file.delete("gone.txt")
aip.file.delete("dir/one.txt")
aip.cmd.exec("sh", { "-c", "rmdir dir; echo now > dir; chmod +x run.sh; ln -s run.sh link" })
`,
        'old name.txt': text,
        'gone.txt': 'g\n',
        'dir/one.txt': '1\n',
        'run.sh': 'echo\n',
      },
      [{ text: 'ok' }],
    )
    const result = await world.run(['ask.md', '--json'])
    expect(result).toMatchObject({ code: 0 })
    expect(eventsOf(result, 'iteration.completed')[0]?.['changed_files']).toEqual([
      'dir',
      'dir/one.txt',
      'gone.txt',
      'link',
      'old name.txt',
      'run.sh',
      'sub/new name.txt',
    ])
    expect(world.git('status', '--porcelain')).toBe('')
    expect(world.git('ls-tree', '-r', '--name-only', 'HEAD').split('\n').toSorted()).toEqual(
      ['.keep', 'ask.md', 'dir', 'link', 'run.sh', 'sub/new name.txt', 'work.lua'].toSorted(),
    )
  })
})

describe('where the repository is', () => {
  it('is above the workspace: what is beside the workspace is neither looked at nor committed', async () => {
    const world = await gitWorld(
      { 'pack/baton.toml': '', 'pack/ask.md': twice, 'pack/sub/a.txt': 'a\n', 'other.txt': 'o\n' },
      answers('x.txt', 'sub/y.txt'),
    )
    world.write({ 'other.txt': 'mine\n', 'new.txt': 'new\n' })
    world.git('add', 'new.txt')
    const result = await world.run(['ask.md', '--json'], { cwd: join(world.top, 'pack') })
    expect(result).toMatchObject({ code: 0 })
    expect(worked(world, result)).toEqual([
      [['x.txt'], ['pack/x.txt']],
      [['sub/y.txt'], ['pack/sub/y.txt']],
    ])
    expect(world.git('status', '--porcelain')).toBe('A  new.txt\n M other.txt')
  })

  it('is that of the prompt file in a sub-folder', async () => {
    const world = await gitWorld({ 'docs/ask.md': twice }, answers('x.txt', 'docs/y.txt'))
    const result = await world.run(['ask.md', '--json'], { cwd: join(world.top, 'docs') })
    expect(result).toMatchObject({ code: 0 })
    expect(worked(world, result)).toEqual([
      [['x.txt'], ['x.txt']],
      [['docs/y.txt'], ['docs/y.txt']],
    ])
  })

  it('is a linked work tree, whose branch alone gets the commits', async () => {
    const world = await gitWorld({ 'ask.md': twice }, answers('x.txt', 'y.txt'))
    const linked = join(world.top, '../linked')
    world.git('worktree', 'add', '-q', linked)
    const result = await world.run(['ask.md', '--json'], { cwd: linked })
    expect(result).toMatchObject({ code: 0 })
    expect(subjects(world, 'linked')).toEqual(['base', '[iter-0] Iteration 0 changes', '[iter-1] Iteration 1 changes'])
    expect(subjects(world, 'main')).toEqual(['base'])
  })

  it('has its HEAD detached, or no commit yet', async () => {
    const detached = await gitWorld({ 'ask.md': twice }, answers('x.txt', 'y.txt'))
    detached.git('checkout', '-q', '--detach')
    expect(await detached.run(['ask.md'])).toMatchObject({ code: 0 })
    expect(subjects(detached, 'HEAD')).toHaveLength(3)
    expect(subjects(detached, 'main')).toEqual(['base'])
    expect(readFileSync(join(detached.top, '.git/HEAD'), 'utf8')).toMatch(/^[0-9a-f]{40}\n$/)

    const unborn = await gitWorld({ 'ask.md': twice }, answers('x.txt', 'y.txt'))
    rmSync(join(unborn.top, '.git'), { recursive: true })
    rmSync(join(unborn.top, '.keep'))
    unborn.git('init', '-q')
    const result = await unborn.run(['ask.md', '--json'])
    expect(result).toMatchObject({ code: 0 })
    expect(subjects(unborn)).toEqual(['[iter-0] Iteration 0 changes', '[iter-1] Iteration 1 changes'])
    expect(worked(unborn, result)).toEqual([
      [['x.txt'], ['x.txt']],
      [['y.txt'], ['y.txt']],
    ])
    expect(unborn.server.requests[1]?.body?.messages.at(-1)?.content).toContain('Base commit: unknown\n')
    expect(unborn.git('status', '--porcelain')).toBe('?? ask.md')
  })

  it('has a submodule and repositories that nobody has added: they stay as they are', async () => {
    for (const commits of [true, false]) {
      const world = await gitWorld({ 'ask.md': iteratedPrompt(`condition = "2"\ncommits = ${commits}`) }, [
        { text: writing({ 'x.txt': '1', 'module/inside.txt': '1', 'nested/inside.txt': '1' }) },
        ...answers('y.txt'),
      ])
      const module = tempTree({ 'lib.txt': 'lib\n' })
      const inModule = gitIn(module, world.home)
      inModule('init', '-q')
      inModule('add', '-A')
      inModule('commit', '-q', '-m', 'lib')
      world.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', module, 'module')
      world.git('commit', '-q', '-m', 'module')
      for (const [name, hasCommit] of [
        ['nested', true],
        ['empty', false],
      ] as const) {
        mkdirSync(join(world.top, name))
        writeTree(world.top, { [`${name}/own.txt`]: 'own\n' })
        const nested = gitIn(join(world.top, name), world.home)
        nested('init', '-q')
        if (hasCommit) nested('add', '-A')
        if (hasCommit) nested('commit', '-q', '-m', 'own')
      }
      const result = await world.run(['ask.md', '--json'])
      expect(result).toMatchObject({ code: 0 })
      expect(eventsOf(result, 'iteration.completed').map((event) => event['changed_files'])).toEqual([
        ['x.txt'],
        ['y.txt'],
      ])
      expect(warnings(result)).toEqual([])
      if (!commits) continue
      expect(worked(world, result).map(([, files]) => files)).toEqual([['x.txt'], ['y.txt']])
      expect(world.git('status', '--porcelain', '--ignore-submodules=dirty')).toBe('?? empty/\n?? nested/')
      expect(gitIn(join(world.top, 'module'), world.home)('log', '--format=%s')).toBe('lib')
    }
  })

  it.each(['merge', 'rebase', 'cherry-pick'])('is in the middle of a %s', async (what) => {
    const world = await gitWorld({ 'ask.md': twice, 'a.txt': 'a\n' }, answers('x.txt', 'y.txt'))
    world.git('checkout', '-q', '-b', 'side')
    world.write({ 'a.txt': 'side\n' })
    world.git('commit', '-q', '-a', '-m', 'side')
    world.git('checkout', '-q', 'main')
    world.write({ 'a.txt': 'main\n' })
    world.git('commit', '-q', '-a', '-m', 'main')
    expect(() => world.git(what, 'side')).toThrow()
    const refused = await world.run(['ask.md'])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(
      `error: the repository is in the middle of a ${what}\nhint: Finish or abort the ${what} first`,
    )
    const result = await world.run(['ask.md', '--json', '-c', 'iterate.commits="auto"'])
    expect(result.code).toBe(0)
    expect(warnings(result)).toEqual([`iterations are not committed: the repository is in the middle of a ${what}`])
    expect(worked(world, result).map(([files]) => files)).toEqual([['x.txt'], ['y.txt']])
    expect(world.git('log', '--all', '--format=%s')).not.toContain('[iter-')
  })
})

describe('what the user has set', () => {
  it('is nobody: the commit is refused with what git says, and the work goes on', async () => {
    const world = await gitWorld({ 'ask.md': twice }, answers('x.txt', 'y.txt'))
    writeFileSync(join(world.home, '.gitconfig'), '[user]\n\tuseConfigOnly = true\n')
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    expect(warnings(result)).toEqual([
      expect.stringMatching(/^iteration 0 was not committed: .*tell me who you are/s),
      expect.stringMatching(/^iteration 1 was not committed: /),
    ])
    expect(worked(world, result)).toEqual([
      [['x.txt'], []],
      [['x.txt', 'y.txt'], []],
    ])
    expect(world.git('status', '--porcelain')).toBe('?? x.txt\n?? y.txt')
  })

  it('is the author by the environment', async () => {
    const world = await gitWorld({ 'ask.md': twice }, answers('x.txt', 'y.txt'))
    const env = {
      GIT_AUTHOR_NAME: 'Bob',
      GIT_COMMITTER_EMAIL: 'ci@example.org',
      GIT_DIR: '/nowhere',
      GIT_INDEX_FILE: '/nowhere',
    }
    expect(await world.run(['ask.md'], { env })).toMatchObject({ code: 0 })
    expect(world.git('log', '-1', '--format=%an %ce')).toBe('Bob ci@example.org')
  })

  it('is to sign, which cannot be done', async () => {
    const world = await gitWorld({ 'ask.md': twice }, answers('x.txt', 'y.txt'))
    world.git('config', 'commit.gpgsign', 'true')
    world.git('config', 'gpg.program', 'false')
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    expect(warnings(result)[0]).toMatch(/^iteration 0 was not committed: .*gpg failed to sign/s)
    expect(world.git('status', '--porcelain')).toBe('?? x.txt\n?? y.txt')
  })

  it('is how lines end, and a change of those alone is none', async () => {
    const world = await gitWorld({ 'ask.md': twice, 'a.txt': 'one\ntwo\n' }, answers('x.txt', 'y.txt'))
    world.git('config', 'core.autocrlf', 'input')
    world.write({ 'a.txt': 'one\r\ntwo\r\n' })
    const result = await world.run(['ask.md', '--json', '-c', 'iterate.on_dirty="allow"'])
    expect(result).toMatchObject({ code: 0 })
    expect(worked(world, result).map(([, files]) => files)).toEqual([['x.txt'], ['y.txt']])
  })
})

it('leaves no commit and no warning where git sees no difference, also beside something staged', async () => {
  const front = 'sub_agents = [{ name = "save.lua", stage = "post_task" }]'
  const world = await gitWorld(
    {
      'ask.md': iteratedPrompt('condition = "1"\ncommits = true\non_dirty = "allow"', { front }),
      'save.lua': 'aip.file.save("a.txt", "one\\r\\ntwo\\r\\n")\n',
      'a.txt': 'one\ntwo\n',
    },
    [{ text: 'ok' }],
  )
  world.git('config', 'core.autocrlf', 'input')
  world.write({ 'b.txt': 'b\n' })
  world.git('add', 'b.txt')
  const result = await world.run(['ask.md', '--json'])
  expect(result).toMatchObject({ code: 0 })
  expect([warnings(result), subjects(world)]).toEqual([[], ['base']])
  expect(world.git('status', '--porcelain')).toContain('A  b.txt')
})

describe('git itself', () => {
  it('is not there: nothing is committed, and what is asked for is refused', async () => {
    const world = await gitWorld({ 'ask.md': iteratedPrompt('condition = "2"') }, answers('x.txt', 'y.txt'))
    const bin = tempTree()
    for (const name of ['sh', 'cat', 'true']) symlinkSync(`/bin/${name}`, join(bin, name))
    const env = { PATH: bin }
    const result = await world.run(['ask.md', '--json'], { env })
    expect(result).toMatchObject({ code: 0 })
    expect(worked(world, result)).toEqual([
      [['x.txt'], []],
      [['y.txt'], []],
    ])
    const refused = await world.run(['ask.md', '-c', 'iterate.commits=true'], { env })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('git cannot be run')
    expect(subjects(world)).toEqual(['base'])
  })

  it('has left a lock: commits are refused with its name, and the work goes on', async () => {
    const world = await gitWorld(
      { 'ask.md': iteratedPrompt('condition = "2"\ncommits = true\ncommand_timeout = "1s"') },
      answers('x.txt', 'y.txt'),
    )
    writeFileSync(join(world.top, '.git/index.lock'), '')
    const result = await world.run(['ask.md', '--json'])
    expect(result.code).toBe(0)
    expect(warnings(result)[0]).toMatch(/^iteration 0 was not committed: .*index\.lock/s)
    expect(world.read('.git/index.lock')).toBe('')
    rmSync(join(world.top, '.git/index.lock'))
    expect(world.git('status', '--porcelain')).toBe('?? x.txt\n?? y.txt')
  })

  it('is never told to push, amend or configure, and its other branches stay', async () => {
    const world = await gitWorld({ 'ask.md': twice }, answers('x.txt', 'y.txt'))
    const remote = tempTree()
    gitIn(remote, world.home)('init', '-q', '--bare')
    world.git('remote', 'add', 'origin', remote)
    world.git('push', '-q', '-u', 'origin', 'main')
    world.git('branch', 'side')
    world.git('tag', 'v1')
    const [before, base] = [untouched(world), world.git('rev-parse', 'HEAD')]
    writeHook(world, 'pre-push', 'touch pushed')
    expect(await world.run(['ask.md'])).toMatchObject({ code: 0 })
    expect(untouched(world)).toEqual(before)
    expect(world.git('rev-parse', 'HEAD~2')).toBe(base)
    expect(world.git('ls-remote', 'origin', 'main')).toContain(base)
    expect(
      world
        .git('reflog', '--format=%gs')
        .split('\n')
        .filter((line) => /amend|reset/.test(line)),
    ).toEqual([])
  })
})

it('a later iteration has the tools of its file and nothing of the conversation before, and its agents may read git log (R91, R94)', async () => {
  const write = (path: string): ModelReply => callsTools(['write', { path, content: `content of ${path}` }])
  const world = await gitWorld(
    {
      'log.lua':
        'return { coder_prompts_append = "Commits:\\n" .. aip.cmd.exec("git", {"log", "--format=%s"}).stdout }',
      'ask.md': iteratedPrompt('condition = "2"\ncommits = true', {
        front: 'tools = ["write"]\nsub_agents = [{ name = "log.lua", stage = "pre_task" }]',
      }),
    },
    [write('x.txt'), { text: 'First.' }, write('y.txt'), { text: 'Second.' }],
  )
  expect(await world.run(['ask.md'])).toMatchObject({ code: 0 })
  expect(subjects(world)).toHaveLength(3)
  const asked = world.server.requests.map(({ body }) => JSON.stringify(body))
  expect(
    asked.map((body) => [...body.matchAll(/"function":\{"name":"(\w+)","description"/g)].map(([, name]) => name)),
  ).toEqual([['write'], ['write'], ['write'], ['write']])
  expect(asked[2]).toContain('[iter-0]')
  expect(asked[1]).toContain('content of x.txt')
  expect(asked[2]).not.toMatch(/content of x\.txt|"role":"tool"/)
})
