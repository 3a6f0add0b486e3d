import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const program = join(root, 'test/fixtures/mcp/stdio.mjs')

function world() {
  const test = { command: process.execPath, args: [program] }
  const home = tempTree({ 'config/mcp.json': JSON.stringify({ mcpServers: { test } }) })
  const cwd = tempTree({ '.git/HEAD': 'x\n' })
  return (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    baton(args, { cwd, env: { BATON_HOME: home, ...env } })
}

describe('a prompt of a server', () => {
  it('runs as a text, with its arguments', async () => {
    const model = await startModelServer([{ text: 'Hello.' }])
    const { code, stdout, stderr } = await world()(['mcp:test/greet', '--var', 'who=Ada', '-m', 'm'], {
      BATON_GATEWAY_URL: model.url,
    })
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('Hello.'), expect.any(String)])
    expect(JSON.stringify(model.requests[0])).toContain('User: Greet Ada.\\n\\nAssistant: With pleasure.')
  })

  it.each([
    [['mcp:test/gret'], 'has no prompt "gret"'],
    [['mcp:test/greet', '--var', 'whom=Ada'], 'has no argument "whom"'],
    [['mcp:nobody/greet'], 'there is no MCP server nobody'],
    [['mcp:test'], 'does not name a prompt'],
  ])('that is unavailable is reported before a model is asked: %j', async (args, message) => {
    const { code, stderr } = await world()(args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(message)
  })
})
