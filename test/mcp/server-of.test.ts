import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadTargetConfig } from '../../src/config/target-config.ts'
import type { McpServer } from '../../src/event/mcp.ts'
import { serversOf } from '../../src/mcp/server-of.ts'
import { tempTree } from '../helpers/temp.ts'

type Env = Readonly<Record<string, string>>

async function servers(
  toml: string,
  env: Env = {},
): Promise<{ readonly root: string; readonly all: readonly McpServer[] }> {
  const root = tempTree({ '.git/HEAD': '', 'home/config/config.toml': toml })
  const around = { cwd: root, home: '/nowhere', env: { BATON_HOME: join(root, 'home') } }
  const { settings, origins, workspace } = await loadTargetConfig({ ...around, flags: { overrides: [] } })
  return { root, all: serversOf({ settings, origins, workspace, env }) }
}

async function transportOf(toml: string, env?: Env): Promise<unknown> {
  const { root, all } = await servers(`[mcp_servers.a]\n${toml}`, env)
  const text = JSON.stringify(all[0]?.transport())
  return JSON.parse(text.replaceAll(root, '<root>'))
}

describe('servers of settings', () => {
  it('have limits of 10 and 60 seconds by default (R17, R304, R305)', async () => {
    const { all } = await servers(`seed = 1
[mcp_servers.a]
command = "x"
[mcp_servers.b]
url = "http://h/"
startup_timeout_sec = 2.5
tool_timeout_sec = 600
tools = ["read_*"]
disallowed_tools = ["read_all"]
trusted = true
sampling = true
[mcp_servers.c]
command = "x"
enabled = false
`)
    expect(all).toEqual([
      {
        name: 'a',
        transport: expect.any(Function),
        startMs: 10_000,
        toolMs: 60_000,
        isTrusted: false,
        sampling: false,
        secrets: expect.any(Function),
        origin: expect.stringMatching(/config\.toml:2$/),
      },
      {
        name: 'b',
        transport: expect.any(Function),
        startMs: 2500,
        toolMs: 600_000,
        tools: ['read_*'],
        disallowedTools: ['read_all'],
        isTrusted: true,
        sampling: true,
        secrets: expect.any(Function),
        origin: expect.stringMatching(/config\.toml:4$/),
      },
    ])
  })

  it.each([
    ['command = "npx"', { kind: 'stdio', command: 'npx', args: [], env: {}, cwd: '<root>' }],
    [
      'command = "./bin/${NAME}"\nargs = ["${A}", "-${NOT:-none}-", "$A ${not a name}"]\nenv = { K = "${A}${A}" }\ncwd = "docs"',
      {
        kind: 'stdio',
        command: '<root>/docs/bin/server',
        args: ['one ${B}', '-none-', '$A ${not a name}'],
        env: { K: 'one ${B}one ${B}' },
        cwd: '<root>/docs',
      },
    ],
    ['command = "/bin/x"\ncwd = "/srv"', { kind: 'stdio', command: '/bin/x', args: [], env: {}, cwd: '/srv' }],
    ['url = "http://h/${NAME}"', { kind: 'http', url: 'http://h/server', headers: {}, isNamed: false }],
    [
      'url = "https://h/"\nauth_hosts = ["login.example"]',
      { kind: 'http', url: 'https://h/', headers: {}, isNamed: false, authHosts: ['login.example'] },
    ],
    ['url = "http://h/"\ntype = "http"', { kind: 'http', url: 'http://h/', headers: {}, isNamed: true }],
    [
      'url = "http://h/"\ntype = "sse"\nbearer_token_env = "KEY"\nheaders = { X = "${NAME}" }',
      { kind: 'sse', url: 'http://h/', headers: { X: 'server', Authorization: 'Bearer k-1' }, isNamed: true },
    ],
  ])('are connected with the values of variables: %j', async (toml, expected) => {
    expect(await transportOf(toml, { NAME: 'server', A: 'one ${B}', KEY: ' k-1\n', B: 'two' })).toEqual(expected)
  })

  it.each([
    ['command = "${NOPE}"', 'KEY_MISSING', 'the MCP server a needs the variable NOPE, which is not set'],
    [
      'command = "x"\nenv = { A = "${EMPTY}" }',
      'KEY_MISSING',
      'the MCP server a needs the variable EMPTY, which is not set',
    ],
    [
      'url = "http://h/"\nbearer_token_env = "BLANK"',
      'KEY_MISSING',
      'the MCP server a needs the variable BLANK, which is not set',
    ],
    [
      'url = "${KEY}"',
      'CONFIG_INVALID',
      'the url of the MCP server a is not an http:// or https:// address without user name and password',
    ],
  ])('cannot be connected without them: %j', async (toml, code, message) => {
    const reached = transportOf(toml, { EMPTY: '', BLANK: ' ', KEY: 'file:///k-1' })
    await expect(reached).rejects.toMatchObject({ code, message, hint: expect.stringMatching(/config\.toml:1/) })
  })
})
