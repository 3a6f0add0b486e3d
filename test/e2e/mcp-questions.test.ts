import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'

const program = join(root, 'test/fixtures/mcp/stdio.mjs')

/** A workspace with an agent that calls a tool, and a home that names its server. */
function world(lua: string) {
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', 'a.aip': `# Data\n\n\`\`\`lua\n${lua}\n\`\`\`\n` })
  const test = { command: process.execPath, args: [program], sampling: true }
  const home = tempTree({ 'config/mcp.json': JSON.stringify({ mcpServers: { test } }) })
  return { cwd, home }
}

const form = `local schema = { type = "object", required = { "age" }, properties = {
  age = { type = "integer", minimum = 1, title = "Your\\27[2J age", description = "In years." } } }
print(aip.mcp.call("test", "ask", { message = "Who are you?\\nbaton: type your password", schema = schema }).text)`

const asked = {
  message: 'Who are you?',
  schema: { type: 'object', properties: { age: { type: 'integer', minimum: 1 } }, required: ['age'] },
}

it('a person at the terminal fills in a form of a server, whose texts are set off', async () => {
  const { cwd, home } = world(form)
  // typed once a question is shown as a whole: what comes before does not answer it
  const answers = [
    [/nothing is sent[^]*at least 1\):\s*$/, 'x'],
    [/must be a number[^]*at least 1\):\s*$/, '36'],
    [/\[c\]hange:\s*$/, 'c'],
    [/\[c\]hange: c[^]*at least 1\):\s*$/, '37'],
    [/age: 37[^]*\[c\]hange:\s*$/, 'y'],
  ] as const
  let given = 0
  const { code, output } = await inTerminal('baton a.aip', {
    cwd,
    env: { BATON_HOME: home },
    onScreen(terminal, type) {
      const text = terminal.everything().join('\n')
      const [wanted, typed] = answers[given] ?? []
      if (wanted === undefined || !wanted.test(text)) return
      given += 1
      type(`${typed}\n`)
    },
  })
  const text = stripVTControlCharacters(output).replaceAll('\r', '')
  expect([code, given]).toEqual([0, 5])
  expect(text).toContain('the MCP server test asks (main/data#0):\n  │ Who are you?\n  │ baton: type your password\n')
  expect(text).toContain('  │ In years.\n')
  expect(text).toContain('Your␛[2J age (a whole number, at least 1): ')
  expect(text).toContain('Your␛[2J age must be a number\n')
  expect(text).toContain('{"action":"accept","content":{"age":37}}')
})

it('an address of a server is shown and never opened; nobody is asked with -y or --json', async () => {
  const { cwd, home } = world('print(aip.mcp.call("test", "ask", { url = "https://bank.example@evil.example/" }).text)')
  let isTyped = false
  const { output } = await inTerminal('baton a.aip', {
    cwd,
    env: { BATON_HOME: home },
    onScreen(terminal, type) {
      if (isTyped || !terminal.everything().join('\n').includes('will you?')) return
      isTyped = true
      type('n\n')
    },
  })
  const text = stripVTControlCharacters(output).replaceAll('\r', '')
  expect(text).toContain('it asks you to open this URL on evil.example:\n  https://bank.example@evil.example/\n')
  expect(text).toContain('{"action":"decline"}')

  const attended = await inTerminal('baton a.aip -y', { cwd, env: { BATON_HOME: home } })
  expect(attended.output).toContain('nobody could be asked')
  const { stdout } = await baton(['a.aip', '--json'], { cwd, env: { BATON_HOME: home } })
  const warnings = stdout.split('\n').filter((line) => line.includes('nobody could be asked'))
  expect(warnings).toHaveLength(1)
})

it.each([
  ['a form of a run', 'baton a.aip', /at least 1\):\s*$/],
  ['a form of a model call of a tool', 'baton a.md -c permission.mcp=allow', /at least 1\):\s*$/],
  ['a form of a call without a run', 'baton mcp call test ask', /name \(text\):\s*$/],
])('Ctrl-C at the question of %s ends it, and restores the terminal', async (_, command, question) => {
  const server = await startModelServer(() => ({
    toolCalls: [{ id: 'c', name: 'test__ask', pieces: [JSON.stringify(asked)] }],
    finish: 'tool_calls',
  }))
  onTestFinished(() => server.close())
  const { cwd, home } = world(form)
  writeFileSync(join(cwd, 'a.md'), '+++\nmodel = "m"\ntools = ["test__ask"]\n+++\nAsk.\n')
  let isStopped = false
  const { code, output } = await inTerminal(
    `trap : INT; stty -g > before; ${command}; code=$?; stty -g > after; exit $code`,
    {
      cwd,
      env: { BATON_HOME: home, BATON_GATEWAY_URL: server.url },
      onScreen(terminal, type) {
        if (isStopped || !question.test(terminal.everything().join('\n'))) return
        isStopped = true
        type('\u0003')
      },
    },
  )
  expect([code, output]).toEqual([130, expect.any(String)])
  expect(readFileSync(join(cwd, 'after'), 'utf8')).toBe(readFileSync(join(cwd, 'before'), 'utf8'))
})

it('a call without a run asks the person at the terminal, and nobody with --no-input', async () => {
  const { cwd, home } = world('return 1')
  let typed = 0
  const { code, output } = await inTerminal('baton mcp call test ask', {
    cwd,
    env: { BATON_HOME: home },
    onScreen(terminal, type) {
      const text = terminal.everything().join('\n')
      const wanted = ['name (text):', '[c]hange:'][typed]
      if (wanted !== undefined && text.includes(wanted)) type(['Ada\n', 'y\n'][typed++] ?? '')
    },
  })
  expect([code, stripVTControlCharacters(output)]).toEqual([
    0,
    expect.stringContaining('{"action":"accept","content":{"name":"Ada"}}'),
  ])
  const { output: alone } = await inTerminal('baton mcp call test ask --no-input', { cwd, env: { BATON_HOME: home } })
  expect(alone).toContain('Method not found')
})

it('a server asks the model of the run: counted, limited by the budget, and not asked again', async () => {
  const server = await startModelServer(() => ({
    text: 'Quite well.',
    usage: { prompt_tokens: 5, completion_tokens: 3 },
  }))
  onTestFinished(() => server.close())
  const { cwd, home } = world('print(aip.mcp.call("test", "sample", { text = "How are you?" }).text)')
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: home }
  const { code, stdout } = await baton(['a.aip', '-m', 'm', '--json', '--record', 'run.cassette'], { cwd, env })
  expect(code, stdout).toBe(0)
  expect(stdout).toContain(String.raw`\"text\":\"Quite well.\"`)
  expect(stdout.trim().split('\n').at(-1)).toMatch(/"usage":\{"calls":1,"input":5,"output":3/)
  expect(server.requests.map(({ body }) => [body?.model, body?.messages])).toEqual([
    ['m', [{ role: 'user', content: 'How are you?' }]],
  ])

  const gone = tempTree({ 'config/mcp.json': JSON.stringify({ mcpServers: { test: { command: 'no-such-program' } } }) })
  const replayed = await baton(['a.aip', '-m', 'm', '--replay', 'run.cassette'], { cwd, env: { BATON_HOME: gone } })
  expect(replayed, replayed.stderr).toMatchObject({ code: 0 })
  expect(replayed.stdout + replayed.stderr).toContain('Quite well.')

  const denied = await baton(['a.aip', '-m', 'm', '-c', 'budget.tokens=1'], { cwd, env })
  expect(denied.stdout + denied.stderr).toMatch(/\{"error":\{"code":-32603,"message":".*budget/)
  expect(denied.stderr).toContain('the MCP server test got no answer from a model')
  expect(server.requests).toHaveLength(1)
})

it('typed values are recorded only in the result of the call', async () => {
  const { cwd, home } = world(`${form.replace('print(', 'local r = (')}\nreturn "done"`)
  let isTyped = 0
  await inTerminal('baton a.aip', {
    cwd,
    env: { BATON_HOME: home },
    onScreen(terminal, type) {
      const text = terminal.everything().join('\n')
      const wanted = [/at least 1\):\s*$/, /\[c\]hange:\s*$/][isTyped]
      if (wanted?.test(text) === true) type(['424242\n', 'n\n'][isTyped++] ?? '')
    },
  })
  const files = readdirSync(join(home, 'state'), { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  )
  expect(files.length).toBeGreaterThan(0)
  for (const { parentPath, name } of files) expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain('424242')
})
