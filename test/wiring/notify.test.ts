import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { sendTest } from '../../src/config/deliver-notice.ts'
import type { RunEvent } from '../../src/event/event.ts'
import { openNotifier } from '../../src/wiring/notify.ts'
import { ending, event } from '../helpers/run-events.ts'
import { tempTree } from '../helpers/temp.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

/** Answers with these statuses, one after the other, then with 204. `null`: never. */
async function webhook(
  ...statuses: readonly (number | null)[]
): Promise<{ readonly url: string; readonly got: readonly Received[] }> {
  const got: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => (body += String(piece)))
    request.on('end', () => {
      const status = statuses[got.push({ headers: request.headers, body }) - 1]
      if (status !== null) response.writeHead(status ?? 204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=t`, got }
}

interface Told {
  readonly notices: readonly { readonly [key: string]: unknown }[]
  readonly problems: readonly string[]
}

/** What is posted for these events of a run. */
async function told(
  events: readonly RunEvent[],
  on: readonly ('waits' | 'ends' | 'fails' | 'budget')[],
  more: { readonly before?: number; readonly spent?: number; readonly isChat?: boolean } = {},
): Promise<Told> {
  const { url, got } = await webhook()
  const notifier = openNotifier(
    { on: [...on], webhook: url },
    {
      env: {},
      home: tempTree(),
      workspace: '/w',
      run: '20261122-054821-6780e1',
      file: '/w/ask.md',
      hide: (text) => text.replaceAll('hunter2', '«secret:PASS»'),
      warn: () => undefined,
      isChat: more.isChat === true,
      mayAnswer: true,
    },
  )
  const { before = 0, spent = before } = more
  let usd = before
  notifier.watch({ limits: { usd: 10, unpriced: 'deny' }, spent: () => ({ calls: 1, tokens: 1, usd }) })
  usd = spent
  for (const one of events) notifier.add(one)
  const problems = await notifier.close()
  return { notices: got.map(({ body }) => JSON.parse(body) as Told['notices'][number]), problems }
}

const all = ['waits', 'ends', 'fails', 'budget'] as const

describe('a notice', () => {
  it('is sent once when a run ends, and says how', async () => {
    const { notices } = await told([ending('done')], all)
    expect(notices).toEqual([
      expect.objectContaining({
        v: 1,
        event: 'ends',
        status: 'done',
        exit_code: 0,
        file: 'ask.md',
        text: 'ask.md: done',
      }),
    ])
    expect((await told([ending('done')], ['fails', 'waits', 'budget'])).notices).toEqual([])
  })

  it('is the one for failures if a run fails and both are wanted', async () => {
    const failed = ending('error', {
      exit_code: 1,
      error: { code: 'AGENT_FAILED', message: 'the password hunter2 is wrong' },
    })
    expect((await told([failed], all)).notices).toEqual([
      expect.objectContaining({
        event: 'fails',
        error: 'the password «secret:PASS» is wrong',
        next: 'baton report 20261122-054821-6780e1',
      }),
    ])
    expect((await told([failed], ['ends'])).notices).toMatchObject([{ event: 'ends', status: 'failed' }])
  })

  it('says what a suspended run waits for, without the inputs of its calls', async () => {
    const approvals = [{ id: '1', tool: 'write', input: { path: 'secret.txt' }, place: 'task/0', asked: '' }]
    const { notices } = await told([ending('waiting_for_approval', { exit_code: 5, approvals })], all)
    expect(notices).toMatchObject([
      { event: 'waits', approvals: [{ id: '1', tool: 'write' }], next: 'baton approve 20261122-054821-6780e1' },
    ])
    expect(JSON.stringify(notices)).not.toContain('secret.txt')
  })

  it('is sent for a chat that waits for the next message', async () => {
    expect((await told([ending('done')], all, { isChat: true })).notices).toMatchObject([{ event: 'waits' }])
  })

  it('is sent once when 80 % of a limit is used', async () => {
    const { notices } = await told([ending('done')], ['budget'], { spent: 8 })
    expect(notices).toMatchObject([
      {
        event: 'budget',
        budget: { limit: 'usd', used: 8, of: 10 },
        text: 'ask.md has used $8.00 of $10.00 of its budget',
      },
    ])
    expect((await told([ending('done')], ['budget'], { spent: 7.9 })).notices).toEqual([])
    // an earlier run of the session has told it
    expect((await told([ending('done')], ['budget'], { before: 8, spent: 9 })).notices).toEqual([])
  })

  it('is not sent for a question that was answered soon, or with the run that ended meanwhile', async () => {
    const asked = event({ type: 'approval.requested', id: '1', tool: 'bash', input: {} }, 'task/0')
    const decided = event({ type: 'approval.decided', id: '1', decision: 'allow' }, 'task/0')
    expect((await told([asked, decided, ending('done')], ['waits'])).notices).toEqual([])
    expect((await told([asked, ending('done')], ['waits'])).notices).toEqual([])
  })
})

describe('a webhook', () => {
  it('is tried again until it accepts, each time signed over time and body, and with the same delivery', async () => {
    const { url, got } = await webhook(503, 429)
    expect(await sendTest({ webhook: url, secret_env: 'HOOK' }, { env: { HOOK: 'key' }, home: '/' })).toEqual([])
    expect(got).toHaveLength(3)
    for (const { headers, body } of got) {
      const signed = createHmac('sha256', 'key')
        .update(`${String(headers['baton-time'])}.${body}`)
        .digest('hex')
      expect(headers['baton-signature']).toBe(`sha256=${signed}`)
      expect(headers['baton-event']).toBe('test')
    }
    expect(new Set(got.map(({ headers }) => headers['baton-delivery'])).size).toBe(1)
  })

  it('is called once if it refuses, and never without its secret or to where others could read', async () => {
    const { url, got } = await webhook(404)
    const problems = await sendTest({ webhook: url }, { env: {}, home: '/' })
    expect(problems).toEqual([
      expect.stringMatching(/^the webhook of \[notify\] at 127\.0\.0\.1:\d+ was not reached: answered with 404$/),
    ])
    expect(await sendTest({ webhook: url, secret_env: 'HOOK' }, { env: {}, home: '/' })).toEqual([
      expect.stringContaining('HOOK, the secret it is signed with, is not set'),
    ])
    expect(await sendTest({ webhook_env: 'URL' }, { env: { URL: 'http://example.com/x' }, home: '/' })).toEqual([
      expect.stringContaining('must have an https:// address'),
    ])
    expect(got).toHaveLength(1)
  })

  it('that never answers is given up after the time limit', async () => {
    const { url } = await webhook(null, null, null)
    expect(await sendTest({ webhook: url, timeout: '50ms' }, { env: {}, home: '/' })).toEqual([
      expect.stringContaining('was not reached'),
    ])
  })
})

describe('a command', () => {
  it('gets the notice on its standard input, and no keys', async () => {
    const home = tempTree()
    const env = { PATH: process.env['PATH'], OPENAI_API_KEY: 'sk-1' }
    expect(await sendTest({ command: 'cat > got.json; env > env.txt' }, { env, home })).toEqual([])
    expect(JSON.parse(readFileSync(join(home, 'got.json'), 'utf8'))).toMatchObject({ event: 'test', run: null })
    const given = readFileSync(join(home, 'env.txt'), 'utf8')
    expect(given).toContain('BATON_NOTIFY_TEXT=a test of [notify]\n')
    expect(given).not.toContain('sk-1')
  })

  it('that fails or does not end is a problem, whatever it leaves behind', async () => {
    const world = { env: { PATH: process.env['PATH'] }, home: tempTree() }
    expect(await sendTest({ command: 'echo no such program >&2; exit 3' }, world)).toEqual([
      'the command of [notify] ended with exit code 3: no such program',
    ])
    expect(await sendTest({ command: 'sleep 60 & sleep 60', timeout: '50ms' }, world)).toEqual([
      'the command of [notify] was stopped after 0.05 s',
    ])
  })
})
