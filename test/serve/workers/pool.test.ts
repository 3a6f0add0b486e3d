import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createBroker } from '../../../src/serve/workers/broker.ts'
import type { FromWorker } from '../../../src/serve/workers/messages.ts'
import { createWorkerPool, type RunWorker } from '../../../src/serve/workers/pool.ts'
import { tempTree } from '../../helpers/temp.ts'
import { isAlive } from '../../helpers/worker-processes.ts'

const words = 180_000

/** A model in a process of its own, whose answer begins with one word and is long. Resolves with its address. */
async function startModel(): Promise<string> {
  const code = `
    const line = (delta, end = null) => 'data: ' + JSON.stringify({ choices: [{ delta, finish_reason: end }] }) + '\\n\\n'
    require('node:http')
      .createServer((request, response) => {
        request.resume()
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(line({ content: 'word ' }))
        const rest = line({ content: 'word '.repeat(${words - 1}) }) + line({}, 'stop') + 'data: [DONE]\\n\\n'
        setTimeout(() => response.end(rest), 300)
      })
      .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
  const server = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void server.kill())
  const [port] = (await once(server.stdout, 'data')) as [Buffer]
  return `http://127.0.0.1:${String(port).trim()}/v1`
}

interface Started {
  readonly cwd: string
  readonly worker: RunWorker
  readonly messages: readonly FromWorker[]
  /** Sends a job that runs a file. */
  readonly run: (file: string, options?: { readonly overrides: readonly string[] }) => void
}

/** Starts a process for runs of these files. `onMessage` is called with each of its messages. */
function startWorker(
  files: Readonly<Record<string, string>>,
  onMessage: (message: FromWorker, started: Started) => void = () => {},
  env: Readonly<Record<string, string>> = {},
): Started {
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const place = { PATH: process.env['PATH'], BATON_HOME: join(cwd, 'home'), BATON_LOCAL_SERVERS: 'off' }
  const pool = createWorkerPool({ env: { ...place, ...env }, cwd, spare: 0, broker: createBroker() })
  onTestFinished(() => pool.close())
  const worker = pool.take()
  const messages: FromWorker[] = []
  const started: Started = {
    cwd,
    worker,
    messages,
    run(file, options = { overrides: [] }) {
      const job = { kind: 'start', file, options } as const
      worker.send({ kind: 'do', job, isWaiting: false, cwd, home: cwd, resting: [] })
    },
  }
  worker.listen((message) => {
    messages.push(message)
    onMessage(message, started)
  })
  return started
}

/** Keeps this process from doing anything else, as a busy server does. */
function blockUntil(isTrue: () => boolean): void {
  const deadline = Date.now() + 20_000
  while (!isTrue()) if (Date.now() > deadline) throw new Error('what was waited for did not happen')
}

it('delivers the last messages of a process whose end is noticed together with that of another one', async () => {
  const files = {
    // says that it runs, and goes on when it may
    'wait.lua': `aip.cmd.exec("sh", { "-c", "echo $PPID > pid.new; mv pid.new pid; until test -e go; do sleep 0.02; done" })`,
    'wait.md': '+++\nagent = "wait.lua"\n+++\nWait\n',
  }
  const { cwd, worker, messages, run } = startWorker(files, ({ kind }, started) => {
    if (kind !== 'begun') return
    // the end of the other process is about to be handled, and this one ends before that
    writeFileSync(join(started.cwd, 'go'), '')
    blockUntil(() => !isAlive(Number(readFileSync(join(started.cwd, 'pid'), 'utf8'))))
  })
  const other = spawn('sleep', ['60'])
  const { pid: otherPid = 0 } = other
  // it is written at once
  run('wait.md')
  blockUntil(() => existsSync(join(cwd, 'pid')))
  other.kill('SIGKILL')
  blockUntil(() => !isAlive(otherPid))

  expect(await worker.gone).toBeUndefined()
  expect(messages.map(({ kind }) => kind)).toEqual(['begun', 'planned', 'ended'])
})

it('delivers all that a process has sent before its end, also if nobody has read it until then', async () => {
  let isBusy = false
  const { worker, messages, run } = startWorker(
    { 'ask.md': 'Write a long text.\n' },
    (message, started) => {
      if (message.kind !== 'texts' || message.update.pieces.length === 0 || isBusy) return
      isBusy = true
      const folder = join(started.cwd, 'home/state/runs')
      const isEnded = (): boolean =>
        readdirSync(folder, { recursive: true }).some((name) => String(name).endsWith('summary.json'))
      blockUntil(isEnded)
      // nothing can be seen from outside while it waits to be read
      const until = Date.now() + 500
      blockUntil(() => Date.now() > until)
    },
    { BATON_GATEWAY_URL: await startModel() },
  )
  worker.send({ kind: 'listen', isOn: true })
  run('ask.md', { overrides: ['model="m"', 'tools=[]'] })

  expect(await worker.gone).toBeUndefined()
  expect(messages.at(-1)).toEqual({ kind: 'ended', isLast: true })
  const pieces = messages.flatMap((message) => (message.kind === 'texts' ? message.update.pieces : []))
  expect(pieces.map(({ text }) => text).join('')).toBe('word '.repeat(words))
})

it('a job is stopped by what comes right after it, also while the process is still starting', async () => {
  const { cwd, worker, messages, run } = startWorker({
    'wait.lua': `aip.cmd.exec("sh", { "-c", "until test -e never; do sleep 0.05; done" })`,
    'wait.md': '+++\nagent = "wait.lua"\n+++\nWait\n',
  })
  onTestFinished(() => writeFileSync(join(cwd, 'never'), ''))
  run('wait.md')
  worker.send({ kind: 'stop' })

  expect(await worker.gone).toBeUndefined()
  expect(messages.at(-1)).toMatchObject({ kind: 'ended', error: { code: 'ABORTED' } })
})
