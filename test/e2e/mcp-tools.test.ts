import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baton, jsonLines, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

function config(...rules: readonly string[]): string {
  const args = JSON.stringify([join(root, 'test/fixtures/mcp/stdio.mjs'), '{}'])
  return `[mcp_servers.calc]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${args}\n[permission]\n${rules.join('\n')}\n`
}

const prompt = (tools: string): string => `+++\nmodel = "m"\ntools = ${tools}\n+++\nAdd.\n`

it('a prompt file uses the tools of a server, from the plan to the answer', async () => {
  const replies = [
    callsTools(['calc__add', { a: 2, b: 3 }]),
    callsTools(['calc__progress', { steps: 2 }]),
    { text: 'It is five.' },
  ]
  const model = await startToolModel(replies)
  const home = tempTree({ 'config/config.toml': config('mcp = { "calc__add" = "allow", "calc__progress" = "allow" }') })
  const cwd = tempTree({
    'sum.md': prompt('["calc__*"]'),
    'none.md': prompt('["calc__sum"]'),
    'other.md': prompt('["clac__add"]'),
    'a.lua': 'print(aip.mcp.call("calc", "add", { a = 4, b = 5 }).structured.sum)',
  })
  const run = (...args: readonly string[]) =>
    baton(args, { cwd, env: { BATON_GATEWAY_URL: model.url, BATON_HOME: home } })
  const plan = await run('plan', 'sum.md')
  expect(plan.stdout).toContain('calc__* (ask, 2 rules by pattern)')
  const ran = await run('sum.md', '--json')
  expect(ran).toMatchObject({ code: 0 })
  const tool = jsonLines(ran.stdout).filter((event) => String((event as { type?: string }).type).startsWith('tool.'))
  expect(tool).toMatchObject([
    { type: 'tool.started', name: 'calc__add', server: 'calc', input: { a: 2, b: 3 } },
    { type: 'tool.completed', name: 'calc__add', server: 'calc', output: '5\n{"sum":5}', is_error: false },
    { type: 'tool.started', name: 'calc__progress' },
    { type: 'tool.progress', name: 'calc__progress', server: 'calc', done: 1, total: 2, message: 'step 1' },
    { type: 'tool.progress', done: 2, message: 'step 2' },
    { type: 'tool.completed', name: 'calc__progress', output: 'done' },
  ])
  expect(await run('a.lua')).toMatchObject({ code: 0, stdout: '9\n' })
  expect(await run('none.md')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/the MCP server calc has no tool "sum"/),
  })
  expect(await run('check', 'other.md')).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/Did you mean "calc"\?/),
  })
})
