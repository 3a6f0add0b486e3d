import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { closeBrowser, hasChromium, openPage } from '../helpers/browser.ts'
import { serveTree } from '../helpers/http-served.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { createWarmCommand, type WarmCommand } from '../helpers/warm-command.ts'

// The recipes of ARCHITECTURE.md, all followed in one copy of the sources, which is then built as the product is.

const copy = tempTree({})
let command: WarmCommand
beforeAll(() => {
  for (const linked of ['package.json', 'agents', 'pipelines', 'starters', 'docs', 'node_modules']) {
    symlinkSync(join(root, linked), join(copy, linked))
  }
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true })
  for (const follow of [addTool, addCommand, addMode, addSetting, addStrategy, addPanel]) follow()
  const project = join(copy, 'tsconfig.json')
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(root, 'scripts/tsconfig.build.json'),
      compilerOptions: { rootDir: 'src', outDir: 'dist', declaration: false },
      include: ['src'],
      exclude: ['src/page'],
    }),
  )
  // as the build does; node_modules/.bin/tsc may be that of an older version, which takes five times as long
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const compiled = spawnSync(process.execPath, [tsc, '-p', project, '--checkers', '1'], { encoding: 'utf8' })
  expect(compiled.stdout).toBe('')
  command = createWarmCommand(join(copy, 'dist/main.js'))
})
afterAll(async () => {
  await command.end()
  await closeBrowser()
})

/** Adds a source file. */
function add(file: string, source: string): void {
  const path = join(copy, 'src', file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, source)
}

/** Adds text to a source file, after the line that ends like this. */
function addAfter(file: string, line: string, text: string): void {
  const source = readFileSync(join(copy, 'src', file), 'utf8')
  expect(source).toContain(`${line}\n`)
  add(file, source.replace(`${line}\n`, `${line}\n${text}`))
}

/** Runs the changed build in a folder. */
function runIn(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const home = { PATH: process.env['PATH'], HOME: folder, BATON_HOME: join(folder, 'home'), BATON_LOCAL_SERVERS: 'off' }
  return command.run({ args, cwd: folder, env: { ...home, ...env } })
}

function addTool(): void {
  const row = `  count: {
    summary: 'counts the lines of a file',
    touches: 'reads',
    subject: 'path',
    initial: 'allow',
    load: async () => (await import('./count.ts')).count,
  },
`
  addAfter('tool/toolbox/rows.ts', 'const rows = {', row)
  add(
    'tool/toolbox/count.ts',
    `import { readFileSync } from 'node:fs'
import { defineTool } from './kind.ts'
import { pathSubject, permittedPath } from './paths.ts'
export const count = defineTool<{ readonly path: string }>({
  name: 'count',
  description: 'Count the lines of a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  subject: ({ path }, box) => pathSubject(path, box),
  run: (_input, { permit }) =>
    Promise.resolve({ text: \`\${readFileSync(permittedPath(permit), 'utf8').split('\\n').length - 1} lines\` }),
})
`,
  )
}

it('a tool is a row and a file, and its subjects are closed by default', async () => {
  const paths = ['a.txt', '.env', '/etc/passwd', '../other.txt']
  const toolCalls = paths.map((path, index) => ({
    id: `c${index}`,
    name: 'count',
    pieces: [JSON.stringify({ path })],
  }))
  const server = await startModelServer([{ text: '', toolCalls }, { text: 'Done.' }])
  const folder = tempTree({
    'work/ask.md': '+++\nmodel = "m"\ntools = ["count"]\n+++\nCount.\n',
    'work/baton.toml': '',
    'work/a.txt': '1\n2\n3\n',
    'work/.env': 'KEY=1\n',
    'other.txt': 'x\n',
  })
  const end = await runIn(join(folder, 'work'), ['run', 'ask.md'], { BATON_GATEWAY_URL: server.url })
  expect(end?.code, end?.stderr).toBe(0)
  const body = server.requests[1]?.body as {
    readonly messages: readonly { readonly role: string; readonly content: string }[]
  }
  const results = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  expect(results[0]).toBe('3 lines')
  for (const result of results.slice(1)) expect(result).toContain('permission denied: [permission] count.')
  expect(results).toHaveLength(paths.length)
  expect((await runIn(folder, ['list', 'tools']))?.stdout).toMatch(/count +counts the lines of a file/)
  await server.close()
})

function addCommand(): void {
  const description = `  greet: {
    summary: 'greet somebody',
    words: [{ name: 'who', count: 'one', describe: 'whom to greet' }],
    flags: { loud: { kind: 'switch', describe: 'in capital letters' } },
  },
`
  const row = `  greet: async (flags, io) => (await import('./commands/greet.ts')).greetCommand(flags, io),
`
  const file = `import type { Flags } from '../command-specs.ts'
import type { CommandIo } from '../io.ts'
export async function greetCommand({ who, loud }: Flags<'greet'>, { out }: Pick<CommandIo, 'out'>): Promise<number> {
  const text = \`hello \${who}\`
  out(\`\${loud ? text.toUpperCase() : text}\\n\`)
  return 0
}
`
  addAfter('cli/command-specs.ts', 'export const commandSpecs = {', description)
  const table =
    'const runs: { readonly [Name in CommandName]: (flags: Flags<Name>, io: CommandIo) => Promise<number> } = {'
  addAfter('cli/command-table.ts', table, row)
  add('cli/commands/greet.ts', file)
}

it('a command is a description, a row and a file', async () => {
  const folder = tempTree({})
  expect(await runIn(folder, ['greet', 'Ada', '--loud'])).toMatchObject({ code: 0, stdout: 'HELLO ADA\n' })
  expect((await runIn(folder, ['greet']))?.code).toBe(2)
  expect((await runIn(folder, ['help', 'greet']))?.stdout).toContain('--loud')
  expect((await runIn(folder, ['__complete', 'bash', '--', 'baton gre']))?.stdout).toContain('greet')
})

function addMode(): void {
  const table = 'agent/modes/registry.ts'
  addAfter(table, "import { codeMode } from './code/code.ts'", "import { twice } from './twice.ts'\n")
  addAfter(table, '  code: codeMode,', '  twice: () => twice,\n')
  add(
    'agent/modes/twice.ts',
    `import type { Mode } from './mode.ts'
/** The model is asked to look at its answer again. */
export const twice: Mode = {
  id: 'twice',
  name: 'Twice (answer, second answer)',
  options: { type: 'object', properties: { question: { type: 'string' } }, additionalProperties: false },
  open({ options }) {
    let isAsked = false
    return {
      limitNote: (rounds) => \`Asked \${rounds} times.\`,
      take({ calls, end }) {
        if (calls.length > 0) return { kind: 'calls' }
        if (isAsked) return { kind: 'end', end }
        isAsked = true
        return { kind: 'again', message: String(options['question'] ?? 'Are you sure?'), warning: 'asking again' }
      },
    }
  },
}
`,
  )
}

it('a mode is a row and a file, and the table of its name contains its options', async () => {
  const server = await startModelServer([{ text: 'Perhaps.' }, { text: 'Yes.' }])
  const folder = tempTree({
    'baton.toml': '',
    'ask.md': '+++\nmodel = "m"\nmode = "twice"\n[twice]\nquestion = "Really?"\n+++\nIs it?\n',
    'wrong.md': '+++\nmodel = "m"\nmode = "twice"\n[twice]\nquestions = "Really?"\n+++\nIs it?\n',
  })
  const env = { BATON_GATEWAY_URL: server.url }
  expect(await runIn(folder, ['ask.md', '-q'], env)).toMatchObject({ code: 0, stdout: 'Yes.\n' })
  expect(JSON.stringify(server.requests[1]?.body)).toContain('Really?')
  expect((await runIn(folder, ['list', 'modes']))?.stdout).toContain('Twice (answer, second answer)')
  const wrong = await runIn(folder, ['check', 'wrong.md'])
  expect([wrong?.code, wrong?.stdout]).toEqual([2, expect.stringContaining('[twice] does not fit the mode "twice"')])
  await server.close()
})

function addSetting(): void {
  const row = `  audience: {
    ...request,
    schema: ({ oneOf }) => oneOf('everybody', 'experts'),
    order: { rule: ['experts', 'everybody'] },
    isPlain: true,
    text: 'Whom the answers are for.',
  },
`
  addAfter('settings/rows.ts', 'export const rows = {', row)
  // code that reads it
  const context = "import { narrow, type RunContext } from '../event/context.ts'"
  addAfter('run/task.ts', context, "import { emit } from '../event/context.ts'\n")
  const told = "  emit(context, { type: 'warning', message: `written for ${settings.audience ?? 'nobody'}` })\n"
  addAfter('run/task.ts', '  const files = await round.filesOf(settings)', told)
}

it('a setting is a row: layers, checks, lists and the schema of editors follow', async () => {
  const server = await startModelServer([{ text: 'Yes.' }, { text: 'Yes.' }])
  const folder = tempTree({
    'home/config/config.toml': 'audience = "experts"\n',
    'work/baton.toml': '',
    'work/ask.md': '+++\nmodel = "m"\n+++\nIs it?\n',
    'work/wrong.md': '+++\nmodel = "m"\naudience = "cats"\n+++\nIs it?\n',
    'work/misspelt.md': '+++\nmodel = "m"\naudiance = "experts"\n+++\nIs it?\n',
    'work/looser.md': '+++\nmodel = "m"\naudience = "everybody"\n+++\nIs it?\n',
  })
  const run = (...args: string[]) =>
    runIn(join(folder, 'work'), args, { BATON_HOME: join(folder, 'home'), BATON_GATEWAY_URL: server.url })
  expect((await run('ask.md'))?.stderr).toContain('written for experts')
  expect((await run('ask.md', '-c', 'audience=everybody'))?.stderr).toContain('written for everybody')
  expect((await run('config', 'ask.md', '--origin'))?.stdout).toMatch(/audience.*"experts".*config\.toml:1/)
  const schema: unknown = JSON.parse((await run('schema'))?.stdout ?? '')
  expect(schema).toHaveProperty('properties.audience', {
    description: 'Whom the answers are for.',
    type: 'string',
    enum: ['everybody', 'experts'],
  })
  for (const [file, code, says] of [
    ['wrong.md', 2, '"audience" must be one of "everybody", "experts"'],
    ['misspelt.md', 2, 'did you mean "audience"?'],
    ['looser.md', 2, 'yours is "experts"'],
  ] as const) {
    const end = await run('check', file)
    expect([file, end?.code, end?.stdout]).toEqual([file, code, expect.stringContaining(says)])
  }
  await server.close()
})

/** Puts an import and a name into a file that lists strategies. */
function listStrategy(file: string, folder: string, ending: string): void {
  const imported = `import { iterate } from './${folder}iterate${ending}.ts'`
  addAfter(file, imported, `import { relay } from './${folder}relay${ending}.ts'\n`)
  const source = readFileSync(join(copy, 'src', file), 'utf8')
  expect(source).toContain('iterate, workflow')
  add(file, source.replace('iterate, workflow', 'iterate, relay, workflow'))
}

function addStrategy(): void {
  listStrategy('settings/strategies.ts', 'strategies/', '')
  add(
    'settings/strategies/relay.ts',
    `import { type SettingRow, strategyOnly, type TableOf } from '../setting.ts'
export const relay = {
  ...strategyOnly,
  text: 'Questions, one after the other.',
  strategy: {
    agents: ['questions', 'a question'],
    read: (table): { readonly questions: readonly string[] } => ({ questions: [], ...(table as Written) }),
  },
  keys: { questions: { schema: ({ texts }) => texts, text: 'The questions.' } },
} as const satisfies SettingRow
type Written = TableOf<typeof relay>
`,
  )
  listStrategy('strategies/strategies.ts', '', '/row')
  add(
    'strategies/relay/row.ts',
    `import type { Strategy } from '../../run/strategy.ts'
/** One answer for each question. */
export const relay: Strategy = {
  key: 'relay',
  agents: () => [],
  answer: async (call, context) => (await import('./run.ts')).runRelay(call, context),
  outline: async (task) => (await import('./run.ts')).outlineOf(task),
}
`,
  )
  add(
    'strategies/relay/run.ts',
    `import type { Settings } from '../../config/settings.ts'
import { below, type RunContext } from '../../event/context.ts'
import { member } from '../../event/place.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import type { TaskAnswer } from '../../run/answer.ts'
import { ask } from '../../run/ask.ts'
import type { OutlinedAnswer, TaskCall } from '../../run/strategy.ts'
import type { ChainState } from '../../stage/state.ts'
interface Task {
  readonly target: PromptTarget
  readonly settings: Settings
  readonly state: ChainState
}
/** The file as if it had only this question. */
export function outlineOf({ target, settings, state }: Task): readonly OutlinedAnswer[] {
  const without = ({ relay: _, ...others }: Settings): Settings => others
  const { relay: _, ...params } = state.params
  const alone = {
    ...target,
    settings: without(target.settings),
    settingsFor: (values: typeof params) => without(target.settingsFor(values)),
  }
  return (settings.relay?.questions ?? []).map((question, index) => ({
    name: \`question-\${index + 1}\`,
    target: alone,
    state: { params, prompts: [...state.prompts, question] },
  }))
}
export async function runRelay(call: TaskCall, context: RunContext): Promise<TaskAnswer> {
  let answer: TaskAnswer | undefined
  for (const { name, target, state } of outlineOf({ ...call, target: call.round.target })) {
    const prompts: readonly string[] = answer === undefined ? state.prompts : [...state.prompts, answer.text]
    const asked = { ...call, settings: target.settings, state: { ...state, prompts } }
    answer = await ask(asked, target, below(context, member(name)))
  }
  if (answer === undefined) throw new Error('a relay has questions')
  return answer
}
`,
  )
}

it('a strategy is its settings, a row and a file: it is checked, planned, run and replayed like the others', async () => {
  const server = await startModelServer([{ text: 'First.' }, { text: 'Second.' }])
  const front = 'model = "m"\n[relay]\nquestions = ["Who?", "Why?"]\n'
  const folder = tempTree({
    'baton.toml': '',
    'ask.md': `+++\n${front}+++\nTell me.\n`,
    'both.md': `+++\n${front}[[workflow.step]]\nid = "a"\ninstructions = "b"\n+++\nTell me.\n`,
    'wrong.md': '+++\nmodel = "m"\n[relay]\nquestion = "Who?"\n+++\nTell me.\n',
  })
  const env = { BATON_GATEWAY_URL: server.url }
  const plan = await runIn(folder, ['plan', 'ask.md'], env)
  expect(plan?.stdout, plan?.stderr).toMatch(
    /relay +2 answers, one after the other\n +question-1 .*1 request[^]*question-2/,
  )
  expect(JSON.parse((await runIn(folder, ['plan', 'ask.md', '--json'], env))?.stdout ?? '')).toMatchObject({
    target: { answer: { by: 'parts', strategy: 'relay', parts: [{ name: 'question-1' }, { name: 'question-2' }] } },
    total: { requests: { as_written: 2 } },
  })
  expect(server.requests).toHaveLength(0)
  expect(await runIn(folder, ['ask.md', '--record', 'run.cassette', '-q'], env)).toMatchObject({
    code: 0,
    stdout: 'Second.\n',
  })
  const [first, second] = server.requests.map(({ body }) => JSON.stringify(body))
  expect(first).toMatch(/Tell me\..*Who\?/)
  expect(second).toMatch(/Tell me\..*Why\?.*First\./)
  expect(await runIn(folder, ['ask.md', '--replay', 'run.cassette', '-q'])).toMatchObject({
    code: 0,
    stdout: 'Second.\n',
  })
  expect(server.requests).toHaveLength(2)
  for (const [file, says] of [
    ['both.md', '[workflow] and [relay] cannot be combined'],
    ['wrong.md', 'unknown key "question" in relay'],
  ] as const) {
    const end = await runIn(folder, ['check', file])
    const text = end?.stdout.replace('[relay] and [workflow]', '[workflow] and [relay]')
    expect([file, end?.code, text]).toEqual([file, 2, expect.stringContaining(says)])
  }
  await server.close()
})

function addPanel(): void {
  const table = 'view/run-tabs.tsx'
  addAfter(
    `page/${table}`,
    "import { AnswersTab } from './answers-tab.tsx'",
    "import { KindsTab } from './kinds-tab.tsx'\n",
  )
  const row = "  { id: 'kinds', name: 'Kinds', Panel: KindsTab, isShown: (rows) => rows.length > 0 },\n"
  addAfter(`page/${table}`, '  firstTab,', row)
  add(
    'page/view/kinds-tab.tsx',
    `import type { VNode } from 'preact'
import type { Row } from '../data/row.ts'
/** The kinds of what a run does, each once. */
export function KindsTab({ rows }: { readonly rows: readonly Row[] }): VNode {
  return <p class="kinds">{[...new Set(rows.map(({ kind }) => kind))].join(' and ')}</p>
}
`,
  )
}

it.skipIf(!hasChromium)('a panel of the page is a row and a file (needs chromium)', async () => {
  const page = join(copy, 'dist/page')
  const build = `(await import(${JSON.stringify(join(root, 'scripts/page.mjs'))})).buildPage(...process.argv.slice(1))`
  const built = spawnSync(process.execPath, ['--input-type=module', '-e', build, copy, page], { encoding: 'utf8' })
  expect(built.stderr).toBe('')
  const model = await startModelServer([{ text: 'Yes.' }])
  const served = await serveTree({ 'ask.md': '+++\nmodel = "m"\n+++\nIs it?\n' }, { page })
  const { folder, around } = served
  const end = await runIn(folder, ['ask.md'], { ...around.env, BATON_GATEWAY_URL: model.url })
  expect(end?.code, end?.stderr).toBe(0)
  const { page: view, problems } = await openPage(served)
  await view.getByRole('row').filter({ hasText: 'ask.md' }).click()
  await view.getByRole('tab', { name: 'Kinds' }).click()
  await view
    .getByRole('tabpanel', { name: 'Kinds' })
    .getByText(/task and model/)
    .waitFor()
  expect(view.url()).toMatch(/#\/runs\/[^/]+\/kinds$/)
  expect(problems).toEqual([])
  await model.close()
})
