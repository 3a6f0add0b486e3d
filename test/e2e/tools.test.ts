import { expect, it } from 'vitest'
import { baton, type BatonResult } from '../helpers/baton.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

interface World {
  readonly model: ToolModel
  readonly folder: string
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
}

/** `config`: the user's config file. */
async function world(
  replies: readonly ModelReply[],
  files: { readonly [path: string]: string },
  config = '',
): Promise<World> {
  const model = await startToolModel(replies)
  const folder = tempTree(files)
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree({ 'config/config.toml': config }) }
  return { model, folder, run: (...args) => baton(args, { cwd: folder, env }) }
}

const steps = { todos: [{ content: 'Look', status: 'in_progress' }] }

function prompt(keys: string): string {
  return `+++\nmodel = "m"\n${keys}\n+++\nDo it.\n`
}

it('answers the calls of a model with their results, in order, until it is done', async () => {
  const { model, run } = await world([callsTools(['todo', steps], ['todo', { todos: [] }]), { text: 'Done.' }], {
    'ask.md': prompt('tools = ["todo"]'),
  })
  expect(await run('ask.md')).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(model.requests.length).toBe(2)
  expect(model.offered()).toEqual(['todo'])
  expect(model.results()).toEqual(['- [~] Look', 'The list is empty.'])
})

it('reports errors in a call to the model, and continues', async () => {
  const calls = callsTools(['nobody', {}], ['todo', '{"todos": ['], ['todo', { todos: 'all' }], ['todo', { list: [] }])
  const { model, run } = await world([calls, { text: 'Well.' }], { 'ask.md': prompt('tools = ["todo"]') })
  expect(await run('ask.md')).toMatchObject({ code: 0, stdout: 'Well.\n' })
  expect(model.results()).toEqual([
    'Error: Tool "nobody" not found. Available tools: todo',
    expect.stringMatching(/^Error: Invalid JSON in arguments for tool "todo": /),
    expect.stringContaining('Error in tool "todo": the arguments do not fit its schema: $.todos must be a list'),
    expect.stringContaining('Error in tool "todo": the arguments do not fit its schema: the key "todos" is missing'),
  ])
})

it('passes the tools of an .aip agent to its model, and its results in ai_response', async () => {
  const agent = `# Options

\`\`\`toml
model = "m"
tools = ["todo"]
\`\`\`

# User

Plan it.

# Output

\`\`\`lua
local call = ai_response.tool_calls[1]
return call.name .. ": " .. call.output .. " / " .. ai_response.content
\`\`\`
`
  const { run } = await world([callsTools(['todo', steps]), { text: 'Planned.' }], { 'plan.aip': agent })
  expect(await run('plan.aip')).toMatchObject({ code: 0, stdout: 'todo: - [~] Look / Planned.\n' })
})

it('restricts an .aip agent, and what it runs, to its own rules and tools, and to no fewer than before (R28)', async () => {
  const agent = (options: string, body: string): string => `# Options\n\n\`\`\`toml\n${options}\n\`\`\`\n\n${body}`
  const files = {
    'outer.aip': agent(
      'model = "m"\ntools = ["todo", "glob", "webfetch"]\n[permission]\ntodo = "deny"\nwebfetch = "allow"',
      '# User\n\nDo it.\n\n# Output\n\n```lua\nlocal one = aip.agent.run("inner.aip").outputs[1]\nlocal other = aip.agent.run("inner.md").outputs[1]\nreturn one .. " " .. other .. " " .. ai_response.content\n```\n',
    ),
    'inner.aip': agent('model = "m"\ntools = ["todo", "read", "glob"]', '# User\n\nInner.\n'),
    'inner.md': prompt('tools = ["*"]'),
    'wrong.aip': agent('[permission]\ntodo = "alow"', '# User\n\nDo it.\n'),
  }
  const fetching = callsTools(['webfetch', { url: 'https://page.example/' }])
  const { model, run } = await world([fetching, { text: 'Three.' }, { text: 'One.' }, { text: 'Two.' }], files)
  const { code, stdout, stderr } = await run('outer.aip')
  expect([code, stdout]).toEqual([0, 'One. Two. Three.\n'])
  const offered = model.requests.map(({ body }) => {
    const { tools = [] } = body as { tools?: readonly { readonly function: { readonly name: string } }[] }
    return tools.map(({ function: { name } }) => name)
  })
  expect(offered).toEqual([['glob', 'webfetch'], ['glob', 'webfetch'], ['glob'], ['glob', 'webfetch']])
  // a file other than the user's config cannot allow what would otherwise require asking
  expect(stderr).toContain('denied webfetch https://page.example/: permission denied')
  expect(stderr).toContain('warning inner.aip is not given the tool read: the file that runs it does not have it')
  const wrong = await run('check', 'wrong.aip')
  expect([wrong.code, wrong.stdout]).toEqual([2, expect.stringContaining('at wrong.aip:5:8')])
  expect((await run('plan', 'outer.aip')).stdout).toContain('not offered: todo ([permission] todo = "deny"')
})

it('ends a model that repeats the same call, and one that takes too many turns', async () => {
  const again = Array.from({ length: 20 }, () => callsTools(['todo', steps]))
  const endless = await world(again, { 'ask.md': prompt('tools = ["todo"]') })
  const ended = await endless.run('ask.md', '--json')
  expect(ended.code).toBe(4)
  expect(endless.model.requests.length).toBe(11)
  expect(ended.stdout).toContain('"stop_reason":"repeated_calls"')
  const limited = await world(again, { 'ask.md': prompt('tools = ["todo"]\nmax_turns = 2') })
  expect(await limited.run('ask.md')).toMatchObject({ code: 4, stderr: expect.stringContaining('(max_turns)') })
  expect(limited.model.requests.length).toBe(2)
  const rounds = await world(again, { 'ask.md': prompt('tools = ["todo"]\nmax_rounds = 2') })
  expect(await rounds.run('ask.md')).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining('Raise max_rounds, for example with --max-rounds 1000'),
  })
})

it('keeps paid results when a run is resumed with another rule', async () => {
  const replies = [callsTools(['todo', steps]), { status: 400 }, callsTools(['todo', steps]), { text: 'Done.' }]
  const { model, run } = await world(replies, { 'ask.md': prompt('tools = ["todo"]') }, '[permission]\ntodo = "ask"\n')
  expect(await run('ask.md')).toMatchObject({ code: 1 })
  expect(await run('resume', '--last', '-c', 'permission.todo=allow')).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(model.requests.length).toBe(4)
  // the model still knows that its first call was refused
  expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('permission denied')
  expect(model.results()).toEqual(['- [~] Look'])
})

it('refuses a call that the permission denies or would ask about, and lists it at the end', async () => {
  const files = { 'ask.md': prompt('tools = ["todo"]') }
  const asking = '[permission]\ntodo = "ask"\n'
  const { model, run } = await world([callsTools(['todo', steps]), { text: 'Then not.' }], files, asking)
  const { code, stdout } = await run('ask.md', '--json')
  expect(code).toBe(0)
  expect(model.results()).toEqual(['Error: permission denied; to allow it set [permission] todo = "allow"'])
  const end = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { readonly permission_denials: unknown }
  expect(end.permission_denials).toMatchObject([{ tool: 'todo', input: steps }])
  const allowed = await world([callsTools(['todo', steps]), { text: 'Done.' }], files, asking)
  expect(await allowed.run('ask.md', '-c', 'permission.todo=allow')).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(allowed.model.results()).toEqual(['- [~] Look'])
  const denied = await world([{ text: 'No tools.' }], files, '[permission]\ntodo = "deny"\n')
  expect(await denied.run('ask.md')).toMatchObject({ code: 0 })
  expect(denied.model.offered()).toEqual([])
})

it('reports arguments that are too long, also endless ones: one error each, and the run continues', async () => {
  const megabyte = 'x'.repeat(1024 * 1024)
  const long = (megabytes: number): ModelReply => ({
    text: '',
    toolCalls: [
      { id: 'c1', name: 'todo', pieces: ['{"todos": "', ...Array.from({ length: megabytes }, () => megabyte), '"}'] },
      { id: 'c2', name: 'todo', pieces: ['{"todos": []}'] },
    ],
    finish: 'tool_calls',
  })
  const model = await startToolModel([long(17), long(66), { text: 'Done.' }])
  const cwd = tempTree({ 'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nWork.\n' })
  const env = { BATON_GATEWAY_URL: model.url }
  const args = ['ask.md', '-c', 'budget.unpriced=allow']
  expect(await baton(args, { cwd, env })).toMatchObject({ code: 0, stdout: 'Done.\n' })
  const results = (model.requests.at(-1)?.body?.messages ?? []).flatMap(({ role, content }) =>
    role === 'tool' ? [String(content)] : [],
  )
  const refused =
    /^Error: Error in tool "todo": its arguments had \d{8} characters, but a call may have at most 16777216/
  // for an endless answer, the part before the endless call is used
  expect(results.map((text) => refused.test(text))).toEqual([true, false, true])
})

it('passes post_task agents the calls of all messages, also of those before a correction', async () => {
  const look = callsTools(['read', { path: 'a.txt' }])
  const see = 'print(#input.ai_response.tool_calls .. " calls")\n'
  const table = 'sub_agents = [{ name = "see.lua", stage = "post_task" }]\ntools = ["read"]'
  const right = '<FILE_CHANGES>\n<FILE_NEW file_path="b.txt">\nb\n</FILE_NEW>\n</FILE_CHANGES>\n'
  const files = {
    'a.txt': 'a\n',
    'see.lua': see,
    'change.md': `+++\nmodel = "m"\nwrite_mode = true\n${table}\n+++\nWork.\n`,
    'json.md': `+++\nmodel = "m"\n${table}\n[output.schema]\ntype = "object"\n+++\nWork.\n`,
  }
  for (const [name, wrong, good] of [
    ['change.md', right.replaceAll('_NEW', '_PATCH'), right],
    ['json.md', 'no JSON', '{}'],
  ] as const) {
    const model = await startToolModel([look, { text: wrong }, look, look, { text: good }])
    const env = { BATON_GATEWAY_URL: model.url }
    const { code, stderr } = await baton([name, '-c', 'budget.unpriced=allow'], { cwd: tempTree(files), env })
    expect([code, stderr]).toEqual([0, expect.stringContaining('3 calls')])
  }
})
