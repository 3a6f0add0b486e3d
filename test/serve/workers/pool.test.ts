import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createBroker } from '../../../src/serve/workers/broker.ts'
import type { FromWorker } from '../../../src/serve/workers/messages.ts'
import { createWorkerPool } from '../../../src/serve/workers/pool.ts'
import { tempTree } from '../../helpers/temp.ts'
import { isAlive } from '../../helpers/worker-processes.ts'

/** Keeps this process from doing anything else, as a busy server does. */
function blockUntil(isTrue: () => boolean): void {
  const deadline = Date.now() + 20_000
  while (!isTrue()) if (Date.now() > deadline) throw new Error('what was waited for did not happen')
}

it('delivers the last messages of a process whose end is noticed together with that of another one', async () => {
  const cwd = tempTree({
    '.git/HEAD': '',
    // says that it runs, and goes on when it may
    'wait.lua': `aip.cmd.exec("sh", { "-c", "echo $PPID > pid.new; mv pid.new pid; until test -e go; do sleep 0.02; done" })`,
    'wait.md': '+++\nagent = "wait.lua"\n+++\nWait\n',
  })
  const env = { PATH: process.env['PATH'], BATON_HOME: join(cwd, 'home'), BATON_LOCAL_SERVERS: 'off' }
  const pool = createWorkerPool({ env, cwd, spare: 0, broker: createBroker() })
  onTestFinished(() => pool.close())
  const other = spawn('sleep', ['60'])
  const { pid: otherPid = 0 } = other

  const worker = pool.take()
  const kinds: FromWorker['kind'][] = []
  worker.listen(({ kind }) => {
    kinds.push(kind)
    if (kind !== 'begun') return
    // the end of the other process is about to be handled, and this one ends before that
    writeFileSync(join(cwd, 'go'), '')
    blockUntil(() => !isAlive(Number(readFileSync(join(cwd, 'pid'), 'utf8'))))
  })
  const job = { kind: 'start', file: 'wait.md', options: {} } as const
  worker.send({ kind: 'do', job, isWaiting: false, cwd, home: cwd, resting: [] })
  // the message is written at once
  blockUntil(() => existsSync(join(cwd, 'pid')))
  other.kill('SIGKILL')
  blockUntil(() => !isAlive(otherPid))

  expect(await worker.gone).toBeUndefined()
  expect(kinds).toEqual(['begun', 'planned', 'ended'])
})
