import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools } from '../helpers/tool-model.ts'

interface World {
  readonly server: ModelServer
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  /** The last message of each request. */
  readonly told: () => readonly string[]
}

const head = (...keys: readonly string[]): string =>
  ['+++', 'model = "m"', 'mode = "code"', ...keys, '+++', 'Do it.\n'].join('\n')

function inFolder(folder: string, files: { readonly [path: string]: string }): { readonly [path: string]: string } {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]))
}

/** A model that answers with these programs, one after the other. */
async function world(
  programs: readonly string[],
  files: { readonly [path: string]: string },
  config: { readonly [path: string]: string } = {},
): Promise<World> {
  const server = await startModelServer(({ body }): ModelReply => {
    const said = (body?.messages ?? []).filter(({ role }) => role === 'assistant').length
    return { text: `\`\`\`js\n${programs[said] ?? 'done()'}\n\`\`\`` }
  })
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree(inFolder('config', config)) }
  return {
    server,
    cwd,
    env,
    run: (...args) => baton(args, { cwd, env }),
    told: () => server.requests.map(({ body }) => body?.messages.at(-1)?.content ?? ''),
  }
}

it('runs programs that call tools; the answer consists of their outputs, in order', async () => {
  const { run, told, server } = await world(
    [
      `const paths = glob({ pattern: 'notes/*' }).trim().split('\\n')
       log(paths.length)
       store('paths', paths)
       nothing()`,
      `const texts = parallel(recall('paths').map((path) => ({ tool: 'read', input: { path } })))
       output('read ' + texts.length)
       edit({ path: 'notes/a.txt', old_text: 'one', new_text: 'two' })
       output(read({ path: 'notes/a.txt' }))
       done()`,
    ],
    {
      'ask.md': head('write_mode = true', 'tools = ["read", "glob", "edit"]'),
      'notes/a.txt': 'one\n',
      'notes/b.txt': 'b\n',
    },
  )
  const done = await run('ask.md')
  expect([done.code, done.stdout]).toEqual([0, 'read 2\n\n1→two\n'])
  expect(told()[1]).toBe("Logs:\n2\n\nExecution error: 'nothing' is not defined (line 4, column 8)")
  expect(done.stderr).toContain('edit notes/a.txt\n')
  expect(done.stderr).toContain('1 file changed')
  // no tools are sent: the prompt describes their functions
  expect(server.requests[0]?.body).not.toHaveProperty('tools')
  expect(server.requests[0]?.body?.messages[0]?.content).toContain('function edit(input: {')
})

it('uses the mode of --mode and of an agent, and its limits in [code]', async () => {
  const files = {
    'plain.md': '+++\nmodel = "m"\n+++\nDo it.\n',
    'a.aip':
      '# Options\n\n```toml\nmodel = "m"\nmode = "code"\n```\n\n# User\n\nDo it.\n\n# Output\n\n```lua\nreturn ai_response.content\n```\n',
    'bad.md': head('[code]', 'memory = 3'),
  }
  const { run, told } = await world(['while (true) {}', 'output("stopped"); done()'], files)
  const flag = await run('plain.md', '--mode', 'code', '-c', 'code.timeout=200ms')
  expect([flag.code, flag.stdout]).toEqual([0, 'stopped\n'])
  expect(told()[1]).toContain('Execution error: the program took longer than 200 ms')
  const agent = await run('a.aip', '-c', 'code.timeout=300ms')
  expect([agent.code, agent.stdout]).toEqual([0, 'stopped\n'])
  expect(told()[3]).toContain('longer than 300 ms')
  const bad = await run('bad.md')
  expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('"memory"')])
})

const asking = '[permission]\ntodo = "ask"\n'
const step = (content: string): string =>
  `{ tool: 'todo', input: { todos: [{ content: '${content}', status: 'pending' }] } }`

it('calls of parallel() wait together; one is approved and one rejected by other processes, and the program continues', async () => {
  const { run, server } = await world(
    [
      `const list = glob({ pattern: '*.md' })
       const begun = Date.now() + Math.random()
       const all = parallel([${step('one')}, ${step('two')}, { tool: 'glob', input: { pattern: '*.md' } }])
       output(JSON.stringify(all))
       done()`,
    ],
    { 'ask.md': head('tools = ["todo", "glob"]') },
    { 'config.toml': asking },
  )
  const waits = await run('ask.md', '--on-ask', 'suspend')
  expect([waits.code, waits.stdout, server.requests.length]).toEqual([5, '', 1])
  expect(waits.stderr).toContain('waiting for approval: 2 calls\n')
  const place = 'task/0/agent/ask/turn/0/tool/0:code.execute/tool/1:todo'
  expect(waits.stderr).toContain(`1  todo  ${place}\n  todos: [{"content":"one","status":"pending"}]`)
  const rejected = await run('reject', 'last', '2', '--reason', 'not today', '--no-resume')
  expect(rejected).toMatchObject({ code: 0 })
  const done = await run('approve', 'last', '1')
  expect([done.code, server.requests.length]).toEqual([0, 1])
  const [first, second, third] = JSON.parse(done.stdout) as readonly unknown[]
  expect(first).toBe('- [ ] one')
  expect(second).toEqual({ error: 'Tool "todo" failed: rejected by the user: not today' })
  expect(third).toBe('ask.md')
})

it('skips questions that only Baton would ask if [code] says so, in the config of the user or in the file that is run', async () => {
  const plugin = `export default { id: 'p', setup({ tools, functions }) {
    tools.register({ name: 'add_up', description: 'Adds.', parameters: { type: 'object' }, run: () => '{"sum": 3}' })
    functions.register({ name: 'double', description: 'Twice as much.', run: (value) => 2 * value })
  } }`
  const files = {
    'ask.md': head('tools = ["add_up"]'),
    'trusting.md': head('tools = ["add_up"]', '[code]', 'auto_approve = true'),
  }
  const programs = [
    'try { output(double(add_up_sum())) } catch (error) { output(error.message) }\nfunction add_up_sum() { return addUp({}).sum }\ndone()',
  ]
  const { run } = await world(programs, files, { 'config.toml': 'plugins = ["./p.mjs"]', 'p.mjs': plugin })
  const asked = await run('ask.md')
  expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining('permission denied')])
  expect((await run('ask.md', '-c', 'code.auto_approve=true')).stdout).toBe('6\n')
  expect((await run('trusting.md')).stdout).toBe('6\n')
  // an explicit rule applies
  const ruled = await run('trusting.md', '-c', 'permission.add_up=ask')
  expect(ruled.stdout).toContain('permission denied')
})

it('a person at the terminal is asked while the program waits', async () => {
  const { cwd, env } = await world(
    [`try { output(todo(${step('one')}.input)) } catch (error) { output(error.message) }\ndone()`],
    { 'ask.md': head('tools = ["todo"]') },
    { 'config.toml': asking },
  )
  let isAnswered = false
  const { code, output } = await inTerminal('baton ask.md', {
    cwd,
    env,
    columns: 200,
    onScreen(terminal, type) {
      if (isAnswered || !terminal.everything().join('\n').includes('allow it?')) return
      isAnswered = true
      type('no, because it is late\n')
    },
  })
  expect([code, stripVTControlCharacters(output)]).toEqual([
    0,
    expect.stringContaining('Tool "todo" failed: rejected by the user: it is late'),
  ])
})

it('a program of interpreter_run waits for an approval too, and is run again from its first line', async () => {
  const code = `const text = read({ path: 'a.txt' })\nlog(text)\ntodo(${step('one')}.input)`
  const server = await startModelServer(({ body }): ModelReply => {
    const results = (body?.messages ?? []).filter(({ role }) => role === 'tool')
    return results.length === 0 ? callsTools(['interpreter_run', { code }]) : { text: `It gave ${results[0]?.content}` }
  })
  onTestFinished(() => server.close())
  const cwd = tempTree({
    '.git/HEAD': 'ref: refs/heads/main\n',
    'ask.md': '+++\nmodel = "m"\ntools = ["interpreter_run", "read", "todo"]\n+++\nDo it.\n',
    'a.txt': 'one\n',
  })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({ 'config/config.toml': asking }) }
  const waits = await baton(['ask.md', '--on-ask', 'suspend'], { cwd, env })
  expect([waits.code, waits.stderr]).toEqual([5, expect.stringContaining('waiting for approval: 1 call\n')])
  const done = await baton(['approve'], { cwd, env })
  expect([done.code, done.stdout]).toEqual([0, 'It gave Logs:\n1→one\n\nExecution result: "- [ ] one"\n'])
  expect(server.requests.length).toBe(2)
})

it('a program of interpreter_run calls tools after all earlier calls have ended, also next to such a call', async () => {
  const code = `try { enterPlan({ path: 'p.md' }) } catch {}\nread({ path: 'a.txt' })`
  const server = await startModelServer(({ body }): ModelReply => {
    const results = (body?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content)
    return results.length === 0
      ? callsTools(['interpreter_run', { code }], ['enter_plan', { path: 'q.md' }])
      : { text: results.join('; ') }
  })
  onTestFinished(() => server.close())
  const cwd = tempTree({
    '.git/HEAD': 'ref: refs/heads/main\n',
    'ask.md':
      '+++\nmodel = "m"\nwrite_mode = true\ntools = ["interpreter_run", "read", "write", "enter_plan"]\n+++\nDo it.\n',
    'a.txt': 'one\n',
  })
  const done = await baton(['ask.md'], { cwd, env: { BATON_GATEWAY_URL: server.url } })
  expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('Execution result: "1→one"')])
})
