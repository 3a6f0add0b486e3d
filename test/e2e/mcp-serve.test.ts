import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it, onTestFinished } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { startOAuthWorld } from '../helpers/oauth-world.ts'
import { tempTree } from '../helpers/temp.ts'

const command = join(root, 'dist/bin/baton.js')
const files = {
  '.git/HEAD': 'x\n',
  'greet.md': '+++\nagent = "greet.lua"\n[input.name]\nrequired = true\n+++\nHello {{input.name}}\n',
  'greet.lua': 'print("to nobody") return input.instruction',
}

function environment(home: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home, BATON_HOME: home, BATON_LOCAL_SERVERS: 'off' }
}

const textOf = ({ content }: { readonly content: readonly object[] }): string =>
  content.map((part) => ('text' in part ? String(part.text) : '')).join('')

describe('baton mcp serve', () => {
  it.each(['auto', 'legacy'] as const)('uses standard input and output (%s)', async (mode) => {
    const cwd = tempTree(files)
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const args = [command, 'mcp', 'serve', 'greet.md']
    const env = environment(tempTree())
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, env, stderr: 'ignore' }))
    onTestFinished(() => client.close())
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['greet'])
    expect(textOf(await client.callTool({ name: 'greet', arguments: { name: 'Ada' } }))).toBe('Hello Ada')
  })

  it('listens with its own secret, and ends with Ctrl-C', async () => {
    const child = spawn(process.execPath, [command, 'mcp', 'serve', 'greet.md', '--port', '0'], {
      cwd: tempTree(files),
      env: environment(tempTree()),
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [url, secret] = await Promise.all([
      seen(child, 'stdout', /http:\S+/),
      seen(child, 'stderr', /(?<=secret: )\S+/),
    ])
    const client = new Client({ name: 'test', version: '1' })
    const requestInit = { headers: { authorization: `Bearer ${secret}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
    expect(textOf(await client.callTool({ name: 'greet', arguments: { name: 'Ada' } }))).toBe('Hello Ada')
    child.kill('SIGINT')
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(130)
  })

  it.each([
    [['serve'], 'name the files to serve'],
    [['serve', 'missing.md'], 'missing.md'],
    [['serve', 'greet.md', '--port', '70000'], '--port takes a number from 0 to 65535, not "70000"'],
    [['serve', 'greet.md', '--check'], '--check is not a flag of baton mcp serve'],
    [['list', '--port', '1'], '--port is not a flag of baton mcp list'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await baton(['mcp', ...args], { cwd: tempTree(files) })
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})

describe('baton mcp login', () => {
  it('prints the address, waits for the browser, and is used by calls until it is removed', async () => {
    const world = await startOAuthWorld()
    const home = tempTree({ 'config/mcp.json': JSON.stringify({ mcpServers: { guarded: { url: world.url } } }) })
    const options = { cwd: tempTree({ '.git/HEAD': 'x\n' }), env: { BATON_HOME: home } }
    const before = await baton(['mcp', 'call', 'guarded', 'whoami'], options)
    expect([before.code, before.stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining('baton mcp login guarded'),
    ])
    const visited: Promise<unknown>[] = []
    const login = await baton(['mcp', 'login', 'guarded', '--no-browser'], {
      ...options,
      process: 'own',
      onError(text) {
        const [address] = /http:\S+authorize\S+(?=\n)/.exec(text) ?? []
        if (address !== undefined && visited.length === 0) visited.push(fetch(address))
      },
    })
    expect([login.code, login.stdout]).toEqual([0, 'logged in to guarded\n'])
    expect((await baton(['mcp', 'call', 'guarded', 'whoami'], options)).stdout).toBe('Ada\n')
    expect((await baton(['mcp', 'logout', 'guarded'], options)).stdout).toBe('logged out of guarded\n')
    expect((await baton(['mcp', 'call', 'guarded', 'whoami'], options)).code).not.toBe(0)
  })

  it('names a server that cannot be reached', async () => {
    const servers = { away: { url: 'http://127.0.0.1:1/mcp' } }
    const home = tempTree({ 'config/mcp.json': JSON.stringify({ mcpServers: servers }) })
    const options = { cwd: tempTree({ '.git/HEAD': 'x\n' }), env: { BATON_HOME: home } }
    const login = await baton(['mcp', 'login', 'away'], options)
    expect([login.code, login.stderr]).toEqual([1, expect.stringContaining('the MCP server away cannot be reached')])
  })

  it('is refused for programs and unknown servers', async () => {
    const home = tempTree({ 'config/mcp.json': JSON.stringify({ mcpServers: { local: { command: 'true' } } }) })
    const options = { cwd: tempTree({ '.git/HEAD': 'x\n' }), env: { BATON_HOME: home } }
    const local = await baton(['mcp', 'login', 'local'], options)
    expect([local.code, local.stderr]).toEqual([2, expect.stringContaining('local is a program')])
    const unknown = await baton(['mcp', 'logout', 'locl'], options)
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('there is no MCP server locl')])
  })
})

function seen(child: ChildProcessWithoutNullStreams, stream: 'stdout' | 'stderr', pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child[stream].setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      const [found] = pattern.exec(text) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(`it has ended: ${text}`)))
  })
}
