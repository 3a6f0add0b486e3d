import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baton, jsonLines, root } from '../helpers/baton.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

const program = join(root, 'test/fixtures/mcp/many.mjs')

function config(...more: readonly string[]): string {
  const server = `command = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([program, '50'])}`
  return `[mcp_servers.tracker]\n${server}\n${more.join('\n')}\n[permission]\nmcp = { "tracker__*" = "allow" }\n`
}

const name = 'tracker__update_issue_field_7'
const search = callsTools(['tool_search', { query: 'field 7' }])
const call = callsTools(['tool_call', { name, arguments: { title: 'Seven' } }])
const direct = callsTools([name, { title: 'Eight' }])
const done: ModelReply = { text: 'Seven it is.' }
const refused: ModelReply = { status: 400, body: { error: { message: 'no' } } }

interface World {
  readonly run: (...args: readonly string[]) => ReturnType<typeof baton>
  readonly configure: (...more: readonly string[]) => void
}

function world(model: ToolModel, ...more: readonly string[]): World {
  const home = tempTree({ 'config/config.toml': config(...more) })
  const front = '+++\nmodel = "m"\ntools = ["tracker__*"]\n'
  const cwd = tempTree({
    'ask.md': `${front}+++\nUpdate field 7.\n`,
    'code.md': `${front}mode = "code"\n+++\nUpdate field 7.\n`,
  })
  return {
    run: (...args) => baton(args, { cwd, env: { BATON_GATEWAY_URL: model.url, BATON_HOME: home } }),
    configure: (...others) => writeFileSync(join(home, 'config/config.toml'), config(...others)),
  }
}

/** The tools of each request, as the server got them. */
function toolLists({ requests }: ToolModel): readonly string[] {
  return requests.map(({ body }) => JSON.stringify(body?.['tools']))
}

it('a model finds tools by a search and calls them, with the same list of tools in each request', async () => {
  const model = await startToolModel([search, call, direct, done])
  const { run } = world(model)
  const ran = await run('ask.md', '--json')
  expect(ran, ran.stderr).toMatchObject({ code: 0 })
  const events = jsonLines(ran.stdout) as readonly { type: string }[]
  expect(events.filter(({ type }) => type === 'tool.started')).toMatchObject([
    { name: 'tool_search', input: { query: 'field 7' } },
    { name, server: 'tracker', input: { title: 'Seven' } },
    { name, server: 'tracker', input: { title: 'Eight' } },
  ])
  expect(events.filter(({ type }) => type === 'tool.completed')).toMatchObject([
    { is_error: false },
    { name, output: 'update_issue_field_7 {"title":"Seven"}', is_error: false },
    { output: 'update_issue_field_7 {"title":"Eight"}' },
  ])
  const lists = toolLists(model)
  expect(new Set(lists).size).toBe(1)
  expect(lists[0]?.length).toBeLessThan(2_100)
  expect(model.requests[1]?.body?.messages.at(-1)?.content).toContain(`{"name":"${name}","description":`)
})

it('rules, checks of arguments and the tree of the run are about the tool that is called', async () => {
  const model = await startToolModel([callsTools(['tool_call', { name, arguments: {} }]), call, done])
  const { run } = world(model)
  const ran = await run('ask.md', '-c', `permission.${name}=ask`, '--json')
  expect(ran.stdout).toMatch(/the arguments do not fit its schema: .*title/)
  expect(ran.stdout).toContain(`permission denied; to allow it set [permission] ${name} = \\"allow\\"`)
  expect((await run('runs', 'show', 'last')).stdout).toMatch(new RegExp(`calls .*${name}`))
})

it.each([
  ['deferred', [], ['defer_tools = false']],
  ['sent', ['defer_tools = false'], []],
])(
  'a resumed run and a replay go on with tools that were %s, whatever the settings say now',
  async (_, before, now) => {
    const model = await startToolModel([search, refused, call, done])
    const { run, configure } = world(model, ...before)
    expect(await run('ask.md')).toMatchObject({ code: 1 })
    configure(...now)
    const resumed = await run('resume', '--last')
    expect(resumed, resumed.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('Seven it is.') })
    expect(model.requests).toHaveLength(4)
    expect(new Set(toolLists(model)).size).toBe(1)
    const replayed = await run('run', '--replay', 'last')
    expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('Seven it is.') })
  },
)

it('in code mode the program calls deferred tools by their names', async () => {
  const text = `\`\`\`js\noutput(toolSchema("${name}").required[0] + ": " + tools["${name}"]({ title: "Seven" })); done()\n\`\`\``
  const model = await startToolModel([{ text }])
  const { run } = world(model)
  const ran = await run('code.md', '-c', `permission.${name}=allow`)
  expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: 'title: update_issue_field_7 {"title":"Seven"}\n' })
  expect(JSON.stringify(model.requests[0]?.body).length).toBeLessThan(7_500)
})

it('the messages of a chat have the same list of tools', async () => {
  const model = await startToolModel([search, { text: 'Found.' }, call, done])
  const { run } = world(model)
  expect(await run('chat', 'ask.md')).toMatchObject({ code: 0 })
  const next = await run('chat', '--continue', '-p', 'Call it.')
  expect(next, next.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('Seven it is.') })
  expect(new Set(toolLists(model)).size).toBe(1)
})
