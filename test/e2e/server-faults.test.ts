import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { core } from '../helpers/series.ts'
import { tempTree } from '../helpers/temp.ts'

/** What the server does with a request: `index` counts from 0, `ms` is the time since the first one. */
type Fault = (request: { readonly index: number; readonly ms: number }, answer: Answers) => void | Promise<void>

interface Answers {
  readonly whole: () => void
  /** A part of the answer; the stream stays open. */
  readonly part: (text: string) => void
  /** The connection is closed without an end. */
  readonly cut: () => void
  readonly errorInside: () => void
  readonly refuse: (status: number, retryAfter?: number) => void
}

const piece = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`

function answersTo(response: ServerResponse): Answers {
  const stream = (): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  }
  const part = (text: string): void => {
    stream()
    response.write(piece({ content: text }))
  }
  return {
    part,
    whole() {
      part('all of it')
      response.end(`${piece({}, 'stop')}data: [DONE]\n\n`)
    },
    cut() {
      part('a part ')
      setTimeout(() => response.destroy(), 20)
    },
    errorInside() {
      part('a part ')
      response.end(`data: ${JSON.stringify({ error: { message: 'overheated', code: 500 } })}\n\n`)
    },
    refuse(status, retryAfter) {
      const head = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
      response.writeHead(status, { 'content-type': 'application/json', ...head })
      response.end(JSON.stringify({ error: { message: 'no' } }))
    },
  }
}

interface Row {
  readonly fault: string
  readonly does?: Fault
  readonly args?: readonly string[]
  readonly code: number
  /** The number of requests; a list: at least and at most. */
  readonly requests: number | readonly [number, number]
  /** On stderr. */
  readonly says?: string
}

const first: (fault: (answer: Answers) => void, times?: number) => Fault =
  (fault, times = 1) =>
  ({ index }, answer) =>
    index < times ? fault(answer) : answer.whole()

const impatient = ['-c', 'retry.patience=2s']

const rows: readonly Row[] = [
  { fault: 'closed in the stream, once', does: first(({ cut }) => cut()), code: 0, requests: 2 },
  {
    fault: 'error inside the stream, once',
    does: first(({ errorInside }) => errorInside()),
    code: 0,
    requests: 2,
  },
  { fault: 'error inside the stream, always', does: (_, { errorInside }) => errorInside(), code: 1, requests: 3 },
  {
    fault: '401',
    does: (_, { refuse }) => refuse(401),
    code: 3,
    requests: 1,
    says: 'BATON_GATEWAY_KEY',
  },
  {
    fault: 'closed in the stream, always',
    does: (_, { cut }) => cut(),
    args: impatient,
    code: 1,
    requests: [3, 20],
    says: 'after',
  },
  {
    fault: '429 twice, Retry-After 2',
    does: first(({ refuse }) => refuse(429, 2), 2),
    code: 0,
    requests: 3,
    says: 'retry in 2',
  },
  {
    fault: '503, Retry-After 5',
    does: first(({ refuse }) => refuse(503, 5)),
    code: 0,
    requests: 2,
    says: 'retry in 5',
  },
  { fault: '500 once', does: first(({ refuse }) => refuse(500)), code: 0, requests: 2 },
  {
    fault: '500 always',
    does: (_, { refuse }) => refuse(500),
    args: impatient,
    code: 1,
    requests: [4, 20],
    says: 'status 500',
  },
  {
    fault: '500 for 5 s',
    does: ({ ms }, { refuse, whole }) => (ms < 5_000 ? refuse(500) : whole()),
    code: 0,
    requests: [4, 20],
  },
  {
    fault: 'the same with --unattended',
    does: ({ ms }, { refuse, whole }) => (ms < 5_000 ? refuse(502) : whole()),
    args: ['--unattended'],
    code: 0,
    requests: [4, 20],
    says: 'trying for another 8h 00m',
  },
  { fault: 'refused', args: impatient, code: 1, requests: 0, says: 'refused the connection' },
  {
    fault: 'silent for 20 s in the stream',
    async does(_, { part, whole }) {
      part('')
      await sleep(20_000)
      whole()
    },
    code: 0,
    requests: 1,
  },
]

const table: string[] = []
afterAll(() => {
  const head = '| Fault | requests | seconds | exit | answer |\n| --- | --- | --- | --- | --- |'
  if (table.length > 4) process.stdout.write(`${[head, ...table].join('\n')}\n`)
})

it.each(core(rows.slice(0, 4), rows))('a server with a fault: $fault', { timeout: 60_000 }, async (row) => {
  const { fault, does, args = [], code, requests, says = '' } = row
  let count = 0
  let begun = 0
  const server = createServer((request, response) => {
    const index = count
    count += 1
    begun ||= performance.now()
    const at = { index, ms: performance.now() - begun }
    request.resume().on('end', () => void does?.(at, answersTo(response)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = (): void => server.close().closeAllConnections()
  onTestFinished(close)
  if (does === undefined) close()
  const env = { BATON_GATEWAY_URL: `http://127.0.0.1:${port}/v1`, BATON_GATEWAY_KEY: 'sk-test-0123456789' }
  const started = performance.now()
  const end = await baton(['-p', 'Go.', '-m', 'm', ...args], { cwd: tempTree({ '.git/HEAD': '' }), env })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  table.push(`| ${fault} | ${count} | ${seconds} | ${end.code} | ${end.stdout.trim() || 'none'} |`)
  // never a part of an answer
  expect([end.code, end.stdout], end.stderr).toEqual([code, code === 0 ? 'all of it\n' : ''])
  expect(end.stderr).toContain(says)
  const [least, most] = typeof requests === 'number' ? [requests, requests] : requests
  expect(count).toBeGreaterThanOrEqual(least)
  expect(count).toBeLessThanOrEqual(most)
})
