import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { openTaskGroup } from '../../../src/tool/sandbox/task-group.ts'

it('holds all that is started in it to its number of tasks, and is gone when it is closed', async () => {
  const group = openTaskGroup(20)
  if (group === undefined) {
    // an ordinary user, whose processes have a limit of their own, or a container
    expect(openTaskGroup(1_000)).toBe(undefined)
    return
  }
  const line = 'for i in $(seq 30); do sleep 1 & done; echo unlimited'
  const { stdout, stderr } = spawnSync('/bin/sh', [
    '-c',
    'echo 0 > "$0" && exec "$@"',
    group.door,
    '/bin/sh',
    '-c',
    line,
  ])
  expect(String(stdout)).toBe('')
  expect(String(stderr)).toContain('fork')
  await group.close()
  expect(existsSync(dirname(group.door))).toBe(false)
})
