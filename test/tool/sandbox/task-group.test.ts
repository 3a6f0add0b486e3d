import { expect, it } from 'vitest'
import { runProcess } from '../../../src/base/process.ts'
import { openTaskGroup } from '../../../src/tool/sandbox/task-group.ts'

it('limits all that is started in it to its number of tasks, and is removed when it is closed', async () => {
  const group = openTaskGroup(20)
  if (group === undefined) {
    // an ordinary user, whose processes have their own limit, or a container
    expect(openTaskGroup(1_000)).toBe(undefined)
    return
  }
  const options = {
    command: '/bin/sh',
    args: ['-c', 'for i in $(seq 30); do sleep 1 & done; echo unlimited'],
    cwd: '/',
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    timeLimitMs: 60_000,
    maxOutputBytes: 10_000,
    onStart: group.enter,
  }
  const { stdout, stderr } = await runProcess(options, new AbortController().signal)
  expect(stdout.text).toBe('')
  expect(stderr.text).toContain('fork')
  await group.close()
  expect(() => group.enter(process.pid)).toThrow('the number of processes cannot be limited')
})
