import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cmdModule } from '../../../src/script/host/cmd.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection, type HostSectionOptions } from './host-section.ts'
import { runLua } from './lua-host.ts'

const workspace = tempTree({ 'sub/a.txt': 'a', 'script.sh': 'echo hi' })
const surroundings = { cwd: workspace, env: { PATH: '/usr/local/bin:/usr/bin:/bin', SECRET_TOKEN: 'hidden' } }

function exec(args: readonly LuaValue[], options: HostSectionOptions = {}): Promise<LuaValue> {
  return hostSection(workspace, { surroundings, ...options }).wait(cmdModule, 'exec', ...args)
}

describe('aip.cmd.exec', () => {
  it('accepts arguments as nil, one text or a list', async () => {
    expect(await exec(['pwd'])).toEqual({ stdout: `${workspace}\n`, stderr: '', exit: 0 })
    expect(await exec(['echo', 'a b'])).toMatchObject({ stdout: 'a b\n' })
    expect(await exec(['printf', ['%s|', 'ü', '', '$HOME']])).toMatchObject({ stdout: 'ü||$HOME|' })
    expect(await exec(['echo', [], null])).toMatchObject({ stdout: '\n' })
  })

  it('returns a nonzero exit code, and -1 for a signal, without an error', async () => {
    expect(await exec(['sh', ['-c', 'echo bad >&2; exit 7']])).toEqual({ stdout: '', stderr: 'bad\n', exit: 7 })
    expect(await exec(['sh', ['-c', 'kill -9 $$']])).toMatchObject({ exit: -1 })
  })

  it('fails when the program does not exist', async () => {
    await expect(exec(['no-such-program-here'])).rejects.toThrow(
      'aip.cmd.exec: no-such-program-here cannot be run: spawn no-such-program-here ENOENT',
    )
  })

  it('runs in a folder of the workspace; an empty string means the folder of the run', async () => {
    expect(await exec(['ls', undefined, { cwd: 'sub' }])).toMatchObject({ stdout: 'a.txt\n' })
    expect(await exec(['ls', undefined, { cwd: join(workspace, 'sub') }])).toMatchObject({ stdout: 'a.txt\n' })
    const inSub = { surroundings: { ...surroundings, cwd: join(workspace, 'sub') } }
    expect(await exec(['ls', undefined, { cwd: '  ' }], inSub)).toMatchObject({ stdout: 'a.txt\n' })
  })

  it('runs in a folder outside, also through a link', async () => {
    const outside = tempTree({ 'o.txt': '' })
    symlinkSync(outside, join(workspace, 'leaving'))
    for (const cwd of [outside, relative(workspace, outside), 'leaving']) {
      expect(await exec(['pwd', ['-P'], { cwd }])).toMatchObject({ stdout: `${outside}\n` })
    }
  })

  it('refuses missing folders and files', async () => {
    await expect(exec(['ls', undefined, { cwd: 'nowhere' }])).rejects.toThrow(
      'must be a folder, but nowhere is not one',
    )
    await expect(exec(['ls', undefined, { cwd: 'script.sh' }])).rejects.toThrow('but script.sh is not one')
  })

  it('converts numbers among the arguments to text, as Lua does', async () => {
    expect(await exec(['echo', ['-n', 1, 2.5, 9_007_199_254_740_993n]])).toMatchObject({
      stdout: '1 2.5 9007199254740993',
    })
  })

  it('keeps keys out of the environment of the command', async () => {
    const result = await exec(['env'])
    expect(JSON.stringify(result)).toContain('PATH=')
    expect(JSON.stringify(result)).not.toContain('SECRET_TOKEN')
  })

  it('refuses wrong arguments before anything runs', async () => {
    await expect(exec([undefined])).rejects.toThrow('the command must be a string, but was nil')
    await expect(exec([' '])).rejects.toThrow('the command is empty')
    await expect(exec(['echo', 5])).rejects.toThrow('must be a string or a list of strings, but was number')
    await expect(exec(['echo', ['a', true]])).rejects.toThrow('the arguments[2] must be a string')
    await expect(exec(['echo', 'a\0b'])).rejects.toThrow('NUL')
    await expect(exec(['echo', 'a', { timeout_ms: 0 }])).rejects.toThrow('timeout_ms must be between 1 and')
    await expect(exec(['echo', 'a', 'x'])).rejects.toThrow('the options must be a table')
  })

  it('stops a command at its time limit', async () => {
    await expect(exec(['sleep', '300', { timeout_ms: 200 }])).rejects.toThrow(
      'aip.cmd.exec: sleep was stopped because it took longer than 0.2 s',
    )
  })

  it('ends with the run', async () => {
    const stop = new AbortController()
    const running = exec(['sleep', '300'], { signal: stop.signal })
    stop.abort(new Error('the run is over'))
    await expect(running).rejects.toThrow('the run is over')
  })

  it('truncates large output, and says so', async () => {
    const host = hostSection(workspace, { surroundings })
    const result = await host.wait(cmdModule, 'exec', 'head', ['-c', '17000000', '/dev/zero'])
    expect(String((result as { stdout: string }).stdout).length).toBe(16 * 1024 * 1024)
    expect(host.events).toMatchObject([{ type: 'warning', message: expect.stringContaining('222784 bytes') }])
  })

  it('is recorded as an effect that is never repeated without a decision', async () => {
    const host = hostSection(workspace, { surroundings })
    mkdirSync(join(workspace, 'made'), { recursive: true })
    writeFileSync(join(workspace, 'made/x'), '')
    await host.wait(cmdModule, 'exec', 'ls', undefined, { cwd: 'made' })
    expect(host.records.filter(({ k }) => k !== 'obs')).toMatchObject([
      { k: 'started', kind: 'command', repeat: 'unsafe', request: { command: 'ls', args: [], cwd: 'made' } },
      { k: 'process', pid: expect.any(Number), start: expect.any(String) },
      { k: 'ended', kind: 'command', status: 'ok', value: { stdout: 'x\n', exit: 0 } },
    ])
  })

  it('can be called from Lua, and its errors can be caught', async () => {
    const code = `
      local result = aip.cmd.exec("sh", {"-c", "printf '%s' \\"$0\\"; exit 2", "ok"})
      local ok, message = pcall(aip.cmd.exec, "no-such-program-here")
      return { result.stdout, result.exit, math.type(result.exit), ok, tostring(message):find("cannot be run") ~= nil }
    `
    expect(await runLua(hostSection(workspace, { surroundings }), code)).toEqual(['ok', 2, 'integer', false, true])
  })
})
