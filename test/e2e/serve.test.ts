import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { baton, jsonLines, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const command = join(root, 'dist/bin/baton.js')
const files = { '.git/HEAD': 'x\n', 'say.md': '+++\nagent = "say.lua"\n+++\nHi\n', 'say.lua': 'return "said"' }

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcessWithoutNullStreams {
  const home = tempTree()
  const child = spawn(process.execPath, [command, 'serve', ...args], {
    cwd: tempTree(files),
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
  it('prints its address, runs what it is asked to, and ends with Ctrl-C', async () => {
    const child = start(['--max-runs', '2'])
    const address = new URL(await firstLine(child))
    const headers = {
      authorization: `Bearer ${address.searchParams.get('secret')}`,
      'content-type': 'application/json',
    }
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

  it('has the secret of its variable, and prints the address for programs', async () => {
    const secret = 'a secret of this test'
    const child = start(['--json'], { BATON_SERVE_SECRET: secret })
    const [line] = jsonLines(await firstLine(child))
    expect(new URL(String(line?.['url'])).searchParams.get('secret')).toBe(secret)
    child.kill('SIGTERM')
    expect(await exitOf(child)).toBe(143)
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
