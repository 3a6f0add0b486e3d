import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasSystemCode } from '../../src/base/error.ts'
import { tempPrefix, testTemp } from './temp.ts'

/**
 * All that the tests and the commands they run put into the temporary folder is in one of its own, which is removed when the
 * tests are over: their processes are ended, and do not exit. What a test run that was killed has left is removed by the next.
 */
export function setup(): void {
  const folder = dirname(testTemp)
  for (const name of readdirSync(folder)) {
    const [, pid] = new RegExp(`^${tempPrefix}(\\d+)$`).exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) remove(join(folder, name))
  }
  mkdirSync(testTemp, { recursive: true, mode: 0o700 })
  process.env['TMPDIR'] = testTemp
}

export function teardown(): void {
  remove(testTemp)
}

/** By a process of its own that nobody waits for: the files are many thousands, which took ten seconds. */
function remove(folder: string): void {
  spawn('rm', ['-rf', folder], { detached: true, stdio: 'ignore' }).unref()
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !hasSystemCode(error, 'ESRCH')
  }
}
