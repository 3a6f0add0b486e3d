import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { triggersFolder } from '../../src/journal/run-id.ts'
import { openServedWorkspace } from '../../src/serve/http/served-workspace.ts'
import { fakeClock } from '../helpers/fake-clock.ts'
import { type HttpServed, type ServedOptions, secret, serveTree } from '../helpers/http-served.ts'

const hookSecret = 'the secret of a hook, 0123456789'
const otherSecret = 'the secret of another hook, 01234'
const host = 'hooks.example.com'

const files = {
  'take.md': '+++\nagent = "take.lua"\n+++\nHi\n',
  'take.lua': 'aip.file.append("taken.jsonl", aip.json.stringify(input.input) .. "\\n") return "done"',
  'wait.md': '+++\nagent = "wait.lua"\n+++\nHi\n',
  'wait.lua':
    'while not aip.file.exists("go.txt") do end aip.file.append("taken.jsonl", aip.json.stringify(input.input) .. "\\n") return "done"',
}

const config = `
[serve]
public_host = "${host}"
[[trigger]]
name = "take"
file = "take.md"
secret_env = "HOOK_SECRET"
[[trigger]]
name = "other"
file = "take.md"
secret_env = "OTHER_SECRET"
[[trigger]]
name = "wait"
file = "wait.md"
secret_env = "WAIT_SECRET"
[[trigger]]
name = "off"
file = "take.md"
secret_env = "OFF_SECRET"
enabled = false
`
const env = {
  HOOK_SECRET: hookSecret,
  OTHER_SECRET: otherSecret,
  WAIT_SECRET: `${hookSecret} 2`,
  OFF_SECRET: `${hookSecret} 3`,
}

const serve = (options: ServedOptions = {}): Promise<HttpServed> => serveTree(files, { config, env, ...options })

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body?: string
  /** What is signed, if it is not what is sent. */
  readonly signs?: string
  readonly time?: number
  readonly key?: string
}

interface Got {
  readonly status: number
  readonly text: string
}

const now = (): number => Math.floor(Date.now() / 1000)

/** Sends a signed request, as a proxy passes it on: `fetch` cannot set Host. */
function send({ serving }: HttpServed, sent: Sent = {}): Promise<Got> {
  const { path = '/hooks/take', method = 'POST', body = '{"a":1}', time = now(), key = hookSecret, signs = body } = sent
  const signature = createHmac('sha256', key).update(`${time}.${signs}`).digest('hex')
  const all = {
    host,
    'content-type': 'application/json',
    'baton-time': String(time),
    'baton-signature': `sha256=${signature}`,
    ...sent.headers,
  }
  const headers = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port: serving.port, path, method, headers, setHost: false },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => void (text += piece))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      },
    )
    asked.on('error', reject)
    asked.end(method === 'POST' ? body : undefined)
  })
}

const taken = ({ folder }: HttpServed): readonly unknown[] => {
  try {
    return readFileSync(join(folder, 'taken.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
  } catch {
    return []
  }
}

const untilTaken = (served: HttpServed, count: number) =>
  vi.waitFor(() => expect(taken(served)).toHaveLength(count), 10_000)

describe('webhooks', () => {
  it('that are signed start a run, with what was sent as its input, and the secret nowhere', async () => {
    const served = await serve()
    const body = '{"text":"{{params.x}} +++ \\u2028","list":[1,{"b":null}]}'
    const got = await send(served, { body, headers: { 'baton-delivery': 'd-1' } })
    expect(got).toEqual({ status: 202, text: expect.stringContaining('"state":"started"') as string })
    await untilTaken(served, 1)
    expect(taken(served)).toEqual([JSON.parse(body)])
    const { env: given } = await openServedWorkspace({ ...served.around, shared: { overrides: [] } })
    expect(Object.keys(given).filter((name) => name.endsWith('SECRET'))).toEqual([])
    const { body: list } = await served.get('/api/triggers')
    expect(list).toMatchObject({
      triggers: [
        { name: 'take', state: expect.any(String), last: { cause: 'webhook', outcome: 'started' } },
        {},
        {},
        { state: 'off' },
      ],
    })
    const state = textsIn(served.home)
    expect(state).not.toContain(hookSecret)
    expect(JSON.stringify(list)).not.toContain(hookSecret)
  })

  it('that are not signed with the secret of their trigger are refused', async () => {
    const served = await serve()
    const wrong: readonly [Sent, number][] = [
      [{ headers: { 'baton-signature': undefined } }, 401],
      [{ headers: { 'baton-time': undefined } }, 401],
      [{ headers: { 'baton-signature': `sha256=${'0'.repeat(64)}` } }, 401],
      [{ headers: { 'baton-signature': 'sha256=' } }, 401],
      [{ headers: { 'baton-signature': ['sha256=a', 'sha256=b'] } }, 400],
      [{ key: otherSecret }, 401],
      [{ key: secret }, 401],
      [{ key: '' }, 401],
      [{ path: '/hooks/other' }, 401],
      [{ signs: '{"a":2}' }, 401],
      [{ headers: { 'baton-time': String(now() - 1) } }, 401],
      [{ headers: { 'baton-time': ` 0${now()}` } }, 401],
      [{ time: now() - 301 }, 401],
      [{ time: now() + 302 }, 401],
      [{ body: 'not JSON' }, 400],
      [{ body: '['.repeat(500) + ']'.repeat(500) }, 400],
      [{ headers: { 'content-type': 'text/plain' } }, 415],
      [{ headers: { 'baton-delivery': 'a b' } }, 400],
      [{ path: '/hooks/off', key: `${hookSecret} 3` }, 404],
      [{ path: '/hooks/nobody' }, 404],
      [{ path: '/hooks/__proto__' }, 403],
      [{ headers: { origin: `http://${host}` } }, 403],
      [{ headers: { 'sec-fetch-site': 'same-origin' } }, 403],
      [{ method: 'GET' }, 405],
      [{ method: 'DELETE' }, 405],
    ]
    for (const [sent, status] of wrong) expect([sent, (await send(served, sent)).status]).toEqual([sent, status])
    expect(taken(served)).toEqual([])
    expect((await send(served)).status).toBe(202)
    await untilTaken(served, 1)
  })

  it('are accepted once, also after a restart, and if the clock is set back', async () => {
    const first = await serve()
    const time = now() - 200
    expect((await send(first, { time })).status).toBe(202)
    expect((await send(first, { time })).status).toBe(409)
    // the same text at another time is another request
    expect((await send(first, { time: time + 1 })).status).toBe(202)
    await first.serving.close()
    const again = await serve({ place: first })
    expect((await send(again, { time })).status).toBe(409)
    expect((await send(again, { time: time + 1, headers: { 'baton-delivery': 'other' } })).status).toBe(409)
    await again.serving.close()
    // later it is forgotten, and too old
    const later = await serve({ place: first, clock: { ...systemClock, now: () => Date.now() + 3_600_000 } })
    expect((await send(later, { time })).status).toBe(401)
    expect((await send(later, { time: now() + 3_600 })).status).toBe(202)
    await later.serving.close()
    const back = await serve({ place: first })
    expect((await send(back, { time })).status).toBe(409)
    expect((await send(back, { time: now() })).status).toBe(409)
  })

  it('that a sender sends again, signed anew, start one run', async () => {
    const served = await serve()
    const headers = { 'baton-delivery': 'd-7' }
    expect((await send(served, { headers, time: now() - 20 })).status).toBe(202)
    const again = await send(served, { headers, time: now() - 10 })
    expect(again).toEqual({ status: 200, text: '{"state":"duplicate"}' })
    await untilTaken(served, 1)
    const { body } = await served.get('/api/runs')
    expect(body).toMatchObject({ runs: [{}] })
  })

  it('reach nothing but hooks by the public name, whatever they know', async () => {
    const served = await serve()
    const authorization = `Bearer ${secret}`
    for (const path of [
      '/',
      '/page/main.js',
      '/session',
      '/api/runs',
      '/api/triggers',
      '/openapi',
      '/hooks',
      '/hooks/',
      '/hooks/../api/triggers',
    ]) {
      for (const method of ['GET', 'POST', 'OPTIONS'])
        expect([path, method, (await send(served, { path, method, headers: { authorization } })).status]).toEqual([
          path,
          method,
          403,
        ])
    }
    for (const path of [
      '/hooks/take?x=1',
      '/hooks/take/',
      '/hooks//take',
      '/hooks/%74ake',
      '/hooks/..%2fapi%2fruns',
      '/hooks/take#',
      '//hooks/take',
    ])
      expect([path, (await send(served, { path })).status]).toEqual([path, 403])
    for (const name of ['evil.com', `${host}.evil.com`, `x${host}`, `${host}:8080`, 'localhost', ''])
      expect([name, (await send(served, { headers: { host: name } })).status]).toEqual([name, 403])
    expect((await send(served, { path: `http://${host}/hooks/take` })).status).toBe(400)
    for (const name of [host.toUpperCase(), `${host}:443`, `127.0.0.1:${served.serving.port}`])
      expect([name, (await send(served, { headers: { host: name }, body: JSON.stringify(name) })).status]).toEqual([
        name,
        202,
      ])
    await untilTaken(served, 3)
  })

  it('are not read above a size, and strangers send no body at all', async () => {
    const served = await serve()
    const large = JSON.stringify('x'.repeat(1024 * 1024))
    expect((await send(served, { body: large })).status).toBe(413)
    expect((await send(served, { body: large, headers: { 'transfer-encoding': 'chunked' } })).status).toBe(413)
    expect(taken(served)).toEqual([])
  })

  it('without a public name are accepted on this machine alone', async () => {
    const served = await serve({ config: config.replace(`public_host = "${host}"`, '') })
    expect((await send(served)).status).toBe(403)
    expect((await send(served, { headers: { host: `localhost:${served.serving.port}` } })).status).toBe(202)
    await untilTaken(served, 1)
  })

  it('wait for the run in progress, and are not lost with the server', async () => {
    const served = await serve()
    const to = { path: '/hooks/wait', key: env.WAIT_SECRET }
    expect((await send(served, { ...to, body: '1' })).text).toContain('"started"')
    expect(await send(served, { ...to, body: '2' })).toEqual({ status: 202, text: '{"state":"queued"}' })
    expect(await send(served, { ...to, body: '3' })).toEqual({ status: 202, text: '{"state":"queued"}' })
    expect((await served.get('/api/triggers')).body).toMatchObject({
      triggers: [{}, {}, { state: 'running', waiting: 2 }, {}],
    })
    await served.serving.close()
    writeFileSync(join(served.folder, 'go.txt'), '')
    const again = await serve({ place: served })
    // the first was interrupted, and can be resumed
    await untilTaken(again, 2)
    expect(taken(again)).toEqual([2, 3])
  })

  it('are refused by a second server of the workspace, which takes over when the first has ended', async () => {
    const first = await serve()
    const problems: string[] = []
    const second = await serve({ place: first, onProblem: (problem) => problems.push(problem) })
    expect(problems).toEqual([expect.stringMatching(/^process \d+ on .* follows the triggers/)])
    expect((await second.get('/api/triggers')).body).toMatchObject({ triggers: [{ state: 'elsewhere' }, {}, {}, {}] })
    expect((await send(second)).status).toBe(503)
    expect((await send(first)).status).toBe(202)
    await first.serving.close()
    await vi.waitFor(async () => expect((await send(second, { body: '"second"' })).status).toBe(202), 10_000)
  })

  it('are taken over by a second server although it could not write its claim before', async () => {
    const first = await serve()
    const problems: string[] = []
    const second = await serve({ place: first, onProblem: (problem) => problems.push(problem), clock: fakeClock() })
    const folder = triggersFolder({ env: { BATON_HOME: first.home }, home: first.home }, first.folder)
    renameSync(folder, `${folder}.aside`)
    await vi.waitFor(() => expect(problems).toHaveLength(2), 10_000)
    expect(problems[1]).toMatch(/^the triggers of this workspace cannot be followed: ENOENT/)
    renameSync(`${folder}.aside`, folder)
    await first.serving.close()
    await vi.waitFor(
      async () =>
        expect((await second.get('/api/triggers')).body).toMatchObject({ triggers: [{ state: 'ready' }, {}, {}, {}] }),
      10_000,
    )
    expect(problems).toHaveLength(2)
  })

  it('keep what was sent in files that nobody else can read', async () => {
    const served = await serve()
    const to = { path: '/hooks/wait', key: env.WAIT_SECRET }
    for (const body of ['1', '2']) await send(served, { ...to, body })
    const folder = join(served.home, 'state/triggers')
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    for (const entry of entries) expect(statSync(join(entry.parentPath, entry.name)).mode & 0o077).toBe(0)
    expect(entries.length).toBeGreaterThan(4)
  })
})

/** All texts below a folder. */
function textsIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n')
}
