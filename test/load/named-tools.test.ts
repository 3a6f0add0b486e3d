import { describe, expect, it, onTestFinished } from 'vitest'
import { createCheckParts } from '../../src/load/check/agent.ts'
import { checkFile } from '../../src/load/check/check.ts'
import { startRun } from '../../src/runner.ts'
import { displayPath } from '../../src/base/files.ts'
import { root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { strategies } from '../../src/strategies/strategies.ts'

type Files = Readonly<Record<string, string>>

interface Found {
  /** `code file:line:column message hint` of the first error of `check`. */
  readonly checked: string
  /** The same for the run. */
  readonly ran: string
  readonly exitCode: number
  /** The number of model calls. */
  readonly asked: number
}

interface Told {
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
  readonly place?: { readonly file: string; readonly line?: number; readonly column?: number } | undefined
}

/** Checks a file and runs it against a server that accepts every name. */
async function tryFiles(files: Files, file = 'main.md'): Promise<Found> {
  const server = await startModelServer(() => ({ text: 'fine' }))
  onTestFinished(() => server.close())
  const folder = tempTree({ '.git/HEAD': '', ...files })
  const env = { BATON_HOME: `${folder}/.state`, BATON_LOCAL_SERVERS: 'off', OPENAI_BASE_URL: server.url }
  const given = { cwd: folder, env, home: folder }
  const shown = ({ code, message, hint, place }: Told): string => {
    const at = place === undefined ? 'nowhere' : [displayPath(folder, place.file), place.line, place.column].join(':')
    return `${code} ${at} ${message}. ${hint}`
  }
  const builtInDir = `${root}/agents`
  const parts = createCheckParts({ builtInDir })
  const { problems } = await checkFile({ strategies, ...given, file, builtInDir, flags: { overrides: [] } }, parts)
  await parts.close()
  const wrong = problems.find(({ severity }) => severity === 'error')
  const ran = await startRun(file, given, () => {}).then(
    ({ error, exitCode }) => ({ error, exitCode }),
    (error: unknown) => ({ error, exitCode: 2 }),
  )
  return {
    checked: wrong === undefined ? 'nothing' : shown(wrong),
    ran: ran.error === undefined ? 'nothing' : shown(ran.error as Told),
    exitCode: ran.exitCode,
    asked: server.requests.length,
  }
}

const prompt = (keys: string): string => `+++\n${keys}\n+++\nSay fine.\n`
const agent = (options: string): string => `# Options\n\n\`\`\`toml\n${options}\n\`\`\`\n\n# User\n\nSay fine.\n`

/** `check` and the run report the same, and no model is called. */
async function expectRefused(files: Files, said: string, file?: string): Promise<void> {
  expect(await tryFiles(files, file)).toEqual({ checked: said, ran: said, exitCode: 2, asked: 0 })
}

describe('the name of a tool', () => {
  it('that is unknown is refused where it is written, with a suggestion', async () => {
    const said = 'CONFIG_INVALID main.md:3:18 unknown tool "web_fetch". Did you mean "webfetch"?'
    await expectRefused({ 'main.md': prompt('model = "m"\ntools = ["todo", "web_fetch"]') }, said)
    const inOptions = 'CONFIG_INVALID main.aip:5:18 unknown tool "webfech". Did you mean "webfetch"?'
    await expectRefused({ 'main.aip': agent('model = "m"\ntools = ["todo", "webfech"]') }, inOptions, 'main.aip')
    const config = { 'baton.toml': 'disallowed_tools = ["tdo"]\n', 'main.md': prompt('model = "m"') }
    await expectRefused(config, 'CONFIG_INVALID baton.toml:1:21 unknown tool "tdo". Did you mean "todo"?')
  })

  it('may be one of the tools by which a model leads a team', async () => {
    const found = await tryFiles({ 'main.md': prompt('model = "m"\ntools = ["wait", "todo"]') })
    expect(found).toMatchObject({ checked: 'nothing', ran: 'nothing', exitCode: 0 })
  })

  it('in an entry of the chain is refused before the first call', async () => {
    const entry = 'sub_agents = [{ name = "a.aip", stage = "post", options = { tools = ["tod"] } }]'
    const said = 'CONFIG_INVALID main.md:3:70 unknown tool "tod". Did you mean "todo"?'
    await expectRefused({ 'main.md': prompt(`model = "m"\n${entry}`), 'a.aip': agent('') }, said)
    const step = '[[workflow.step]]\nid = "one"\nagent = "a.aip"\noptions = { tools = ["read", "grp"] }'
    const inStep = 'CONFIG_INVALID main.md:6:30 unknown tool "grp". Did you mean "grep"?'
    await expectRefused({ 'main.md': prompt(`model = "m"\n${step}`), 'a.aip': agent('') }, inStep)
  })

  it('of a missing server is refused, also in a pattern', async () => {
    const said =
      'belongs to the MCP server "docs", which is not configured. No MCP server is configured: see docs/mcp.md.'
    const keys = (name: string): string => prompt(`model = "m"\ntools = ["${name}"]`)
    await expectRefused({ 'main.md': keys('docs__*') }, `CONFIG_INVALID main.md:3:10 "docs__*" ${said}`)
    const prefixed = `CONFIG_INVALID main.md:3:10 "mcp__docs__search" ${said}`
    await expectRefused({ 'main.md': keys('mcp__docs__search') }, prefixed)
    const options = { 'main.aip': agent('model = "m"\ntools = ["docs__x"]') }
    await expectRefused(options, `CONFIG_INVALID main.aip:5:10 "docs__x" ${said}`, 'main.aip')
  })

  it('may be a pattern, a tool of any server, or a disallowed one', async () => {
    const keys = 'model = "m"\ntools = ["web*", "mcp__*", "*__search", "todo"]\ndisallowed_tools = ["task", "docs__x"]'
    expect(await tryFiles({ 'main.md': prompt(keys) })).toMatchObject({ checked: 'nothing', ran: 'nothing', asked: 1 })
  })
})

describe('a model that cannot call tools', () => {
  const hint = 'cannot call tools. Leave out tools, or name another model.'

  it('is refused before anything is paid', async () => {
    const named = prompt('model = "offline::extractive"\ntools = ["todo"]')
    await expectRefused({ 'main.md': named }, `CONFIG_INVALID main.md:2:9 offline::extractive ${hint}`)
    const fallback = prompt('model = "m"\nfallback_models = ["offline::extractive"]\ntools = ["*"]')
    await expectRefused({ 'main.md': fallback }, `CONFIG_INVALID main.md:3:20 offline::extractive ${hint}`)
    const later = 'sub_agents = [{ name = "a.aip", stage = "post" }]'
    const files = {
      'main.md': prompt(`model = "m"\n${later}`),
      'a.aip': agent('model = "offline::extractive"\ntools = ["todo"]'),
    }
    const { checked, ran, asked } = await tryFiles(files)
    expect({ checked, ran, asked }).toMatchObject({
      checked: `CONFIG_INVALID a.aip:4:9 offline::extractive ${hint}`,
      ran: expect.stringContaining(`offline::extractive ${hint}`),
      asked: 0,
    })
  })

  it('is refused when it becomes known later', async () => {
    const files = { 'a.aip': agent('model = "offline::extractive"\ntools = ["todo"]') }
    expect(await tryFiles(files, 'a.aip')).toMatchObject({ ran: expect.stringContaining(hint), exitCode: 2 })
  })

  it('is asked if no tool is left', async () => {
    const keys = 'model = "offline::extractive"\ntools = ["todo"]\ndisallowed_tools = ["todo"]'
    expect(await tryFiles({ 'main.md': prompt(keys) })).toMatchObject({ checked: 'nothing', ran: 'nothing' })
  })
})
