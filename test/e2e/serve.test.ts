import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { baton, jsonLines, root } from '../helpers/baton.ts'
import { follow, type Followed, lastId, rowsOf, secret } from '../helpers/http-served.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'
import { isAlive, workersOf } from '../helpers/worker-processes.ts'

const command = join(root, 'dist/bin/baton.js')
const files = { '.git/HEAD': 'x\n', 'say.md': '+++\nagent = "say.lua"\n+++\nHi\n', 'say.lua': 'return "said"' }

function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd: string = tempTree(files),
): ChildProcessWithoutNullStreams {
  const home = tempTree()
  const child = spawn(process.execPath, [command, 'serve', ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, BATON_HOME: home, BATON_LOCAL_SERVERS: 'off', ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const firstLine = (child: ChildProcessWithoutNullStreams): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
  })

const exitOf = (child: ChildProcessWithoutNullStreams): Promise<unknown> =>
  new Promise((resolve) => child.once('exit', resolve))

describe('baton serve', () => {
  it('prints an address that admits a page once, runs what it is asked to, and ends with Ctrl-C', async () => {
    const child = start(['--max-runs', '2'])
    const address = new URL(await firstLine(child))
    expect([address.search, address.hash]).toEqual(['', expect.stringMatching(/^#ticket=[\w-]{43}$/)])
    const exchange = () => {
      const authorization = `Ticket ${address.hash.slice('#ticket='.length)}`
      return fetch(new URL('/session', address), { method: 'POST', headers: { authorization } })
    }
    const { token } = (await (await exchange()).json()) as { readonly token: string }
    expect((await exchange()).status).toBe(401)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ file: 'say.md' })
    const answered = await fetch(new URL('/api/runs', address), { method: 'POST', headers, body })
    expect(answered.status).toBe(202)
    const { id } = (await answered.json()) as { readonly id: string }
    const events = await (await fetch(new URL(`/api/runs/${id}/events`, address), { headers })).text()
    expect(events).toContain('event: over')
    const detail = await (await fetch(new URL(`/api/runs/${id}`, address), { headers })).json()
    expect(detail).toMatchObject({ answers: [{ text: 'said' }] })
    child.kill('SIGINT')
    expect(await exitOf(child)).toBe(130)
  })

  it('that was killed continues a stream where it was, and resumes the run it had started', async () => {
    const cwd = tempTree({
      '.git/HEAD': 'x\n',
      'wait.md': '+++\nagent = "wait.lua"\n+++\nHi\n',
      'wait.lua':
        'aip.file.save("a.txt", "a"); while not aip.file.exists("go.txt") do end aip.file.save("b.txt", "b") return "done"',
    })
    const home = tempTree()
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const served = async () => {
      const child = start(['--json'], { BATON_SERVE_SECRET: secret, BATON_HOME: home }, cwd)
      const { origin } = new URL(String(jsonLines(await firstLine(child))[0]?.['url']))
      const post = async (path: string, body: object = {}) => {
        const answered = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
        return (await answered.json()) as Record<string, unknown>
      }
      return { child, post, follow: (path: string, id?: string) => follow({ serving: { url: origin } }, path, id) }
    }
    const first = await served()
    const { id } = await first.post('/api/runs', { file: 'wait.md' })
    const before = first.follow(`/api/runs/${String(id)}/events`)
    const state = (events: Followed['events'], kind: string) =>
      rowsOf(events).find((row) => row['kind'] === kind)?.['state']
    await expect.poll(() => state(before.events, 'file'), { timeout: 20_000 }).toBe('done')
    const workers = workersOf(first.child.pid ?? 0)
    expect(workers.length).toBeGreaterThan(0)
    first.child.kill('SIGKILL')
    await before.ended
    // no process of a run outlives its server
    await expect.poll(() => workers.filter(isAlive), { timeout: 20_000 }).toEqual([])

    const second = await served()
    const left = second.follow(`/api/runs/${String(id)}/events`, lastId(before.events))
    await left.ended
    expect(state(left.events, 'section')).toBe('interrupted')
    writeFileSync(join(cwd, 'go.txt'), '')
    expect(await second.post(`/api/runs/${String(id)}/resume`)).toEqual({ id })
    const after = second.follow(`/api/runs/${String(id)}/events`, lastId(left.events) || lastId(before.events))
    await after.ended
    const all = [...before.events, ...left.events, ...after.events]
    expect(rowsOf(all).map(({ n, kind, state: how }) => [n, kind, how])).toEqual([
      [0, 'task', 'done'],
      [1, 'section', 'done'],
      [2, 'file', 'done'],
      [3, 'file', 'done'],
    ])
    // the earlier change was neither repeated nor reported again
    expect(rowsOf(after.events).map(({ n }) => n)).toEqual([0, 1, 3])
  })

  it('uses the secret of its variable, and prints it with the address for programs', async () => {
    const child = start(['--json'], { BATON_SERVE_SECRET: secret })
    const [line] = jsonLines(await firstLine(child))
    expect(line).toEqual({ url: expect.stringContaining('/#ticket='), secret })
    const runs = new URL('/api/runs', String(line?.['url']))
    expect((await fetch(runs, { headers: { authorization: `Bearer ${secret}` } })).status).toBe(200)
    child.kill('SIGTERM')
    expect(await exitOf(child)).toBe(143)
  })

  it('prints another address when Enter is pressed in its terminal', async () => {
    const addresses = new Set<string>()
    let typed = 0
    const { code } = await inTerminal('baton serve', {
      cwd: tempTree(files),
      columns: 200,
      onScreen: (terminal, type) => {
        for (const [, ticket = ''] of terminal
          .everything()
          .join('\n')
          .matchAll(/#ticket=([\w-]{43})/g))
          addresses.add(ticket)
        if (!terminal.everything().join('\n').includes('Enter prints another address') || typed === addresses.size)
          return
        typed = addresses.size
        type(typed === 3 ? '\u0003' : '\r')
      },
    })
    expect([code, addresses.size]).toEqual([130, 3])
  })

  it.each([
    [['--port', '70000'], '--port takes a number from 0 to 65535, not "70000"'],
    [['--max-runs', '0'], '--max-runs takes a number from 1 to 9999, not "0"'],
    [['--no-secret'], 'unknown flag --no-secret'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await baton(['serve', ...args], { cwd: tempTree(files) })
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })

  it('refuses a secret that could be guessed', async () => {
    const { code, stderr } = await baton(['serve'], { cwd: tempTree(files), env: { BATON_SERVE_SECRET: 'short' } })
    expect([code, stderr]).toEqual([2, expect.stringContaining('BATON_SERVE_SECRET has fewer than 16 characters')])
  })
})
