import { expect, it } from 'vitest'
import { snapshot } from '../../helpers/baton.ts'
import { createWorld, home, promptFile, promptText, workbench, type WorldOptions } from './world.ts'

/** P02 and P10: the first run, and invalid settings. None of them calls a model. */
export function startScenarios(engine: WorldOptions['engine']): void {
  it('creates a file for a person to edit, asks no model and says how to continue', async () => {
    const world = createWorld({}, { engine })
    const first = await world.run(['mini@coder'])

    expect(first.code).toBe(0)
    expect(first.asked).toEqual([])
    expect(first.said).toContain(`The instruction is empty. Edit the prompt file:\n➜ ${promptFile}`)
    expect(world.read(promptFile)).toContain(`More: ${home}/notes/style.md`)
    const made = Object.keys(snapshot(world.folder)).filter((path) => path.startsWith(home))
    expect(made.toSorted()).toEqual([`${home}/notes/commit.md`, `${home}/notes/style.md`, promptFile])

    const before = snapshot(world.folder)
    const second = await world.run(['mini@coder'])
    expect(second.code).toBe(0)
    expect(snapshot(world.folder)).toEqual(before)
  })

  it('takes its prompt file from an input, given as a name or as a file', async () => {
    const world = createWorld({ 'plans/one.md': promptText('model: m', ''), 'src/a.js': '' }, { engine })
    const named = await world.run(['mini@coder', '-i', 'plans/one'])
    expect(named.said).toContain('➜ ./plans/one.md')
    const file = await world.run(['mini@coder', '-f', 'plans/one.md'])
    expect(file.said).toContain('➜ plans/one.md')
    expect(world.read('plans/notes/style.md')).toBe('Short sentences. No praise.\n')
  })

  it.each([
    ['a mode nobody knows', 'file_content_mode: nope', "file_content_mode 'nope' is not known"],
    [
      'a text in place of a list',
      'context_globs_pre: abc',
      'context_globs_pre must be a list of strings, but is a string',
    ],
    [
      'a number in a list',
      'knowledge_globs: ["a", 4]',
      'knowledge_globs must be a list of strings, but item 2 is a number',
    ],
    ['more bytes than allowed', 'max_files_size_kb: 1\ncontext_globs: ["big.txt"]', '2.50 KB, the limit is 1.00 KB'],
  ])('skips the run for %s', async (_, meta, reason) => {
    const files = { [promptFile]: promptText(meta, 'Go.'), 'big.txt': 'x'.repeat(2500) }
    const run = await createWorld(files, { engine }).run(['mini@coder'])
    expect(run.said).toContain(reason)
    expect(run.asked).toEqual([])
    expect(run.code).toBe(0)
  })

  it('ignores settings that are null', async () => {
    const meta =
      'model: mock\nbase_dir: null\nfile_content_mode: null\nsub_agents: null\nauto_context: null\nwrite_mode: ~'
    const world = createWorld({ [promptFile]: promptText(meta, 'Go.') }, { engine })
    const run = await world.run(['mini@coder'], { mock: 'Nothing to do.' })
    expect(run.code).toBe(0)
    expect(run.stdout).toContain('(Write Mode: true, Concurrency: 2)')
    expect(run.asked).toHaveLength(1)
    expect(world.read(`${workbench}/.cache/request-files.md`)).toBe('file_content_mode: udiffx\n')
  })

  it('isolates the variables of a section from the modules it requires, in every section', async () => {
    const world = createWorld({ [promptFile]: promptText('model: mock', 'Go.') }, { engine })
    const { stdout } = await world.run(['mini@coder'], { mock: 'Done.' })
    expect(stdout.match(/^.*modules see.*$/gm)).toEqual([
      'Before All: modules see nothing',
      'Data: modules see nothing',
      'Output: modules see nothing',
      'After All: modules see nothing',
    ])
  })
}
