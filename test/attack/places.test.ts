import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModelServer } from '../helpers/model-server.ts'
import { attack, type Attempts, count } from './attempts.ts'
import { createWorld, expectHeld, type Files, type World, type WorldOptions } from './harness.ts'

/** Runs a prompt file whose model answers with `answers`, one per request. */
async function answered(
  { work, args = [], ...options }: WorldOptions & { readonly args?: readonly string[] },
  answers: readonly string[],
  prepare: (world: World) => void = () => undefined,
) {
  const server = await startModelServer((_, index) => ({ text: answers[Math.min(index, answers.length - 1)] ?? '' }))
  try {
    const world = createWorld({
      ...options,
      work: { '.git/HEAD': 'ref: refs/heads/main\n', 'ask.md': '+++\nwrite_mode = true\n+++\nDo it.\n', ...work },
      env: { BATON_GATEWAY_URL: server.url, ...options.env },
    })
    prepare(world)
    const end = await world.run(['ask.md', '-m', 'any', ...args])
    return { world, end, server }
  } finally {
    await server.close()
  }
}

/** An answer that writes a file. */
function writing(path: string, content = 'from the model\n'): string {
  return `<FILE_CHANGES>\n<FILE_NEW file_path="${path}">\n${content}</FILE_NEW>\n</FILE_CHANGES>\n`
}

/** Swaps folders of a world for links to its `outside` during `work`. */
async function whileSwapping(paths: readonly string[], outside: string, work: () => Promise<void>): Promise<void> {
  const swapping = paths.map((path) => spawn(process.execPath, [join(import.meta.dirname, 'swap.mjs'), path, outside]))
  try {
    await Promise.all(swapping.map((child) => once(child.stdout, 'data')))
    await work()
  } finally {
    // the state must not change while it is checked
    await Promise.all(
      swapping.map(async (child) => {
        const gone = once(child, 'close')
        child.kill('SIGKILL')
        await gone
      }),
    )
  }
}

describe('a folder that is replaced by a link during use does not redirect', () => {
  const name = 'a folder swapped for a link'
  const rounds = process.env['BATON_ATTACK'] === 'whole' ? 1500 : 80

  it('files that scripts write, append to, copy, move, delete and read', async () => {
    const world = createWorld({
      work: {
        '.git/HEAD': '',
        'a/b/old.txt': 'own',
        'race.lua': `
          local tried, seen = 0, {}
          local function try(f) tried = tried + 1; local ok, value = pcall(f); return ok and value end
          for i = 1, ${rounds} do
            try(function() aip.file.save("a/b/new" .. i .. ".txt", "x") end)
            try(function() aip.file.save("a/b/deep" .. i .. "/new.txt", "x") end)
            try(function() aip.file.append("a/b/log.txt", "x") end)
            try(function() aip.file.append("a/b/precious.txt", "x") end)
            try(function() aip.file.copy("race.lua", "a/b/copy" .. i .. ".txt") end)
            try(function() aip.file.move("a/b/new" .. i .. ".txt", "a/b/moved" .. i .. ".txt") end)
            try(function() aip.file.delete("a/b/precious.txt") end)
            try(function() aip.file.delete("a/b/folder") end)
          end
          return tried`,
      },
      outside: { 'precious.txt': 'kept', 'folder/precious.txt': 'kept' },
    })
    await whileSwapping([join(world.work, 'a/b')], world.outside, async () => {
      const end = await world.run(['race.lua'])
      expectHeld(world, end, [0])
    })
    count(name, 8 * rounds)
  })

  it('thousands of files of an answer', async () => {
    const files = Array.from({ length: 4 * rounds }, (_, index) => `a/b/sub${index % 7}/file${index}.txt`)
    const answer = `<FILE_CHANGES>\n${files.map((path) => `<FILE_NEW file_path="${path}">\nx\n</FILE_NEW>\n`).join('')}</FILE_CHANGES>\n`
    const server = await startModelServer(() => ({ text: answer }))
    try {
      const world = createWorld({
        work: {
          '.git/HEAD': '',
          'a/b/old.txt': 'own',
          'ask.md': '+++\nwrite_mode = true\npartial = true\n+++\nDo it.\n',
        },
        outside: { 'precious.txt': 'kept' },
        env: { BATON_GATEWAY_URL: server.url },
      })
      await whileSwapping([join(world.work, 'a/b')], world.outside, async () => {
        const end = await world.run(['ask.md', '-m', 'any'])
        expectHeld(world, end, [0, 1])
      })
    } finally {
      await server.close()
    }
    count(name, files.length)
  })
})

describe('hard links are not written through', () => {
  it.each(['write', 'append', 'patch', 'transcript'])('by a %s', async (how) => {
    const answer = {
      write: writing('hard.txt'),
      append: '<FILE_CHANGES>\n<FILE_APPEND file_path="hard.txt">\nmore\n</FILE_APPEND>\n</FILE_CHANGES>\n',
      patch: '<FILE_CHANGES>\n<FILE_PATCH file_path="hard.txt">\n@@\n-kept\n+lost\n</FILE_PATCH>\n</FILE_CHANGES>\n',
      transcript: 'Only words.',
    }[how]
    const prompt = '+++\nwrite_mode = true\ncontext_globs = ["hard.txt"]\n+++\nDo it.\n\n====\n'
    const { world, end } = await answered(
      { outside: { 'hard.txt': 'kept\n', 'ask.md': prompt } },
      [answer ?? ''],
      ({ work, outside }) => {
        rmSync(join(work, 'ask.md'))
        for (const name of ['hard.txt', 'ask.md']) linkSync(join(outside, name), join(work, name))
      },
    )
    expectHeld(world, end, [0])
    const file = how === 'transcript' ? 'ask.md' : 'hard.txt'
    expect(readFileSync(join(world.work, file), 'utf8')).not.toBe(readFileSync(join(world.outside, file), 'utf8'))
  })
})

const pack = {
  'thing/pack.toml': '[pack]\nnamespace = "a"\nname = "b"\nversion = "1.0.0"\n',
  'thing/main.aip': '# Before All\n\n```lua\nreturn 1\n```\n',
}

attack(
  'commands write through no link that leads out of the workspace',
  {
    core: {
      'install --workspace, .baton': [['.baton'], ['install', 'thing', '--workspace', '-y']],
      'install --workspace, the lock': [
        ['.baton/packs.lock', 'lock'],
        ['install', 'thing', '--workspace', '-y'],
      ],
      'unpack, .baton/packs': [['.baton/packs'], ['unpack', 'a@b-v1.0.0.aipack']],
      'new agent': [['agents'], ['new', 'agent', 'agents/x']],
      init: [['sub'], ['init', 'sub']],
      '--output': [
        ['out.md', 'precious.txt'],
        ['hello.lua', '--output', 'out.md'],
      ],
      '--output, folder': [['out'], ['hello.lua', '--output', 'out/new.md']],
      '--record': [['out'], ['hello.lua', '--record', 'out/x.cassette']],
    },
    more: () => ({
      'install --workspace, namespace': [['.baton/packs/a'], ['install', 'thing', '--workspace', '-y']],
      'unpack, folder': [['out'], ['unpack', 'a@b-v1.0.0.aipack', 'out/copy']],
      'new prompt': [['docs'], ['new', 'prompt', 'docs/x']],
      'new pack': [['.baton'], ['new', 'pack', 'a@b']],
      'pack -o': [['out'], ['pack', 'thing', '-o', 'out']],
      'a new file by --output': [
        ['out.md', 'new.txt'],
        ['hello.lua', '--output', 'out.md'],
      ],
      '--junit': [['out'], ['test', 'tested.md', '--junit', 'out/x.xml']],
    }),
  } satisfies Attempts<readonly [readonly string[], readonly string[]]>,
  async ([[link = '', target = ''], args]) => {
    const world = createWorld({
      work: {
        '.git/HEAD': '',
        'hello.lua': 'print("hello")',
        'tested.md': '+++\n[[test]]\nname = "x"\nexpect = [{ exit = 0 }]\n+++\n',
        ...pack,
      },
      outside: { 'precious.txt': 'kept', lock: '{"version":1,"packs":{}}' },
    })
    if (args[0] === 'unpack') await world.run(['pack', 'thing'])
    mkdirSync(dirname(join(world.work, link)), { recursive: true })
    symlinkSync(join(world.outside, target), join(world.work, link))
    const end = await world.run(args)
    expectHeld(world, end)
    expect(end.stderr).toMatch(/leads out(?: of .*work|side the workspace) through the link /)
    expect(end.code).not.toBe(0)
  },
)

attack(
  'nothing of the system is read',
  {
    core: {
      'a file by a script': 'return aip.file.load("/proc/self/environ").content',
      'a file by a link': 'return aip.file.load("leak").content',
      'files by globs': 'return aip.file.list("/proc/self/*")',
    },
    more: () => ({
      'lines of a file': 'return aip.file.load_csv("/proc/self/environ")',
      'the settings of the kernel': 'return aip.file.load("/sys/kernel/uevent_seqnum").content',
      'a device': 'return aip.file.load("/dev/zero").content',
      'files below a link': 'return aip.file.list("processes/self/environ")',
      'contents of files': 'return aip.file.list_load("/proc/self/environ")',
      'a copy': 'return aip.file.copy("/proc/self/environ", "copy.txt")',
      'another name of it': 'return aip.file.load("/dev/fd/../../proc/self/environ").content',
    }),
  },
  async (script) => {
    const world = createWorld({
      work: {
        '.git/HEAD': '',
        'a.lua': `local ok, value = pcall(function() ${script} end)\nprint(ok, value and #value)\nif ok then for _, one in ipairs(value) do print(one.path) end end\nreturn value`,
      },
    })
    symlinkSync('/proc/self/environ', join(world.work, 'leak'))
    symlinkSync('/proc', join(world.work, 'processes'))
    const end = await world.run(['a.lua'], { env: { MARK: 'value-of-the-environment' } })
    expectHeld(world, end)
    expect(end.stdout + end.stderr).not.toMatch(/value-of-the-environment|^true/m)
    expect(existsSync(join(world.work, 'copy.txt'))).toBe(false)
  },
)

attack(
  'a pipe in place of a file is not waited for',
  {
    core: {
      'a prompt file': ['x.md', ['x.md']],
      'an agent': ['a.lua', ['ask.md']],
      'config of the folder': ['baton.toml', ['ask.md']],
      'a file of the context': ['src/x.ts', ['ask.md']],
      'the manifest of a pack': ['.baton/packs/a/b/pack.toml', ['a@b']],
    },
    more: () => ({
      'a script': ['x.lua', ['x.lua']],
      'an agent in sections': ['x.aip', ['x.aip']],
      'config of AIPack': ['.aipack/config.toml', ['ask.md']],
      'what is listed': ['x.md', ['list']],
      'what is checked': ['x.md', ['check', '.']],
      'what is tested': ['x.md', ['test', '.']],
      'a plan': ['x.md', ['plan', 'x.md']],
      'the archive of a pack': ['x.aipack', ['install', 'x.aipack', '-y']],
      'a file of a pack': ['thing/x.txt', ['pack', 'thing']],
      'a cassette': ['x.cassette', ['ask.md', '--replay', 'x.cassette']],
      'where a cassette goes': ['x.cassette', ['hello.lua', '--record', 'x.cassette']],
      'a module': ['lua/x.lua', ['asks.lua']],
      'a schema': ['x.json', ['ask.md', '--output-schema', 'x.json']],
      'the lock of packs': ['.baton/packs.lock', ['install', 'thing', '--workspace', '-y']],
    }),
  } satisfies Attempts<readonly [string, readonly string[]]>,
  async ([path, args]) => {
    const server = await startModelServer(() => ({ text: 'the answer' }))
    try {
      const ask = '+++\ncontext_globs = ["src/**"]\nsub_agents = ["a.lua"]\n+++\nDo it.\n'
      const scripts = { 'a.lua': 'return nil', 'hello.lua': 'print("hello")', 'asks.lua': 'return require("x")' }
      const world = createWorld({
        work: { '.git/HEAD': '', 'ask.md': ask, 'src/a.ts': 'x', ...scripts, ...pack },
        env: { BATON_GATEWAY_URL: server.url, BATON_MODEL: 'any' },
      })
      const pipe = join(world.work, path)
      mkdirSync(dirname(pipe), { recursive: true })
      rmSync(pipe, { force: true })
      execFileSync('mkfifo', [pipe])
      expectHeld(world, await world.run(args))
    } finally {
      await server.close()
    }
  },
)

/** An attempt to write a file. */
interface Target {
  readonly path: string
  readonly content?: string
  /** Additional files in the workspace. */
  readonly work?: Files
  readonly home?: Files
  readonly prepare?: (world: World) => void
  /** The answer, if it does more than write the file. */
  readonly answer?: string
  readonly env?: Readonly<Record<string, string>>
}

const prompt = '+++\nsub_agents = ["evil"]\nwrite_mode = true\n+++\nDo it.\n'
const gitConfig = (lines: string): Files => ({ '.git/config': lines, 'tools/run.sh': 'own\n' })

const targets: Readonly<Record<string, Target>> = {
  'the running prompt file': { path: 'ask.md' },
  'an agent that does not exist yet': { path: 'agents/lint.lua' },
  'an agent beside the prompt file': { path: 'context-builder.aip' },
  'a pack of the workspace': { path: '.baton/packs/a/b/main.aip' },
  'a file of a pack that is no agent': { path: '.baton/packs/a/b/data.json' },
  'a pack of AIPack': { path: '.aipack/pack/custom/a/b/main.aip' },
  'a module': { path: 'lua/util.lua' },
  'a module of capitals': { path: 'src/X.LUA' },
  'a new prompt file': { path: 'docs/next.md', content: prompt },
  'a prompt file in YAML': { path: 'docs/next.md', content: '---\nmodel: x\nsub_agents: [evil]\n---\nDo it.\n' },
  'a prompt file of #!meta': { path: 'next.md', content: '```toml\n#!meta\nsub_agents = ["evil"]\n```\nDo it.\n' },
  'an agent of another program': { path: 'next.md', content: '---\nname: x\ntools: Bash\n---\nDo it.\n' },
  'a present prompt file': { path: 'other.md', content: 'plain\n', work: { 'other.md': prompt } },
  'our config': { path: 'baton.toml' },
  'our config below': { path: 'sub/baton.toml' },
  'our config in another case': { path: 'BATON.toml' },
  'the servers of the folder': { path: '.mcp.json' },
  'a hook of git': { path: '.git/hooks/pre-commit' },
  'the folder of git in another case': { path: '.GIT/config' },
  'the folder of git with a dot': { path: '.git./config' },
  'the folder of git with a space': { path: '.git /config' },
  'the folder of git with a stream': { path: '.git::$INDEX_ALLOCATION/config' },
  'the folder of git by its short name': { path: 'git~1/config' },
  'the folder of git with an ignorable character': { path: '.g\u200cit/config' },
  'the folder of git with a mark': { path: '.git\ufeff/config' },
  'the folder of git in wide letters': { path: '.\uff47it/config' },
  'a repository of its own': {
    path: 'vendor/HEAD',
    work: { 'vendor/objects/a': '', 'vendor/refs/a': '', 'vendor/HEAD': 'x' },
  },
  'a file of a bare repository': {
    path: 'vendor/x.git/config',
    work: { 'vendor/x.git/HEAD': '', 'vendor/x.git/objects/a': '', 'vendor/x.git/refs/a': '' },
  },
  'the folder that .git names': {
    path: 'store/config',
    work: { 'store/HEAD': 'x', 'store/config': '' },
    prepare: ({ work }) => {
      rmSync(join(work, '.git'), { recursive: true })
      writeFileSync(join(work, '.git'), 'gitdir: store\n')
    },
  },
  'the file .git of a work tree': {
    path: '.git',
    prepare: ({ work }) => {
      rmSync(join(work, '.git'), { recursive: true })
      writeFileSync(join(work, '.git'), 'gitdir: ../elsewhere\n')
    },
  },
  'the common folder of a work tree': {
    path: 'main/hooks/x',
    work: { '.git/commondir': '../main\n' },
  },
  'hooks that the config names': {
    path: 'tools/hooks/pre-commit',
    work: gitConfig('[core]\n\thooksPath = tools/hooks\n'),
  },
  'hooks that the config of the user names': {
    path: 'hooks/pre-commit',
    home: { '.gitconfig': '[core]\n\thooksPath = hooks\n' },
  },
  'config that the config includes': {
    path: 'tools/gitconfig',
    work: { '.git/config': '[include]\n\tpath = ../tools/gitconfig\n' },
  },
  'config that a condition includes': {
    path: 'tools/gitconfig',
    work: { '.git/config': '[includeIf "gitdir:/"]\n\tpath = "../tools/gitconfig"\n' },
  },
  'a program that a filter names': {
    path: 'tools/run.sh',
    work: gitConfig('[filter "x"]\n\tsmudge = sh tools/run.sh %f\n'),
  },
  'a program that an alias names': { path: 'tools/run.sh', work: gitConfig('[alias]\n\tst = !./tools/run.sh\n') },
  'hooks of a submodule': {
    path: 'sub/tools/x',
    work: {
      '.git/modules/sub/HEAD': '',
      '.git/modules/sub/objects/a': '',
      '.git/modules/sub/refs/a': '',
      '.git/modules/sub/config': '[core]\n\tworktree = ../../../sub\n\thooksPath = tools\n',
      'sub/.git': 'gitdir: ../.git/modules/sub\n',
    },
  },
  'a device': { path: 'src/nul.txt' },
  'a device in capitals': { path: 'AUX' },
  'a name that ends with a dot': { path: 'src/a.ts.' },
  'a name that shows another ending': { path: 'src/a\u202etxt.sh' },
  'a name with a control character': { path: 'src/a\u0007.ts' },
  'a name with a tag character': { path: 'src/a\u{e0041}.ts' },
  'a stream of a file': { path: 'src/a.ts::$DATA' },
  'what direnv runs': { path: '.envrc' },
  'hooks of husky': { path: '.husky/pre-commit' },
  'tasks of an editor': { path: '.vscode/tasks.json' },
  'settings of an editor': { path: 'sub/.vscode/settings.json' },
  'configurations of another editor': { path: '.idea/runConfigurations/x.xml' },
  'a workflow': { path: '.github/workflows/ci.yml' },
  'a pipeline': { path: '.gitlab-ci.yml' },
  'another pipeline': { path: '.circleci/config.yml' },
  'a Jenkinsfile': { path: 'Jenkinsfile' },
  'attributes of git': { path: '.gitattributes' },
  'modules of git': { path: '.gitmodules' },
  'settings of npm': { path: '.npmrc' },
  'hooks of pre-commit': { path: '.pre-commit-config.yaml' },
  'an agent of an editor': { path: '.claude/settings.json' },
  'a present manifest that was not shown': {
    path: 'package.json',
    content: '{}\n',
    work: { 'package.json': '{"name":"x"}\n' },
  },
  'a new manifest that runs something': {
    path: 'package.json',
    content: '{"name":"x","scripts":{"postinstall":"touch /tmp/x"}}\n',
  },
  'a file that is moved to what direnv runs': {
    path: '.envrc',
    answer: `<FILE_CHANGES>\n<FILE_NEW file_path="a.txt">\nrun\n</FILE_NEW>\n<FILE_RENAME from_path="a.txt" to_path=".envrc"/>\n</FILE_CHANGES>\n`,
  },
  'a file that is copied to a prompt file': {
    path: 'b.md',
    answer: `<FILE_CHANGES>\n<FILE_NEW file_path="a.txt2">\n${prompt}</FILE_NEW>\n<FILE_COPY from_path="a.txt2" to_path="b.md"/>\n</FILE_CHANGES>\n`,
  },
  'a folder that is moved to workflows': {
    path: '.github/workflows/x.yml',
    answer:
      '<FILE_CHANGES>\n<FILE_NEW file_path="a/workflows/x.yml">\nrun\n</FILE_NEW>\n<FILE_RENAME from_path="a" to_path="b"/>\n<FILE_RENAME from_path="b" to_path=".github"/>\n</FILE_CHANGES>\n',
  },
  'a file that becomes a prompt file by what is added': {
    path: 'a.md',
    answer:
      '<FILE_CHANGES>\n<FILE_NEW file_path="a.md">\n+++\nsub_agents = ["evil"]\n</FILE_NEW>\n<FILE_APPEND file_path="a.md">\n+++\nDo it.\n</FILE_APPEND>\n</FILE_CHANGES>\n',
  },
  'the running prompt file in another case': { path: 'ASK.MD', content: 'plain\n' },
  'a missing agent in another case': { path: 'Agents/Lint.lua' },
  'a file in another case': { path: 'Notes.TXT', work: { 'notes.txt': 'not shown\n' } },
  'a file in a folder of another case': { path: 'SRC/a.txt', work: { 'src/b.txt': '' } },
  'a file in another form of Unicode': { path: 'cafe\u0301.txt', work: { 'caf\u00e9.txt': 'not shown\n' } },
  'a patch that makes a file in another case': {
    path: 'Notes.TXT',
    work: { 'notes.txt': 'not shown\n' },
    answer: '<FILE_CHANGES>\n<FILE_PATCH file_path="Notes.TXT">\n@@\n+new\n</FILE_PATCH>\n</FILE_CHANGES>\n',
  },
  'what is added to a file in another case': {
    path: 'Notes.TXT',
    work: { 'notes.txt': 'not shown\n' },
    answer: '<FILE_CHANGES>\n<FILE_APPEND file_path="Notes.TXT">\nnew\n</FILE_APPEND>\n</FILE_CHANGES>\n',
  },
  'two files that elsewhere are one': {
    path: 'x/a.txt',
    answer: `<FILE_CHANGES>\n<FILE_NEW file_path="x/a.txt">\n1\n</FILE_NEW>\n<FILE_NEW file_path="X/A.txt">\n2\n</FILE_NEW>\n</FILE_CHANGES>\n`,
  },
  'a file that is copied to another case': {
    path: 'Notes.TXT',
    work: { 'notes.txt': 'not shown\n' },
    answer: `<FILE_CHANGES>\n<FILE_NEW file_path="a.txt">\n1\n</FILE_NEW>\n<FILE_COPY from_path="a.txt" to_path="Notes.TXT"/>\n</FILE_CHANGES>\n`,
  },
  'a hook that is copied by another case': {
    path: 'x.txt',
    work: { '.git/hooks/pre-commit': 'secret\n' },
    answer: '<FILE_CHANGES>\n<FILE_COPY from_path=".GIT/hooks/pre-commit" to_path="x.txt"/>\n</FILE_CHANGES>\n',
  },
  'the folder of git that is moved by another case': {
    path: 'x.txt',
    answer: '<FILE_CHANGES>\n<FILE_RENAME from_path=".GIT" to_path="x"/>\n</FILE_CHANGES>\n',
  },
  'our config that is deleted by another case': {
    path: 'x.txt',
    work: { 'baton.toml': '' },
    answer: '<FILE_CHANGES>\n<FILE_DELETE file_path="BATON.TOML"/>\n</FILE_CHANGES>\n',
  },
}

/** One of each kind. */
const core: readonly string[] = [
  'the running prompt file',
  'an agent that does not exist yet',
  'a file of a pack that is no agent',
  'a new prompt file',
  'a present prompt file',
  'our config below',
  'the folder of git by its short name',
  'the folder of git with an ignorable character',
  'a file of a bare repository',
  'the folder that .git names',
  'hooks that the config names',
  'a device',
  'a name that shows another ending',
  'what direnv runs',
  'a new manifest that runs something',
  'a folder that is moved to workflows',
  'the running prompt file in another case',
  'a file in another form of Unicode',
  'two files that elsewhere are one',
]
const [first, others] = [true, false].map((isCore) =>
  Object.fromEntries(Object.entries(targets).filter(([title]) => core.includes(title) === isCore)),
)

attack('answers change no protected place', { core: first ?? {}, more: () => others ?? {} }, async (target) => {
  const { path, content = 'from the model\n', work = {}, home = {}, prepare, answer, env = {} } = target
  let before: readonly string[] = []
  const { world, end } = await answered({ work, home, env }, [answer ?? writing(path, content)], (made) => {
    prepare?.(made)
    before = filesIn(made.work)
  })
  expectHeld(world, end, [1])
  expect(end.stderr).toMatch(
    /is protected|is refused|would be a prompt file|belongs to git|leads out of|there is no file|without having been shown/,
  )
  expect(filesIn(world.work)).toEqual(before)
})

it('a file is renamed to different case, and created again in different case after it was deleted', async () => {
  const work = { 'Notes.txt': 'shown\n', 'Other.txt': 'shown\n', README: 'a\n', readme: 'b\n' }
  const front = '+++\nwrite_mode = true\ncontext_globs = ["*.txt", "README", "readme"]\n+++\nDo it.\n'
  const changes = [
    '<FILE_RENAME from_path="Notes.txt" to_path="notes.txt"/>',
    '<FILE_DELETE file_path="Other.txt"/>',
    '<FILE_NEW file_path="other.txt">\nnew\n</FILE_NEW>',
    // these are two files here, and both were shown
    '<FILE_NEW file_path="readme">\nc\n</FILE_NEW>',
  ]
  const answer = `<FILE_CHANGES>\n${changes.join('\n')}\n</FILE_CHANGES>\n`
  const { world, end } = await answered({ work: { ...work, 'ask.md': front } }, [answer])
  expectHeld(world, end, [0])
  expect(readdirSync(world.work).toSorted()).toEqual([
    '.git',
    '.keep',
    'README',
    'ask.md',
    'notes.txt',
    'other.txt',
    'readme',
  ])
})

attack(
  'answers change none of our own folders where these are inside of the workspace',
  {
    core: { trust: 'own/data/trust.json' },
    more: () => ({
      config: 'own/config/config.toml',
      'a pack of the user': 'own/data/packs/a/b/main.txt',
      'a recorded run': 'own/state/runs/x/y/journal',
      'compiled code': 'own/cache/code/x',
    }),
  },
  async (path) => {
    const server = await startModelServer(() => ({ text: writing(path) }))
    try {
      const world = createWorld({ work: { 'ask.md': '+++\nwrite_mode = true\n+++\nDo it.\n', '.git/HEAD': '' } })
      const env = { BATON_HOME: join(world.work, 'own'), BATON_GATEWAY_URL: server.url }
      const end = await world.run(['ask.md', '-m', 'any'], { env })
      expectHeld(world, end, [1])
      expect(end.stderr).toContain('is protected')
      expect(existsSync(join(world.work, path))).toBe(false)
    } finally {
      await server.close()
    }
  },
)

describe('what answers may change', () => {
  it.each<readonly [string, Target]>([
    ['a new manifest without scripts for installing', { path: 'package.json', content: '{"scripts":{"test":"x"}}\n' }],
    ['Markdown with front matter of another program', { path: 'post.md', content: '---\ntitle: x\n---\nText.\n' }],
    ['a page of a site', { path: 'post.md', content: '+++\ntitle = "x"\ntemplate = "page.html"\n+++\nText.\n' }],
    ['a name with a tilde', { path: 'src/a~.ts' }],
    ['an ignore file', { path: '.gitignore' }],
    ['a name in another script', { path: 'docs/\u65e5\u672c\u8a9e.md' }],
  ])('%s', async (_, { path, content = 'from the model\n' }) => {
    const { world, end } = await answered({}, [writing(path, content)])
    expectHeld(world, end, [0])
    expect(readFileSync(join(world.work, path), 'utf8')).toBe(content)
  })

  it('includes the names in [changes] allow of the user, as the refusal says', async () => {
    const paths = ['src/a.lua', 'docs/next.md', '.envrc', '.github/workflows/ci.yml']
    const answer = paths.map((path) => writing(path, path.endsWith('.md') ? prompt : undefined)).join('')
    const refused = await answered({}, [answer])
    expectHeld(refused.world, refused.end, [1])
    expect(refused.end.stderr).toContain('config.toml, below [changes]: allow = ["src/a.lua"]')

    const server = await startModelServer(() => ({ text: answer }))
    try {
      const world = createWorld({
        work: { 'ask.md': '+++\nwrite_mode = true\n+++\nDo it.\n', '.git/HEAD': '' },
        env: { BATON_GATEWAY_URL: server.url },
      })
      mkdirSync(join(world.state, 'config'), { recursive: true })
      const allow = `[changes]\nallow = ["src/*.lua", "docs/**", ".envrc", ".github/workflows/**", "ask.md", ".git/**"]\n`
      writeFileSync(join(world.state, 'config/config.toml'), allow)
      const end = await world.run(['ask.md', '-m', 'any'])
      expectHeld(world, end, [0])
      for (const path of paths) expect(existsSync(join(world.work, path)), path).toBe(true)
    } finally {
      await server.close()
    }
  })

  it('cannot be extended by a folder or the prompt file', async () => {
    const allow = '[changes]\nallow = ["**"]\n'
    for (const work of [{ 'baton.toml': allow }, { 'ask.md': `+++\nwrite_mode = true\n${allow}+++\nDo it.\n` }]) {
      const { world, end } = await answered({ work }, [writing('.envrc')])
      expectHeld(world, end, [6])
      expect(end.stderr).toContain('changes.allow')
      expect(existsSync(join(world.work, '.envrc'))).toBe(false)
    }
  })

  it('includes a workflow that was shown to the model', async () => {
    const workflow = '.github/workflows/ci.yml'
    const ask = `+++\nwrite_mode = true\ncontext_globs = ["${workflow}"]\n+++\nDo it.\n`
    const { world, end } = await answered({ work: { 'ask.md': ask, [workflow]: 'on: push\n' } }, [writing(workflow)])
    expectHeld(world, end, [0])
    expect(readFileSync(join(world.work, workflow), 'utf8')).toBe('from the model\n')
  })
})

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => `${file} ${readFileSync(file, 'latin1')}`)
    .toSorted()
}
