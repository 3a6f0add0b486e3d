import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempTree } from '../../helpers/temp.ts'
import {
  cache,
  changes,
  createWorld,
  fileNew,
  filePatch,
  paths,
  promptFile,
  promptHead,
  promptText,
  type WorldOptions,
} from './world.ts'

const source = 'function greet() {\n  return 1;\n}\nmodule.exports = { greet };\n'
const rename = filePatch(
  'src/a.js',
  '@@\n-function greet() {\n+function hello() {\n   return 1;\n@@\n-module.exports = { greet };\n+module.exports = { hello };',
)
const answer = `<run_label>Rename greet</run_label>
<commit_command>git commit -am "rename"</commit_command>
<show label="Look:" priority="9">at the changelog</show>

Some explanation.

${changes(rename, fileNew('CHANGELOG.md', '# Changelog'))}

Done.
`

/** P01, P06 and P07: one request, working groups, and a run that may not write. */
export function editingScenarios(engine: WorldOptions['engine']): void {
  it('edits and creates files, and writes the answer below the prompt', async () => {
    const head = promptHead(
      'model: mock\nwrite_mode: true\ninput_concurrency: 1\ncontext_globs:\n  - src/**/*.*\nstructure_globs:\n  - "**/*"',
      'Rename greet to hello and add a changelog.\n> a note to myself',
    )
    const world = createWorld(
      { 'src/a.js': source, 'README.md': '# hi\n', [promptFile]: `${head}\n====\n> old note\n\nold answer\n` },
      { engine },
    )
    const run = await world.run(['mini@coder'], { mock: answer })

    expect(run.stderr).not.toContain('error')
    expect(run.code).toBe(0)
    expect(run.asked).toHaveLength(1)
    const [asked] = run.asked
    expect(asked?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'user', 'user'])
    expect(asked?.text).toContain('<context-file path="src/a.js">\n// file: src/a.js\nfunction greet() {')
    expect(asked?.text).toContain('- README.md\n- src/\n  - a.js')
    for (const absent of ['old answer', 'a note to myself', '<knowledge-file', '<working-file', 'cache =']) {
      expect(asked?.text).not.toContain(absent)
    }

    expect(world.read('src/a.js')).toBe(source.replaceAll('greet', 'hello'))
    expect(world.read('CHANGELOG.md')).toBe('# Changelog\n')
    const prompt = world.read(promptFile)
    expect(prompt.startsWith(`${head}\n====\n>  Info: Duration: `)).toBe(true)
    expect(prompt).toContain(
      '> Files: Context Files: 1 | Working Files: 0 | Knowledge Files: 0\n>  Note: write_mode is true\n',
    )
    expect(prompt).toMatch(/\n\nSome explanation\.\s+Done\.\n$/)
    expect(prompt).not.toContain('FILE_CHANGES')
    expect(world.read(`${cache}/raw-answers.md`)).toContain('<FILE_CHANGES>')
    expect(world.read(`${cache}/request-files.md`)).toBe('file_content_mode: udiffx\n- src/a.js\n')
    expect(run.stdout).toContain(
      'Context Files: 1 | Working Groups: 0 | Knowledge Files: 0\n(Write Mode: true, Concurrency: 1)\n',
    )
    expect(run.stderr).toContain('Done: 2 files changed\nA → CHANGELOG.md\nM → src/a.js\n')
    expect(run.stderr).toContain('Commit: git commit -am "rename"\n')
    expect(run.stderr).toContain('Look: at the changelog\n')
  })

  it('asks once for each working group, with its files removed from the context', async () => {
    const meta =
      'model: mock\ninput_concurrency: 1\nworking_globs: ["src/*.js", ["lib/*.js"]]\ncontext_globs: ["src/*.js", "doc.md"]'
    const world = createWorld(
      {
        'src/a.js': 'a',
        'src/b.js': 'b',
        'lib/c.js': 'c',
        'lib/d.js': 'd',
        'doc.md': 'd',
        [promptFile]: promptText(meta, 'Fix.'),
      },
      { engine },
    )
    const run = await world.run(['mini@coder'], {
      mock: (asked) => changes(`<FILE_APPEND file_path="${paths(asked, 'working-file')[0]}">\n+\n</FILE_APPEND>`),
    })

    expect(run.code).toBe(0)
    expect(run.asked.map((asked) => paths(asked, 'working-file'))).toEqual([
      ['src/a.js'],
      ['src/b.js'],
      ['lib/c.js', 'lib/d.js'],
    ])
    expect(run.asked.map((asked) => paths(asked, 'context-file'))).toEqual([
      ['src/b.js', 'doc.md'],
      ['src/a.js', 'doc.md'],
      ['src/a.js', 'src/b.js', 'doc.md'],
    ])
    expect(world.read('src/a.js')).toBe('a+\n')
    expect(['src/b.js', 'lib/c.js', 'lib/d.js'].map((path) => world.read(path))).toEqual(['b+\n', 'c+\n', 'd'])
    expect(world.read(promptFile).match(/^====$/gm)).toHaveLength(3)
    expect(run.stdout).toContain('Context Files: 3 | Working Groups: 3 | Knowledge Files: 0')
    expect(run.stdout.match(/Working Files: 2/g)).toHaveLength(1)
  })

  it('uses knowledge from outside the workspace, by an absolute glob and below ~/', async () => {
    const outside = tempTree({ 'deep/k.md': 'absolute', 'node_modules/x.md': 'never', 'k.txt': 'never' })
    const meta = `model: mock\nwrite_mode: false\nknowledge_globs: ["${outside}/**/*.md", "~/notes/*.md"]`
    const world = createWorld(
      { [promptFile]: promptText(meta, 'Look.') },
      { engine, userFiles: { 'notes/h.md': 'at home' } },
    )
    const run = await world.run(['mini@coder'], { mock: 'An answer' })
    expect(run.code).toBe(0)
    expect(run.asked.map((asked) => paths(asked, 'knowledge-file'))).toEqual([[`${outside}/deep/k.md`, '~/notes/h.md']])
    expect(run.asked[0]?.text).toMatch(/absolute[\s\S]*at home/)
  })

  it('skips a group that is too large, and After All gets null in its place', async () => {
    const meta = 'model: mock\ninput_concurrency: 1\nmax_files_size_kb: 1\nworking_globs: ["src/*.txt"]'
    const world = createWorld(
      { 'src/a.txt': 'a', 'src/b.txt': 'x'.repeat(1500), 'src/c.txt': 'c', [promptFile]: promptText(meta, 'Fix.') },
      { engine },
    )
    const run = await world.run(['mini@coder'], { mock: 'No change.' })
    expect(run.code).toBe(0)
    expect(run.asked.map((asked) => paths(asked, 'working-file'))).toEqual([['src/a.txt'], ['src/c.txt']])
    expect(run.stdout).toContain('Skipped: 1 of 3\n')
  })

  it('passes its last answer to a run that may not write, and changes nothing', async () => {
    const change = changes(fileNew('x.txt', 'no'))
    const below = '> q1\n> q2\n\nPrevious answer\n'
    const world = createWorld(
      { [promptFile]: promptText('model: mock\nwrite_mode: false', 'Question?', below) },
      { engine },
    )
    const run = await world.run(['mini@coder'], { mock: `An answer\n${change}` })

    expect(run.code).toBe(0)
    const [asked] = run.asked
    expect(asked?.text).toContain('Previous answer')
    expect(asked?.text).not.toContain('> q1')
    expect(asked?.messages[0]?.content).not.toMatch(/FILE_CHANGES|commit_command/)
    expect(existsSync(join(world.folder, 'x.txt'))).toBe(false)
    expect(world.read(promptFile)).toContain(`>  Note: write_mode is false\n\nAn answer\n${change}\n`)
    expect(run.stdout).toContain('(Write Mode: false, Concurrency: 2)')
    expect(run.stderr).toContain('Done: No file was changed, because write_mode is false\n')
  })

  it('applies search and replace blocks and names the one that was not found', async () => {
    const edit = (path: string, search: string, replace: string): string =>
      `<edit path="${path}">\n<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE\n</edit>`
    const meta = 'model: mock\nbase_dir: src\nfile_content_mode: search_replace\ncontext_globs: ["*.js"]'
    const world = createWorld(
      { 'src/a.js': source, 'src/b.js': 'b\n', [promptFile]: promptText(meta, 'Change.') },
      { engine },
    )
    const run = await world.run(['mini@coder'], {
      mock: `Here:\n${edit('a.js', '  return 1;', '  return 2;')}\n${edit('b.js', 'not there', 'x')}`,
    })

    expect(run.code).toBe(0)
    expect(run.asked.map((asked) => paths(asked, 'context-file'))).toEqual([['a.js', 'b.js']])
    expect(world.read('src/a.js')).toBe(source.replace('1', '2'))
    expect(world.read('src/b.js')).toBe('b\n')
    expect(run.stderr).toContain('WARNING some changes could not be applied\n')
    expect(world.read(`${cache}/failed-changes.md`)).toBe('## b.js\n\nSearch block not found in content\n')
  })

  it('sends attached files before the sections, and mentions a missing one', async () => {
    const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1])
    const meta = 'model: mock\nattachments: [{ file_source: docs/plan.txt, title: The plan }]'
    const instruction = 'See ![a screen](shot.png) and ![gone](gone.png), not ![far](https://example.com/x.png).'
    const world = createWorld(
      {
        [promptFile]: promptText(meta, instruction),
        [promptFile.replace('prompt.md', 'shot.png')]: png,
        'docs/plan.txt': 'PLAN',
      },
      { engine },
    )
    const run = await world.run(['mini@coder'], { mock: 'Seen.' })
    const messages = run.asked[0]?.messages ?? []
    expect(messages.map(({ role }) => role)).toEqual(['user', 'user', 'user', 'system', 'user'])
    expect(JSON.stringify(messages[0]?.content)).toContain(`data:image/png;base64,${png.toString('base64')}`)
    expect(messages[1]?.content).toContain('It could not be read')
    expect(messages[2]?.content).toMatch(/The plan[\s\S]*PLAN/)
  })
}
