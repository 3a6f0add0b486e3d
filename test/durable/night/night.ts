import { execFileSync, spawn } from 'node:child_process'
import { closeSync, openSync, readSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, connect, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeCache, root } from '../../helpers/baton.ts'
import { type ModelReply, startModelServer } from '../../helpers/model-server.ts'
import { tempTree } from '../../helpers/temp.ts'

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute

/** What the server of the model does for a while: `refused`: nothing listens, `silent`: it accepts and sends nothing. */
type OutageKind = 'refused' | 'reset' | 'silent' | 'cut' | 408 | 429 | 500 | 502 | 503 | 504

/** All times are milliseconds since the night began. */
export interface Night {
  /** How long the run is to go on, as `--iter` takes it. */
  readonly iterate: string
  /** How long an answer takes. */
  readonly answerMs: number
  readonly outages: readonly { readonly at: number; readonly ms: number; readonly kind: OutageKind }[]
  /** The machine sleeps for so long, or its clock is set by so much. */
  readonly events: readonly { readonly at: number; readonly kind: 'sleep' | 'clock'; readonly ms: number }[]
  /** From when to when no state can be written. */
  readonly full: readonly (readonly [number, number])[]
  /** When the process is killed; it is resumed at once. */
  readonly kills: readonly number[]
}

export interface PlayedNight {
  /** Exit codes of the processes; null: killed. */
  readonly codes: readonly (number | null)[]
  readonly stderr: string
  /** How long the night was. */
  readonly elapsedMs: number
  /** Requests that were answered to the end, each with the number of times that happened. */
  readonly answered: ReadonlyMap<string, number>
  readonly requests: number
  /** What the answers have added to the file. */
  readonly lines: readonly string[]
  readonly report: string
  readonly last: Readonly<Record<string, unknown>>
}

const prompt = `+++
model = "m"
write_mode = true
context_globs = ["notes.txt"]

[iterate]
max_iterations = 1000

[timeouts]
headers = "10m"
+++
Add a fact.
`

const begin = Date.UTC(2026, 10, 30, 22)

/** Runs a prompt file in a loop while the network, the machine and the disk fail as told, and resumes it when it stops. */
export async function playNight(night: Night): Promise<PlayedNight> {
  const workspace = tempTree({
    'baton.toml': '',
    'notes.txt': 'Notes\n',
    'night.md': prompt,
  })
  const home = tempTree()
  const git = (...args: readonly string[]): void =>
    void execFileSync('git', [...args], { cwd: workspace, stdio: 'ignore' })
  git('init', '-q')
  git('config', 'user.name', 'Night')
  git('config', 'user.email', 'night@example.com')
  git('add', '.')
  git('commit', '-qm', 'Notes')

  const file = join(tempTree(), 'time')
  writeFileSync(file, Buffer.alloc(16))
  const time = openSync(file, 'r+')
  const watching = new AbortController()
  const now = (): number => {
    const bytes = Buffer.alloc(8)
    readSync(time, bytes, 0, 8, 0)
    return bytes.readDoubleLE(0)
  }
  const until = async (at: number, signal?: AbortSignal): Promise<void> => {
    while (!watching.signal.aborted && signal?.aborted !== true && now() < at) await sleep(1)
  }

  const answered = new Map<string, number>()
  let lastBreak = -1
  let facts = 0
  const outageAt = (at: number): OutageKind | undefined =>
    night.outages.find((outage) => at >= outage.at && at < outage.at + outage.ms)?.kind
  const model = await startModelServer(async ({ body }) => {
    const asked = now()
    const early = outageAt(asked)
    if (early !== undefined) return failureOf(early, () => until(asked + 5 * minute))
    await until(asked + night.answerMs)
    // the connection was lost meanwhile, or who asked was killed
    if (lastBreak >= asked) return { reset: true }
    const late = outageAt(now())
    if (late !== undefined) return failureOf(late === 'refused' ? 'cut' : late, () => until(now() + 5 * minute))
    const key = JSON.stringify(body?.messages)
    answered.set(key, (answered.get(key) ?? 0) + 1)
    facts += 1
    const change = `<FILE_CHANGES>\n<FILE_APPEND file_path="notes.txt">\nfact ${facts}\n</FILE_APPEND>\n</FILE_CHANGES>`
    return { text: `Fact ${facts}.\n\n${change}` }
  })
  const line = await openLine(Number(new URL(model.url).port))
  const cutting = cutLine()
  async function cutLine(): Promise<void> {
    while (!watching.signal.aborted) {
      const isRefused = outageAt(now()) === 'refused'
      if (isRefused) lastBreak = now()
      await line.set(!isRefused)
      await sleep(1)
    }
  }

  const env = {
    PATH: process.env['PATH'] ?? '',
    TMPDIR: tmpdir(),
    HOME: home,
    BATON_HOME: join(home, 'baton'),
    NO_COLOR: '1',
    BATON_LOCAL_SERVERS: 'off',
    BATON_GATEWAY_URL: line.url,
    NODE_COMPILE_CACHE: codeCache,
    NIGHT: JSON.stringify({ file, start: begin, events: night.events, full: night.full, disk: join(home, 'baton') }),
  }
  const script = ['--import', join(import.meta.dirname, 'clock.mjs'), join(root, 'dist/bin/baton.js')]
  async function play(args: readonly string[], killAt = Number.POSITIVE_INFINITY): Promise<Ended> {
    const child = spawn(process.execPath, [...script, ...args], {
      cwd: workspace,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended: { stdout: string; stderr: string } = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (ended.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (ended.stderr += text))
    const over = new AbortController()
    void until(killAt, over.signal).then(() => !over.signal.aborted && child.kill('SIGKILL'))
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    over.abort()
    return { ...ended, code }
  }

  const codes: (number | null)[] = []
  let stderr = ''
  const kills = [...night.kills]
  const takeKill = (): number | undefined => {
    while (kills[0] !== undefined && kills[0] <= now()) kills.shift()
    return kills[0]
  }
  for (
    let args = ['run', 'night.md', '--iter', night.iterate, '--unattended'];
    ;
    args = ['resume', '--last', '--unattended']
  ) {
    const ended = await play(args, takeKill())
    lastBreak = now()
    codes.push(ended.code)
    stderr += ended.stderr
    const [, free] = night.full.find(([from, to]) => now() >= from && now() < to) ?? []
    if (free !== undefined) {
      const bytes = Buffer.alloc(8)
      bytes.writeDoubleLE(free, 0)
      writeBytes(file, bytes)
    } else if (ended.code !== null) break
    if (codes.length > 20) break
  }
  const elapsedMs = now()
  const report = (await play(['report', 'last'])).stdout
  const [last = '{}'] = (await play(['runs', '--json'])).stdout.split('\n')
  watching.abort()
  await cutting
  await line.close()
  await model.close()
  await sleep(2)
  closeSync(time)
  const lines = readFileSync(join(workspace, 'notes.txt'), 'utf8').trimEnd().split('\n').slice(1)
  return {
    codes,
    stderr,
    elapsedMs,
    answered,
    requests: model.requests.length,
    lines,
    report,
    last: JSON.parse(last) as Record<string, unknown>,
  }
}

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function writeBytes(file: string, bytes: Buffer): void {
  const whole = readFileSync(file)
  bytes.copy(whole)
  writeFileSync(file, whole)
}

async function failureOf(kind: OutageKind, silence: () => Promise<void>): Promise<ModelReply> {
  if (typeof kind === 'number') return { status: kind, body: { error: { message: 'try again later' } } }
  if (kind === 'cut') return { text: 'A part of an answer', cutAfter: 1 }
  if (kind === 'silent') await silence()
  return { reset: true }
}

interface Line {
  readonly url: string
  /** Whether something listens. */
  readonly set: (isOpen: boolean) => Promise<void>
  readonly close: () => Promise<void>
}

/** A port in front of the server of the model that can be closed: connections are refused, and open ones are reset. */
async function openLine(target: number): Promise<Line> {
  const sockets = new Set<Socket>()
  let port = 0
  let server: Server | undefined
  async function open(): Promise<void> {
    const listening = createServer((socket) => {
      const onward = connect(target, '127.0.0.1')
      for (const end of [socket, onward]) {
        sockets.add(end)
        end.on('error', () => {})
        end.on('close', () => {
          sockets.delete(end)
          socket.destroy()
          onward.destroy()
        })
      }
      socket.pipe(onward).pipe(socket)
    })
    await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', resolve))
    const address = listening.address()
    if (address !== null && typeof address === 'object') ({ port } = address)
    server = listening
  }
  async function close(): Promise<void> {
    const closing = server
    server = undefined
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => (closing === undefined ? resolve() : closing.close(() => resolve())))
  }
  await open()
  return {
    url: `http://127.0.0.1:${port}/v1`,
    set: async (isOpen) => (isOpen === (server !== undefined) ? undefined : isOpen ? open() : close()),
    close,
  }
}
