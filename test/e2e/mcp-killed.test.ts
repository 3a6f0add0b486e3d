import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { isAlive } from '../helpers/worker-processes.ts'

const program = join(root, 'test/fixtures/mcp/stdio.mjs')

/** Logs the process, then each line that it receives, so that a test knows when a call has arrived. */
const script = 'echo $$ >> "$2"; tee -a "$3" | exec "$0" "$1"'

it('a run that is killed during a call reports what a person has to decide, and repeats the call', async () => {
  const cwd = tempTree({
    'slow.lua': 'return aip.mcp.call("calc", "slow", { ms = 1500 }).text\n',
  })
  const [pids, lines] = [join(cwd, 'pids'), join(cwd, 'lines')]
  const args = JSON.stringify(['-c', script, process.execPath, program, pids, lines])
  const home = tempTree({ 'config/config.toml': `[mcp_servers.calc]\ncommand = "/bin/sh"\nargs = ${args}\n` })
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, BATON_HOME: home, CI: '1' }
  const child = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), 'slow.lua', '-y'], {
    cwd,
    env,
    stdio: 'ignore',
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const hasArrived = (): boolean => existsSync(lines) && readFileSync(lines, 'utf8').includes('tools/call')
  for (let tries = 0; tries < 1500 && !hasArrived(); tries += 1) await sleep(20)
  child.kill('SIGKILL')
  await exited

  const asks = await baton(['resume', '--last'], { cwd, env })
  expect(asks.code).toBe(5)
  expect(asks.stderr).toContain('slow({"ms":1500}) of the MCP server calc at main/chunk#0: it started')
  expect(asks.stderr).toContain('the killed run left an MCP server running, which was terminated')
  expect(asks.stderr).toContain('=redo  the tool is called again')
  expect(asks.stderr).toContain('=done  it counts as called: its result is reported as unknown')
  const first = readFileSync(pids, 'utf8').trim().split('\n').map(Number)
  expect(first).toHaveLength(1)
  expect(first.filter(isAlive)).toEqual([])

  const id = /--uncertain (\S+)=redo/.exec(asks.stderr)?.[1] ?? ''
  const again = await baton(['resume', '--last', '-y', '--uncertain', `${id}=redo`], { cwd, env })
  expect(again, again.stderr).toMatchObject({ code: 0, stdout: 'after 1500 ms\n' })
  expect(readFileSync(lines, 'utf8').match(/tools\/call/g)).toHaveLength(2)
})
