import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { endGroup, leaderOf } from '../../src/base/process-group.ts'

/** A separate process group: a shell, and the process it waits for. */
function group(): number {
  const child = spawn('sh', ['-c', 'sleep 300 & wait'], { detached: true, stdio: 'ignore' })
  const pid = child.pid ?? 0
  onTestFinished(() => {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // it has ended
    }
  })
  return pid
}

function runs(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

it('ends a group whose leader is the recorded process', async () => {
  const leader = leaderOf(group())
  await sleep(100)
  expect(runs(leader.pid)).toBe(true)
  expect(await endGroup(leader)).toBe(true)
  expect(runs(leader.pid)).toBe(false)
  expect(await endGroup(leader)).toBe(false)
})

it('does not end a process that only has the number of a recorded one', async () => {
  const leader = leaderOf(group())
  const starts = ['ticks:1', 'ticks:', `ticks:${Number(leader.start.split(':')[1]) - 1}`, 'epoch:1', '', 'ticks']
  for (const start of starts) expect(await endGroup({ ...leader, start }), start).toBe(false)
  expect(await endGroup({ ...leader, pid: 2 ** 22 + 5 })).toBe(false)
  expect(runs(leader.pid)).toBe(true)
})
