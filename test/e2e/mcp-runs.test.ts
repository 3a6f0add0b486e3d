import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const program = join(root, 'test/fixtures/mcp/stdio.mjs')
const agent = `# Output

\`\`\`lua
local asked = aip.json.parse(input)
local gave = aip.mcp.call("test", asked.tool, asked.args)
return gave.text
\`\`\`
`

/** A workspace whose \`.mcp.json\` names a server that logs its process. */
function world() {
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', 'ask.aip': agent })
  const home = tempTree({})
  const pids = join(cwd, 'pids')
  const script = `echo $$ >> '${pids}'; exec "$0" "$1"`
  const test = { command: '/bin/sh', args: ['-c', script, process.execPath, program], env: { API_KEY: '${KEY}' } }
  writeFileSync(join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { test } }))
  return {
    home,
    run: (...args: readonly string[]) => baton(args, { cwd, env: { BATON_HOME: home, KEY: 's3cret-value' } }),
    started: () => (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : []),
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const call = (tool: string, args: object): string => JSON.stringify({ tool, args })

describe('a run with an MCP server of the workspace', () => {
  it('refuses the server until its file is trusted, then starts it and ends it', async () => {
    const { run, started } = world()
    const refused = await run('run', 'ask.aip', '-i', call('echo', { text: 'hello' }))
    expect(refused.stderr).toContain('the MCP server "test" of .mcp.json cannot be used: the file is not trusted')
    expect(refused.stderr).toContain('hint: Look at the file, then run baton trust .mcp.json.')
    expect([refused.code === 0, started()]).toEqual([false, []])

    const trusted = await run('trust', '.mcp.json')
    expect(trusted.stderr).toContain('they get the values of KEY')
    const ended = await run('run', 'ask.aip', '-i', call('echo', { text: 'hello' }), '-y')
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('hello') })
    expect(started()).toHaveLength(1)
    expect(started().filter(isRunning)).toEqual([])
  })

  it('masks the environment of the server', async () => {
    const { run } = world()
    await run('trust', '.mcp.json')
    const { stdout, code } = await run('run', 'ask.aip', '-i', call('variable', { name: 'API_KEY' }), '-y', '--json')
    expect(code).toBe(0)
    expect(stdout).toContain('«secret:KEY»')
    expect(stdout).not.toContain('s3cret-value')
  })
})
