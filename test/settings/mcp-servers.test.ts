import { strategies } from '../../src/strategies/strategies.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import { sha256 } from '../../src/base/hash.ts'
import { mcpTrustText } from '../../src/config/mcp-layer.ts'
import { issuesOf, throwIssues } from '../../src/settings/issue.ts'
import { describeOrigins } from '../../src/config/layers.ts'
import { loadRunSpec, type RunSpec } from '../../src/config/run-spec.ts'
import { loadTargetConfig } from '../../src/config/target-config.ts'
import { trustFile, writeTrusted } from '../../src/config/trust.ts'
import { toolIssues } from '../../src/load/named-tools.ts'
import { tempTree } from '../helpers/temp.ts'

/** A workspace, a home with the user's `config.toml` and `mcp.json`, and what is loaded there. */
function world(files: { readonly [path: string]: string }) {
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const around = { cwd, home: '/nowhere', env: { BATON_HOME: join(cwd, 'home') }, flags: { overrides: [] } }
  return {
    cwd,
    config: () => loadTargetConfig(around),
    spec: (file: string) => loadRunSpec({ ...around, file }),
    trust: (file: string, text: string): void => {
      const entry = { hash: sha256(mcpTrustText(text)), keys: [], since: '' }
      writeTrusted(trustFile(around), new Map([[join(cwd, file), entry]]))
    },
  }
}

async function refuseTools(spec: RunSpec): Promise<void> {
  throwIssues(await toolIssues(spec, strategies))
}

async function failures(loading: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await loading.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isBatonError(error)) return [`no BatonError but ${String(error)}`]
  return issuesOf(error).map(({ code, message, place }) => {
    const shown = place?.text === undefined ? 'hidden' : 'shown'
    return `${code} ${place?.file.replace(/^.*home\//, '')}:${place?.line}:${place?.column} (${shown}) ${message}`
  })
}

const user = (toml: string) => world({ 'home/config/config.toml': toml })

describe('[mcp_servers]', () => {
  it('contains programs and addresses, merged by name', async () => {
    const files = {
      'home/config/config.toml': `[mcp_servers.files]
command = "npx"
args = ["-y", "server", "\${HOME}"]
env = { LEVEL = "1" }
cwd = "docs"
startup_timeout_sec = 30
tool_timeout_sec = 1.5
tools = ["read_*"]
disallowed_tools = ["read_media"]
trusted = true
[mcp_servers.web]
type = "http"
url = "https://host.example/mcp"
headers = { X = "y" }
bearer_token_env = "WEB_TOKEN"
sampling = true
[mcp_servers.old]
enabled = false
`,
      'home/config/mcp.json':
        '{"mcpServers": {"files": {"command": "other"}, "gh": {"url": "http://127.0.0.1:1/", "type": "streamable-http"}}}',
    }
    const { settings } = await world(files).config()
    expect(settings.mcp_servers).toEqual({
      files: { command: 'other' },
      web: expect.objectContaining({ type: 'http', sampling: true }),
      old: { enabled: false },
      gh: { url: 'http://127.0.0.1:1/', type: 'http' },
    })
  })

  it('is missing in the settings if no server is configured', async () => {
    expect((await world({}).config()).settings).not.toHaveProperty('mcp_servers')
  })

  it.each([
    ['[mcp_servers.a]\ncommand = "x"\nurl = "http://h/"', '3:1 (hidden) the server "a" has both a command and a url'],
    ['[mcp_servers.a]\n', '1:14 (shown) the server "a" has neither a command nor a url'],
    ['[mcp_servers.a]\ntype = "http"', '1:14 (shown) the server "a" is of type "http" and has no url'],
    [
      '[mcp_servers.a]\ntype = "stdio"\nurl = "http://h/"',
      '2:1 (hidden) the server "a" has a url and is of type "stdio"',
    ],
    ['[mcp_servers.a]\ntype = "sse"\ncommand = "x"', '2:1 (hidden) the server "a" has a command and is of type "sse"'],
    ['[mcp_servers.a]\nurl = "http://h/"\nargs = []', '3:1 (hidden) the server "a" has a url, so "args" has no effect'],
    [
      '[mcp_servers.a]\ncommand = "x"\nheaders = {}',
      '3:1 (hidden) the server "a" has a command, so "headers" has no effect',
    ],
    [
      '[mcp_servers.a__b]\ncommand = "x"',
      '1:14 (shown) "a__b" cannot be the name of a server: it precedes "__" in the names of its tools',
    ],
    [
      '[mcp_servers."a b"]\ncommand = "x"',
      '1:14 (shown) "a b" cannot be the name of a server: it precedes "__" in the names of its tools',
    ],
    [
      '[mcp_servers.a]\nurl = "ftp://h/"',
      '2:7 (hidden) the url of the server "a" must be an http:// or https:// address without user name and password',
    ],
    [
      '[mcp_servers.a]\nurl = "http://u:pass@h/"',
      '2:7 (hidden) the url of the server "a" must be an http:// or https:// address without user name and password',
    ],
    [
      '[mcp_servers.a]\nurl = "http://h/"\nbearer_token_env = "a token"',
      '3:20 (hidden) "mcp_servers.a.bearer_token_env" must be the name of an environment variable',
    ],
    ['[mcp_servers.a]\nurl = "http://h/"\nheaders = { "a b" = "x" }', '3:13 (hidden) "a b" is not a valid header name'],
    [
      '[mcp_servers.a]\nurl = "http://h/"\nbearer_token_env = "T"\nheaders.authorization = "x"',
      '4:9 (hidden) the server "a" has bearer_token_env, which is the header Authorization',
    ],
    [
      '[mcp_servers.a]\nurl = "https://h/"\nauth_hosts = ["*.example.com"]',
      '3:15 (shown) "mcp_servers.a.auth_hosts[0]" must be a host such as "login.example.com" or "localhost:5432", not "*.example.com"',
    ],
    [
      '[mcp_servers.a]\ncommand = "x"\nauth_hosts = ["login.example.com"]',
      '3:1 (hidden) the server "a" has a command, so "auth_hosts" has no effect',
    ],
    ['[mcp_servers.a]\ncommand = "x"\nenv = { KEY = 4711 }', '3:15 (hidden) "mcp_servers.a.env.KEY" must be text'],
    ['[mcp_servers.a]\ncommand = "x"\nargs = "-k 4711"', '3:8 (hidden) "mcp_servers.a.args" must be a list of strings'],
    [
      '[mcp_servers.a]\ncommand = "x"\ntool_timeout_sec = 0',
      '3:20 (shown) "mcp_servers.a.tool_timeout_sec" must be a number from 0.1 to 1000000, not the number 0',
    ],
    ['[mcp_servers.a]\ncommand = "x"\ntimeout = 1', '3:1 (shown) unknown key "timeout" in mcp_servers.a'],
    ['[mcp_servers.a]\ncommand = "x"\napi_key = "k"', '3:1 (hidden) unknown key "api_key" in mcp_servers.a'],
  ])('is refused when it is invalid: %j', async (toml, expected) => {
    expect(await failures(user(toml).config())).toEqual([`CONFIG_INVALID config/config.toml:${expected}`])
  })

  it('may contain references in an address', async () => {
    const { settings } = await user('[mcp_servers.a]\nurl = "${BASE:-http://h}/mcp"').config()
    expect(settings.mcp_servers).toHaveProperty('a')
  })

  it('belongs to the user: config files of a folder, prompt files and -c need trust or are refused', async () => {
    const table = '[mcp_servers.a]\ncommand = "x"\n'
    expect(await failures(world({ 'baton.toml': table }).config())).toEqual([
      'UNTRUSTED baton.toml:1:2 (shown) "mcp_servers" may not be set by baton.toml: the file is not trusted',
    ])
    expect(await failures(world({ 'p.md': `+++\n${table}+++\nHi\n` }).spec('p.md'))).toEqual([
      'UNTRUSTED p.md:2:2 (shown) "mcp_servers" may not be set by p.md: the file is not trusted',
    ])
    const { cwd } = world({})
    const flags = { overrides: ['mcp_servers.a.command=x'] }
    await expect(loadTargetConfig({ cwd, home: '/nowhere', env: {}, flags })).rejects.toMatchObject({ code: 'USAGE' })
  })

  it('shows variables, but not values of env and headers', async () => {
    const config = await user(
      '[mcp_servers.a]\nurl = "http://h/mcp?key=4711"\nheaders = { A = "Bearer ${T}", B = "Bearer 4711", C = "${T:-4711}" }',
    ).config()
    const [row] = (await describeOrigins(config)).filter(({ key }) => key.startsWith('mcp_servers'))
    expect(row).toMatchObject({
      key: 'mcp_servers.a',
      value: { url: 'http://h/mcp', headers: { A: 'Bearer ${T}', B: '(hidden)', C: '(hidden)' } },
      origin: expect.stringMatching(/config\.toml:1$/),
    })
  })
})

const listed =
  '{\n  "mcpServers": {\n    "files": { "command": "x", "args": [] },\n    "web": { "url": "http://h/" }\n  }\n}\n'

describe('.mcp.json of a workspace', () => {
  it('applies once it is trusted, in the trusted version', async () => {
    const { cwd, config, trust } = world({
      '.mcp.json': listed,
      'home/config/config.toml': '[mcp_servers.files]\ncommand = "own"\n',
    })
    expect(await config()).toMatchObject({
      settings: { mcp_servers: { files: { command: 'own' } } },
      leftOut: [{ file: '.mcp.json', names: ['files', 'web'], isChanged: false }],
    })
    trust('.mcp.json', listed)
    expect(await config()).toMatchObject({
      settings: { mcp_servers: { files: { command: 'x' }, web: { url: 'http://h/' } } },
      leftOut: [],
    })
    writeFileSync(join(cwd, '.mcp.json'), listed.replace('"x"', '"y"'))
    expect(await config()).toMatchObject({
      settings: { mcp_servers: { files: { command: 'own' } } },
      leftOut: [{ names: ['files', 'web'], isChanged: true }],
    })
  })

  it('has lower priority than the config file of the workspace', async () => {
    const { config, trust } = world({ '.mcp.json': listed, 'baton.toml': 'seed = 1\n' })
    trust('.mcp.json', listed)
    const rows = await describeOrigins(await config())
    expect(rows.filter(({ key }) => key.startsWith('mcp_servers')).map(({ origin }) => origin)).toEqual([
      '.mcp.json:3',
      '.mcp.json:4',
    ])
  })

  it('may contain keys for other programs, which only baton check reports', async () => {
    const text =
      '{\n "inputs": [],\n "mcpServers": {\n  "a": { "command": "x", "autoApprove": [], "disabled": true } } }'
    const { config, trust } = world({ '.mcp.json': text })
    trust('.mcp.json', text)
    const { settings, notes } = await config()
    expect(settings.mcp_servers).toEqual({ a: { command: 'x', enabled: false } })
    expect(notes.map(({ message, place }) => `${place?.line} ${message}`)).toEqual([
      '2 nothing reads "inputs" in this file',
      '4 nothing reads "autoApprove" in this file',
    ])
  })

  it('is refused at its place if it is trusted but not JSON, and ignored before', async () => {
    const { config, trust } = world({ '.mcp.json': '{' })
    const { settings, leftOut } = await config()
    expect(settings).not.toHaveProperty('mcp_servers')
    const problem = '.mcp.json is not valid JSON: no matching } (line 1)'
    expect(leftOut).toEqual([{ file: '.mcp.json', names: [], isChanged: false, problem }])
    trust('.mcp.json', '{')
    const expected = 'CONFIG_INVALID .mcp.json:1:1 (shown) .mcp.json is not valid JSON: no matching }'
    expect(await failures(config())).toEqual([expected])
  })

  it.each([
    ['{"mcpServers": []}', [], '"mcpServers" must be an object of servers by name, not an empty list'],
    [
      '{"servers": {"a": {"command": "x"}}}',
      ['a'],
      'it has its servers below "servers", and only those below "mcpServers" are read',
    ],
    [
      '{"mcp": {"servers": {"a": {"url": "http://x"}}}}',
      ['a'],
      'it has its servers below "mcp" and "servers", and only those below "mcpServers" are read',
    ],
    ['{"a": {"command": "x"}}', ['a'], 'it has its servers at its top, and only those below "mcpServers" are read'],
  ])('is omitted with the reason if it has another structure: %s', async (text, names, problem) => {
    const { config, trust } = world({ '.mcp.json': text })
    const leftOut = [{ file: '.mcp.json', names, isChanged: false, problem }]
    expect(await config()).toMatchObject({ leftOut })
    trust('.mcp.json', text)
    expect(await config()).toMatchObject({ leftOut, settings: expect.not.objectContaining({ mcp_servers: {} }) })
  })

  it.each([
    ['a', '{"args": ["x"]}', 'the server "a" has neither a command nor a url', 'shown'],
    ['a', '{"command": "x", "env": {"K": 1}}', '"mcp_servers.a.env.K" must be text', 'hidden'],
    [
      'a b',
      '{"command": "x"}',
      '"a b" cannot be the name of a server: it precedes "__" in the names of its tools',
      'shown',
    ],
    ['a', '"npx x"', '"mcp_servers.a" must be a table, not "npx x"', 'shown'],
  ])('omits an unusable server, and keeps the others: %s %s', async (name, server, problem, shown) => {
    const text = `{"mcpServers": {"good": {"command": "node"},\n ${JSON.stringify(name)}: ${server}}}`
    for (const [file, home] of [
      ['.mcp.json', ''],
      ['home/config/mcp.json', 'home/config/'],
    ] as const) {
      const { config, trust } = world({ [file]: text })
      if (home === '') trust(file, text)
      const { settings, leftOut, notes } = await config()
      expect(settings.mcp_servers).toEqual({ good: { command: 'node' } })
      expect(leftOut).toMatchObject([{ names: [name], isChanged: false, problem }])
      expect(
        notes.map(
          ({ message, place }) => `${place?.line} ${place?.text === undefined ? 'hidden' : 'shown'} ${message}`,
        ),
      ).toEqual([`2 ${shown} ${problem}`])
    }
  })

  it('reports an error in a server, or in the file, if tools names it', async () => {
    const tools = '+++\ntools = ["a__*"]\n+++\nHi\n'
    const checked = async (text: string): Promise<readonly string[]> => {
      const { spec, trust } = world({ '.mcp.json': text, 'p.md': tools })
      trust('.mcp.json', text)
      return failures(spec('p.md').then(refuseTools))
    }
    expect(await checked('{"mcpServers": {"a": {}, "b": {"command": "x"}}}')).toEqual([
      'CONFIG_INVALID .mcp.json:undefined:undefined (hidden) tools names the server "a" of .mcp.json, and the server "a" has neither a command nor a url',
    ])
    expect(await checked('{"servers": {"a": {"command": "x"}}}')).toEqual([
      'CONFIG_INVALID .mcp.json:undefined:undefined (hidden) tools names the server "a" of .mcp.json, and it has its servers below "servers", and only those below "mcpServers" are read',
    ])
    expect(await checked('{"mcpServers": 1}')).toEqual([
      'CONFIG_INVALID p.md:2:10 (shown) "a__*" belongs to the MCP server "a", which is not configured, and .mcp.json is left out: "mcpServers" must be an object of servers by name, not the number 1',
    ])
  })

  it('is an error without trust if tools names one of its servers', async () => {
    const { spec } = world({
      '.mcp.json': listed,
      'named.md': '+++\ntools = ["read", "files__read"]\n+++\nHi\n',
      'pattern.md': '+++\ntools = ["mcp__web__*"]\n+++\nHi\n',
      'option.md': '+++\nsub_agents = [{ name = "x", options = { tools = ["web__get"] } }]\n+++\nHi\n',
      'other.md': '+++\ntools = ["*", "read"]\n+++\nHi\n',
    })
    const checked = async (file: string) => refuseTools(await spec(file))
    const untrusted = (name: string): readonly string[] => [
      `UNTRUSTED .mcp.json:undefined:undefined (hidden) tools names the server "${name}" of .mcp.json, and the file is not trusted`,
    ]
    expect(await failures(checked('named.md'))).toEqual(untrusted('files'))
    expect(await failures(checked('pattern.md'))).toEqual(untrusted('web'))
    expect(await failures(checked('option.md'))).toEqual(untrusted('web'))
    await checked('other.md')
  })
})
