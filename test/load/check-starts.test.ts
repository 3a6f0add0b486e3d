import { describe, expect, it, onTestFinished } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import { startRun, type StartOptions } from '../../src/runner.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const asking = '# User\n\nJoin them.\n\n# Output\n\n```lua\nreturn { agent_result = ai_response.content }\n```\n'

function withOptions(options: string): string {
  return `# Options\n\n\`\`\`toml\n${options}\n\`\`\`\n\n${asking}`
}

/** Runs `main.md` against a server that accepts every name; `asked` are the names in order. */
async function runFiles(files: Readonly<Record<string, string>>, options: Partial<StartOptions> | 'without -m' = {}) {
  const server = await startModelServer(() => ({ text: 'fine' }))
  onTestFinished(() => server.close())
  const folder = tempTree({ '.git/HEAD': '', ...files })
  const env = { BATON_HOME: `${folder}/.state`, BATON_LOCAL_SERVERS: 'off', OPENAI_BASE_URL: server.url }
  const events: RunEvent[] = []
  const flags = options === 'without -m' ? {} : { model: 'flag', ...options }
  const given = { cwd: folder, env, home: folder, ...flags }
  const report = await startRun('main.md', given, (event) => events.push(event))
  return { report, events, asked: server.requests.map(({ body }) => body?.model) }
}

const main = (entry: string): string => `+++\nsub_agents = [${entry}]\n+++\nSay fine.\n`

describe('an agent that names no model', () => {
  it('uses the model of the file that runs it, also if a flag sets it', async () => {
    const named = '+++\nmodel = "written"\nsub_agents = [{ name = "sum.aip", stage = "post" }]\n+++\nSay fine.\n'
    const files = { 'main.md': named, 'sum.aip': asking }
    expect((await runFiles({ ...files, 'main.md': main('{ name = "sum.aip", stage = "post" }') })).asked).toEqual([
      'flag',
      'flag',
    ])
    expect((await runFiles(files, 'without -m')).asked).toEqual(['written', 'written'])
    expect((await runFiles(files)).asked).toEqual(['flag', 'written'])
  })

  it('uses a model of its own, and that of its entry', async () => {
    const entries =
      '{ name = "own.aip", stage = "post" }, { name = "sum.aip", stage = "post", options = { model = "entry" } }'
    const files = { 'main.md': main(entries), 'own.aip': withOptions('model = "own"'), 'sum.aip': asking }
    expect((await runFiles(files)).asked).toEqual(['flag', 'own', 'entry'])
  })

  it('uses it also below a prompt file, whose own model has priority', async () => {
    const child = (more: string): string =>
      `+++\n${more}sub_agents = [{ name = "sum.aip", stage = "post" }]\n+++\nSay more.\n`
    const entry = '{ name = "plain.md", as = "append" }, { name = "named.md", as = "append" }'
    const files = {
      'main.md': main(entry),
      'plain.md': child(''),
      'named.md': child('model = "child"\n'),
      'sum.aip': asking,
    }
    expect((await runFiles(files)).asked).toEqual(['flag', 'flag', 'child', 'child', 'flag'])
  })

  it('uses it when a script runs it', async () => {
    const files = {
      'main.md': main('"call.lua"'),
      'call.lua': 'aip.agent.run("sum.aip", { input = {} })',
      'sum.aip': asking,
    }
    expect((await runFiles(files)).asked).toEqual(['flag', 'flag'])
  })
})

describe('before anything is paid,', () => {
  it.each([
    ['its own', '{ name = "late.aip", stage = "post" }', withOptions('model = "anthropic::claude"')],
    ['that of its entry', '{ name = "late.aip", stage = "post", options = { model = "anthropic::claude" } }', asking],
    [
      'its first and its other ones',
      '{ name = "late.aip", stage = "post_task" }',
      withOptions('model = "anthropic::a"\nfallback_models = ["gemini::b"]'),
    ],
  ])('a missing key of an agent is reported, of the model that is %s', async (_, entry, agent) => {
    const { report, asked } = await runFiles({ 'main.md': main(entry), 'late.aip': agent })
    expect([report.exitCode, asked]).toEqual([3, []])
    expect(report.error).toMatchObject({ code: 'KEY_MISSING', place: { line: 2 } })
  })

  it('an unavailable model below a prompt file is reported', async () => {
    const child = '+++\nsub_agents = [{ name = "late.aip", stage = "post" }]\n+++\nSay more.\n'
    const files = {
      'main.md': main('{ name = "child.md", stage = "post" }'),
      'child.md': child,
      'late.aip': withOptions('model = "gemini::"'),
    }
    const { report, asked } = await runFiles({ ...files, 'late.aip': withOptions('model = "anthropic::x"') })
    expect([report.exitCode, asked]).toEqual([3, []])
  })

  it.each([
    ['late.lua', 'return {'],
    ['late.aip', '# Output\n\n```lua\nreturn (\n```\n'],
    ['late.aip', withOptions('temperature = "hot"')],
  ])('an agent that cannot start is reported: %s %j', async (name, text) => {
    const { report, asked } = await runFiles({ 'main.md': main(`{ name = "${name}", stage = "post" }`), [name]: text })
    expect([report.stopReason, asked]).toEqual(['error', []])
    expect(report.error).toMatchObject({ place: { file: expect.stringContaining(name) } })
  })

  it.each([
    ['the summarizer of iterations', '[iterate]\ncondition = "2"\nsummarizer = "late.lua"'],
    ['a worker', '[delegate]\nworkers = ["late.lua"]'],
    [
      'what joins the answers',
      '[ensemble]\naggregator = "late.lua"\n[[ensemble.agents]]\nmodel = "a"\n[[ensemble.agents]]\nmodel = "b"',
    ],
  ])('%s that cannot start is reported', async (_, table) => {
    const { report, asked } = await runFiles({ 'main.md': `+++\n${table}\n+++\nSay fine.\n`, 'late.lua': 'return {' })
    expect([report.stopReason, asked]).toEqual(['error', []])
    expect(report.error).toMatchObject({ place: { file: expect.stringContaining('late.lua') } })
  })

  it('a missing price for the model of an agent is reported if dollars are limited', async () => {
    const overrides = ['budget.usd=1']
    const files = {
      'main.md': main('{ name = "late.aip", stage = "post" }'),
      'late.aip': withOptions('model = "dear"'),
    }
    const { report, asked } = await runFiles(files, { overrides })
    expect([report.exitCode, asked]).toEqual([4, []])
  })

  it('nothing is reported about decisions of a script, disabled agents, or in a dry run', async () => {
    const deciding = `${withOptions('model = "anthropic::x"')}\n# Data\n\n\`\`\`lua\nreturn aip.flow.data_response({ options = { model = "free" } })\n\`\`\`\n`
    const files = {
      'main.md': main('{ name = "late.aip", stage = "post" }, { name = "off.aip", stage = "post", enabled = false }'),
      'late.aip': deciding,
      'off.aip': withOptions('model = "anthropic::x"'),
    }
    expect((await runFiles(files)).asked).toEqual(['flag', 'free'])
    const broken = { ...files, 'late.aip': withOptions('model = "anthropic::x"') }
    expect((await runFiles(broken, { dry: 'req' })).report.error).not.toMatchObject({ code: 'KEY_MISSING' })
  })
})

it('a run without any model ends with exit code 3, unless it is interactive or names the offline model', async () => {
  const plain = { 'main.md': 'Say fine.\n' }
  const alone = (files: Readonly<Record<string, string>>, options: Partial<StartOptions> = {}) => {
    const folder = tempTree(files)
    const env = { BATON_HOME: `${folder}/.state`, BATON_LOCAL_SERVERS: 'off' }
    return startRun('main.md', { cwd: folder, env, home: folder, ...options }, () => undefined)
  }
  const refused = await alone(plain)
  expect(refused).toMatchObject({ exitCode: 3, error: { code: 'KEY_MISSING' } })
  expect((await alone(plain, { isAttended: true })).exitCode).toBe(0)
  expect((await alone({ 'main.md': '+++\nmodel = "offline::extractive"\n+++\nSay fine.\n' })).exitCode).toBe(0)
})
