import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { type Asked, shippedWorld, type Tree, type World } from './shipped.ts'

// these tests spawn the command
vi.setConfig({ testTimeout: 60_000 })

const folder = join(root, 'pipelines')
const pipelines = readdirSync(folder).filter((name) => name.endsWith('.md'))
const agents = readdirSync(join(root, 'agents')).filter((name) => name.endsWith('.aip'))
const modules = readdirSync(join(root, 'agents/lua'))

/** The files of a small project. */
const project: Tree = {
  'README.md': '# Adder\n\nAdds numbers. It starts at src/add.js.\n',
  'package.json': '{ "type": "module", "scripts": { "test": "node --test" } }\n',
  'src/add.js': 'export function add(a, b) {\n  return a + b\n}\n',
  'src/twice.js': 'export function twice(a) {\n  return a + a\n}\n',
  'test/add.test.js': 'import "../src/add.js"\n',
}

/** The project with a pipeline in it, for a user with a key: no model is named. */
async function world(name: string, answer: (asked: Asked) => string): Promise<World> {
  const files = { ...project, [name]: readFileSync(join(folder, name), 'utf8') }
  const made = await shippedWorld(files, answer, (url) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: 'test-key' }))
  made.git('init', '-q')
  made.git('add', '.')
  made.git('commit', '-qm', 'start')
  return made
}

/** Answers for some requests; the keys are text from the request that identifies who asks. */
function answers(of: Readonly<Record<string, string>>): (asked: Asked) => string {
  return ({ text }) => Object.entries(of).find(([piece]) => text.includes(piece))?.[1] ?? 'An answer.'
}

const newFile = (path: string, content: string): string =>
  `Done.\n\n<FILE_CHANGES>\n<FILE_NEW file_path="${path}">\n${content}\n</FILE_NEW>\n</FILE_CHANGES>`

/** Commits everything under the name that later commits of the command also use. */
function commitAs(git: World['git'], message: string): void {
  git('config', 'user.name', 'Test')
  git('config', 'user.email', 'test@example.com')
  git('add', '.')
  git('commit', '-qm', message)
}

describe('the pipelines', () => {
  it('have cassettes without names of folders on the recording machine', () => {
    const cassettes = join(folder, 'cassettes')
    const named = readdirSync(cassettes).flatMap((name) => {
      const text = readFileSync(join(cassettes, name), 'utf8')
      return [...text.matchAll(/(?<![\w.»-])\/(?:tmp|root|home|Users|work|var\/folders)\/[^\s"\\]*/g)].map(
        ([path]) => `${name}: ${path}`,
      )
    })
    expect(named).toEqual([])
  })

  it('describe what they do and how to adapt them, and pass check, as do agents and their modules', async () => {
    for (const name of pipelines) {
      const [, comment = ''] = /^\+\+\+\n((?:#.*\n)+)/.exec(readFileSync(join(folder, name), 'utf8')) ?? []
      expect(comment, name).toContain('# To adapt: ')
    }
    const files = [
      ...pipelines.map((name) => `pipelines/${name}`),
      ...agents.map((name) => `agents/${name}`),
      ...modules.map((name) => `agents/lua/${name}`),
    ]
    const { code, stdout } = await baton(['check', ...files], { cwd: root })
    expect(stdout).toBe(files.map((file) => `ok ${file}\n`).join(''))
    expect(code).toBe(0)
  })

  it('pass their tests, offline and without a model', async () => {
    const { code, stdout } = await baton(['test', 'pipelines'], { cwd: root })
    expect(stdout).toMatch(/^11 passed \(11 tests, 10 files\)$/m)
    expect(code).toBe(0)
  })

  it('coder changes files and suggests a commit message', async () => {
    const { run, read } = await world(
      'coder.md',
      answers({ 'commit message': 'Comment add', FILE_CHANGES: newFile('src/note.js', '// adds') }),
    )
    const { code, stdout, stderr } = await run('coder.md')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    expect(read('src/note.js')).toBe('// adds\n')
    expect(stderr).toContain('[commit-suggester] commit message:\nComment add\n')
  })

  it('review-diff asks about the differences, checks the references, and writes nothing', async () => {
    const { run, write, asked, git } = await world('review-diff.md', () => 'Wrong: src/add.js:2 and src/add.js:9.')
    expect((await run('review-diff.md')).stderr).toContain('no changes since HEAD')
    write({ 'src/add.js': 'export function add(a, b) {\n  return a - b\n}\n' })
    const before = git('status', '--porcelain')
    const { stdout } = await run('review-diff.md')
    expect(asked()[0]?.text).toContain('-  return a + b\n+  return a - b\n')
    expect(stdout).toContain('References that do not exist: src/add.js:9 (the file has 3 lines).')
    expect(git('status', '--porcelain')).toBe(before)
  })

  it('map-reduce-files asks about each file and joins the answers', async () => {
    const { run, read, asked } = await world('map-reduce-files.md', answers({ 'Merge these notes': 'All add.' }))
    const { code, stdout } = await run('map-reduce-files.md')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '==> src/add.js <==\nAn answer.\n\n==> src/twice.js <==\nAn answer.\n',
    })
    expect(read('summary.md')).toBe('All add.\n')
    expect(asked()).toHaveLength(3)
  })

  it('explain-repo works without a model', async () => {
    const made = await shippedWorld(
      { ...project, 'explain-repo.md': readFileSync(join(folder, 'explain-repo.md'), 'utf8') },
      () => '',
      () => ({}),
    )
    const { code, stdout } = await made.run('explain-repo.md', '-m', 'offline::extractive')
    expect(code).toBe(0)
    expect(stdout).toContain('### README.md:')
    expect(stdout).toMatch(/References: \d+ checked, all exist\./)
  })

  it('release-notes writes a note for each commit, combines them, and checks the result', async () => {
    const { run, asked, git } = await world(
      'release-notes.md',
      answers({
        'Check the draft': 'The notes, checked.',
        'Write the release notes': 'The notes.',
        'the second commit': 'internal',
        'Say in one sentence': 'Added: a thing.',
      }),
    )
    git(
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      'the second commit',
      '-m',
      'commit messages may say commit 1234 in a line',
    )
    const { code, stdout } = await run('release-notes.md', '--var', `commits=${git('log', '--stat')}`)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'The notes, checked.\n' })
    const texts = asked().map(({ text }) => text)
    expect(texts).toHaveLength(4)
    expect(texts.some((text) => text.includes('src/twice.js') && text.includes('Say in one sentence'))).toBe(true)
    expect(texts[2]).toContain(
      'Release notes for the users of this project, in Markdown.\n\n- internal\n- Added: a thing.',
    )
    expect(texts[3]).toContain('# Notes\n\ninternal\n\nAdded: a thing.\n\n# Draft\n\nThe notes.')
  })

  it('write-tests writes tests and runs them', async () => {
    const content = 'import { test } from "node:test"\ntest("fails", () => { throw new Error("no") })'
    const { run, read } = await world('write-tests.md', () => newFile('test/twice.test.js', content))
    const { code, stdout, stderr } = await run('write-tests.md')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    expect(read('test/twice.test.js')).toBe(`${content}\n`)
    expect(stderr).toContain('[test-runner] `npm test` failed with exit code 1')
  })

  it('iterate-refine changes code until the tests pass, and commits each iteration', async () => {
    const failing =
      'import assert from "node:assert"\nimport { twice } from "../src/twice.js"\nassert.equal(twice(4), 9)\n'
    const twice = (body: string): string => newFile('src/twice.js', `export const twice = (a) => ${body}`)
    const { run, read, write, asked, git } = await world('iterate-refine.md', ({ text }) =>
      twice(text.includes('<task_context>') ? 'a + a + 1' : 'a * a'),
    )
    write({ 'test/twice.test.js': failing })
    commitAs(git, 'a failing test')
    const { code, stdout, stderr } = await run('iterate-refine.md')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    expect(stderr).toContain('Iterations: 2/2 succeeded (0 failed), condition met')
    expect(read('src/twice.js')).toBe('export const twice = (a) => a + a + 1\n')
    expect(git('log', '--format=%s', '-3')).toBe(
      '[iter-1] Iteration 1 changes\n[iter-0] Iteration 0 changes\na failing test\n',
    )
    expect(git('status', '--porcelain')).toBe('')
    expect(asked()[1]?.text).toMatch(/Check: npm test: exit code 1\n[^]*16[^]*9[^]*<\/task_context>/)
  })

  it('iterate-score restores the best state, and tells the model when its change produced no score', async () => {
    const sources = ['export const twice = (a) => a + a', 'throw 1', 'export const twice = (number) => number + number']
    let answered = 0
    const { run, read, write, asked, git } = await world('iterate-score.md', () =>
      newFile('src/twice.js', sources[answered++] ?? ''),
    )
    write({ 'test/twice.test.js': 'import "../src/twice.js"\n' })
    commitAs(git, 'a test')
    const { code, stderr } = await run('iterate-score.md', '--iter', '3')
    expect(code).toBe(0)
    expect(read('src/twice.js')).toBe(`${sources[0]}\n`)
    const [before, size] = [project['src/add.js'] ?? '', sources[0] ?? ''].map((text) => text.length)
    expect(git('log', '--format=%s', '-1')).toBe(
      `[iter-best] Restore the state of iteration 0 (score ${(before ?? 0) + (size ?? 0) + 1})\n`,
    )
    expect(git('status', '--porcelain')).toBe('')
    expect(stderr).toContain('restored the files from iteration 0')
    expect(asked()[2]?.text).toMatch(
      /### Iteration 1 → commit \w{9}\n[^]*Check: npm test [^\n]*: exit code 1\n[^]*<\/task_context>/,
    )
  })
})
