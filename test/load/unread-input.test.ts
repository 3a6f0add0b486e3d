import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startRun, type StartOptions } from '../../src/runner.ts'
import { inputsOf } from '../../src/wiring/load-run.ts'
import { loadTargetFor } from '../../src/load/target.ts'
import { packageRoot } from '../../src/package-root.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { strategies } from '../../src/strategies/strategies.ts'

const definition = '---\nname: rev\ndescription: Reviews.\ntools: Read, Grep\n---\n\nYou are a reviewer.\n'

async function world(files: Readonly<Record<string, string>> = {}) {
  const server = await startModelServer(() => ({ text: 'fine' }))
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const env = { BATON_HOME: `${cwd}/.state`, BATON_GATEWAY_URL: server.url, MY_API_KEY: 'k' }
  const asked = () =>
    server.requests.map(({ body }) => (body?.messages ?? []).map(({ role, content }) => [role, content] as const))
  const around = { cwd, env, home: cwd, model: 'm' }
  const run = (file: string, options: Partial<StartOptions>) =>
    startRun(file, { ...around, ...options }, () => undefined)
  return { around, asked, run }
}

it('an input that a prompt file never reads is an error before anything is paid', async () => {
  const files = {
    'plain.md': '+++\nmodel = "m"\n+++\nSum up.\n',
    'off.md': '+++\nsub_agents = [{ name = "reviewer", enabled = false }]\n+++\nSum up.\n',
    'many.md': '+++\n[[ensemble.agents]]\nmodel = "a"\n[[ensemble.agents]]\nmodel = "b"\n+++\nSum up.\n',
  }
  const { run, asked } = await world(files)
  for (const [file, line] of [
    ['plain.md', 4],
    ['off.md', 4],
    ['many.md', 7],
  ] as const) {
    const { exitCode, error } = await run(file, { inputs: ['ZEBRA'] })
    expect([exitCode, error]).toEqual([
      2,
      expect.objectContaining({
        code: 'USAGE',
        message: `an input (-i) is given, but nothing in ${file} reads it`,
        place: expect.objectContaining({ file, line }),
        hint: expect.stringContaining('{{input}}'),
      }),
    ])
  }
  expect(await run('-p', { text: 'Sum up.', inputs: ['ZEBRA'] })).toMatchObject({
    exitCode: 2,
    error: { code: 'USAGE' },
  })
  expect(asked()).toEqual([])
})

it('a template, a sub-agent, and an agent in place of the model read the input', async () => {
  const { run } = await world({
    'template.md': '+++\ntemplate = true\n+++\nSum up {{input}}.\n',
    'chain.md': '+++\nsub_agents = [{ name = "a.lua", stage = "post" }]\n+++\nSum up.\n',
    'answer.md': '+++\nagent = "b.lua"\n+++\nSum up.\n',
    'a.lua': 'return nil',
    'b.lua': 'return input.input',
  })
  for (const file of ['template.md', 'chain.md', 'answer.md'])
    expect((await run(file, { inputs: ['ZEBRA'] })).exitCode, file).toBe(0)
})

it('the input of an agent definition is the user message, and its text the system message', async () => {
  const files = {
    'agents/rev.md': definition,
    '.claude/agents/rev.md': definition,
    'baton.toml': '[agents.reader]\ndescription = "d"\ninstructions = "Answer briefly."\n[agents.bare]\nmodel = "m"\n',
  }
  const { run, asked } = await world(files)
  const names = ['rev', '.claude/agents/rev.md', 'reader', 'Explore', 'bare']
  for (const name of names) expect((await run(name, { inputs: ['ZEBRA'] })).exitCode, name).toBe(0)
  const texts = ['You are a reviewer.', 'You are a reviewer.', 'Answer briefly.', '', '']
  for (const [index, messages] of asked().entries()) {
    expect(messages.at(-1), names[index]).toEqual(['user', 'ZEBRA'])
    expect(messages[0]?.[1]).toContain(texts[index])
    expect(messages).toHaveLength(2)
  }
  expect(asked()).toHaveLength(names.length)
})

it('a recorded run of a version that ignored such inputs still ignores them', async () => {
  const { around } = await world({ 'plain.md': 'Sum up.\n', 'agents/rev.md': definition })
  const recorded = { cwd: around.cwd, inputs: ['ZEBRA'], onFiles: [], overrides: [], vars: [], patienceMs: 0, env: {} }
  const options = { ...around, builtInDir: join(packageRoot(), 'agents'), flags: { overrides: [] } }
  for (const file of ['plain.md', 'agents/rev.md']) {
    const old = await loadTargetFor(inputsOf({ ...recorded, file }), { strategies, ...options, file })
    expect(old).not.toHaveProperty('inputsAreMessages')
  }
  const now = inputsOf({ ...recorded, file: 'plain.md', readsInputs: true })
  await expect(loadTargetFor(now, { strategies, ...options, file: 'plain.md' })).rejects.toMatchObject({
    code: 'USAGE',
  })
})

it('inputs and files of a file whose steps or items are the tasks are refused before its chain runs', async () => {
  const chain = 'sub_agents = ["reviewer"]\n'
  const { run, asked } = await world({
    'flow.md': `+++\n${chain}[[workflow.step]]\nid = "a"\ninstructions = "Go."\n+++\nDo it.\n`,
    'team.md': `+++\n${chain}[delegate]\n+++\nDo it.\n`,
    'files.md': '+++\nworking_globs = ["*.md"]\n+++\nDo it.\n',
  })
  const messages = async (given: Partial<StartOptions>, files: readonly string[]) =>
    Promise.all(files.map(async (file) => ((await run(file, given)).error as Error).message))
  expect(await messages({ inputs: ['ZEBRA'] }, ['flow.md', 'team.md', 'files.md'])).toEqual([
    expect.stringContaining('-i and [workflow] cannot be combined'),
    expect.stringContaining('-i and [delegate] cannot be combined'),
    expect.stringContaining('-i and working_globs cannot be combined'),
  ])
  expect(await messages({ onFiles: ['*.md'] }, ['flow.md', 'team.md'])).toEqual([
    expect.stringContaining('-f and [workflow] cannot be combined'),
    expect.stringContaining('-f and [delegate] cannot be combined'),
  ])
  expect(asked()).toEqual([])
})
