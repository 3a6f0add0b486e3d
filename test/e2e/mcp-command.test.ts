import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, type BatonResult, root } from '../helpers/baton.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'

const program = join(root, 'test/fixtures/mcp/stdio.mjs')

/** A workspace with a file that lists each process of the server, and a home whose config names servers. */
function world(servers: object = {}) {
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n' })
  const pids = join(cwd, 'pids')
  const test = { command: '/bin/sh', args: ['-c', `echo $$ >> '${pids}'; exec "$0" "$1"`, process.execPath, program] }
  const home = tempTree({ 'config/mcp.json': JSON.stringify({ mcpServers: { test, ...servers } }) })
  const mcp = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<BatonResult> =>
    baton(['mcp', ...args], { cwd, env: { BATON_HOME: home, ...env } })
  return {
    cwd,
    env: { PATH: process.env['PATH'], HOME: home, BATON_HOME: home },
    mcp,
    pids,
    /** The server processes that were started and are still running. */
    left: () => readFileSync(pids, 'utf8').trim().split('\n').filter(isRunning),
  }
}

function isRunning(pid: string): boolean {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch {
    return false
  }
}

const rows = (text: string): readonly unknown[] =>
  text
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line))

describe('baton mcp list', () => {
  it('names servers without starting them, and hides their secrets', async () => {
    const { mcp } = world({
      web: { url: 'https://h.example/mcp?key=s3cret-value', enabled: false },
      arg: { command: 'x', args: ['${KEY}', '--k=s3cret-value'], env: { A: 's3cret-value' } },
    })
    const { stdout, code } = await mcp(['list', '--json'], { KEY: 's3cret-too' })
    expect(rows(stdout)).toEqual([
      expect.objectContaining({
        name: 'test',
        transport: 'stdio',
        state: 'on',
        origin: expect.stringMatching(/mcp\.json:1$/),
      }),
      expect.objectContaining({ name: 'arg', target: 'x ${KEY} --k=«secret:mcp_servers.web.url?key»' }),
      expect.objectContaining({ name: 'web', transport: 'http', target: 'https://h.example/mcp', state: 'off' }),
    ])
    expect(stdout).not.toContain('s3cret')
    expect(code).toBe(0)
  })

  it('shows with --check which of them answer', async () => {
    const { mcp, left } = world({
      gone: { command: 'no-such-program' },
      needs: { command: 'x', args: ['${NOT_SET_HERE}'] },
    })
    const { stdout, code } = await mcp(['list', '--check', '--json'])
    expect(rows(stdout)).toEqual([
      expect.objectContaining({ name: 'test', state: 'ok', server: 'scripted 1.2.3', tools: expect.any(Number) }),
      expect.objectContaining({ name: 'gone', state: 'failed', error: expect.stringContaining('no-such-program') }),
      expect.objectContaining({ name: 'needs', state: 'failed', error: expect.stringContaining('NOT_SET_HERE') }),
    ])
    expect(code).toBe(1)
    expect(left()).toEqual([])
  })
})

describe('baton mcp tools', () => {
  it('shows tools, resources and prompts', async () => {
    const { mcp } = world()
    const { stdout, stderr } = await mcp(['tools', 'test'])
    expect(stderr).toBe('test says: Use echo for texts.\n')
    expect(stdout).toContain('echo: Gives its text back. (only reads, according to the server)\n  text: string\n')
    expect(stdout).toContain('memo://{name}: resources: Any memo.\n')
    expect(stdout).toContain(
      'job: Does its work as a task.\n  runs only as an MCP task, which Baton does not support\n',
    )
    expect(stdout).toContain('greet: prompt who [how]: Greets somebody.\n')
    const json = rows((await mcp(['tools', 'test', '--json'])).stdout)
    expect(json).toContainEqual(
      expect.objectContaining({ kind: 'tool', server: 'test', name: 'add', output: expect.anything() }),
    )
    expect(json).toContainEqual(expect.objectContaining({ kind: 'resource', uri: 'memo://one', size: 14 }))
  })
})

describe('baton mcp call', () => {
  it('prints texts, and writes bytes to files', async () => {
    const { cwd, mcp, left } = world()
    expect(await mcp(['call', 'test', 'echo', '--args', '{"text": "a \\u001b[2J b"}'])).toMatchObject({
      stdout: 'a \u001b[2J b\n',
      code: 0,
    })
    const { stdout } = await mcp(['call', 'test', 'picture', '--output', 'out'])
    expect(stdout).toBe(
      `here they are\nimage: ${join(cwd, 'out/2.png')}\naudio: ${join(cwd, 'out/3.wav')}\none: memo://one\nthe second memo\n`,
    )
    expect(readFileSync(join(cwd, 'out/2.png')).subarray(1, 4).toString()).toBe('PNG')
    const [json] = rows((await mcp(['call', 'test', 'add', '--args', '{"a": 1, "b": 2}', '--json'])).stdout)
    expect(json).toEqual({
      server: 'test',
      tool: 'add',
      content: [{ type: 'text', text: '3' }],
      structured: { sum: 3 },
      is_error: false,
    })
    expect(left()).toEqual([])
  })

  it('and the other commands escape texts of a server on a terminal; a file gets them unchanged', async () => {
    const words = '\u001b[2J\u001b]0;pwned\u0007\u009b31m\u202eback\nforged: line'
    const switches = JSON.stringify({ tools: [words], name: words, instructions: words })
    const { cwd, env, mcp } = world({ evil: { command: process.execPath, args: [program, switches] } })
    writeFileSync(join(cwd, 'p.md'), '+++\nmodel = "offline::extractive"\ntools = ["evil__*"]\n+++\nHi\n')
    const call = `baton mcp call evil '${words}'`
    const shown = await inTerminal(
      `baton mcp tools evil; baton mcp list --check; ${call}; ${call} --json; baton plan p.md`,
      { cwd, env: { BATON_HOME: env.BATON_HOME }, columns: 500 },
    )
    expect(shown.output.match(/␛\[2J/g)?.length).toBeGreaterThan(4)
    // oxlint-disable-next-line no-control-regex
    expect(shown.output.replaceAll(/\u001b\[\d*m|\r/g, '')).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
    // only the output of a tool may start its own lines
    expect(shown.output.match(/^forged: line/gm)).toHaveLength(1)
    const { stdout } = await mcp(['call', 'evil', words])
    expect(stdout).toBe(`${words} of the server\n`)
  })

  it('fails as the tool does, and shows its progress with -v', async () => {
    const { mcp } = world()
    expect(await mcp(['call', 'test', 'progress', '-v', '--args', '{"steps": 2}'])).toMatchObject({
      stdout: 'done\n',
      stderr: expect.stringMatching(/^1\/2 step 1\n(?:.*\n)*2\/2 step 2\n$/),
    })
    expect(await mcp(['call', 'test', 'fail'])).toMatchObject({
      stdout: 'it did not work\n',
      stderr: 'the tool fail reports that it failed\n',
      code: 1,
    })
    expect(await mcp(['call', 'test', 'crash'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('out of cheese'),
    })
  })

  it('ends at the configured limit for a call (R305)', async () => {
    const { mcp } = world({ brief: { command: process.execPath, args: [program], tool_timeout_sec: 0.3 } })
    const { stderr, code } = await mcp(['call', 'brief', 'slow', '--args', '{"ms": 600000}'])
    expect(stderr).toMatch(/error: .*brief.*300 ms|error: .*brief.*0\.3/)
    expect(code).toBe(1)
  })

  it('is stopped by Ctrl-C, and leaves no process', async () => {
    const { cwd, env, pids, left } = world()
    const args = ['mcp', 'call', 'test', 'slow', '--args', '{"ms": 600000}']
    const child = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), ...args], { cwd, env, stdio: 'ignore' })
    const ended = once(child, 'exit')
    try {
      await expect.poll(() => (existsSync(pids) ? left() : []), { timeout: 20_000 }).toHaveLength(1)
    } finally {
      child.kill('SIGINT')
    }
    expect(await ended).toEqual([130, null])
    expect(left()).toEqual([])
  })

  it.each([
    [['call', 'test'], 2, 'baton mcp call takes SERVER TOOL'],
    [['tools'], 2, 'baton mcp tools takes SERVER'],
    [['list', 'x'], 2, 'baton mcp list takes no name'],
    [['tools', 'test', '--check'], 2, '--check is not a flag of baton mcp tools'],
    [['call', 'test', 'echo', '--args', '[1]'], 2, '--args is not an object'],
    [['call', 'test', 'echo', '--args', '{'], 2, '--args is not JSON'],
    [['call', 'off', 'x'], 2, 'the server off is disabled'],
    [['call', 'tset', 'x'], 1, 'there is no MCP server tset'],
  ])('%j is refused with the reason', async (args, code, message) => {
    const result = await world({ off: { enabled: false } }).mcp(args)
    expect(result).toMatchObject({ code, stderr: expect.stringContaining(message) })
  })
})
