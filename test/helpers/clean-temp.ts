import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasSystemCode } from '../../src/base/error.ts'
import { tempPrefix, testTemp } from './temp.ts'

/**
 * All that the tests and the commands they run put into the temporary folder is in one of its own, which is removed when the
 * tests are over: their threads are ended, and do not exit. What a test run that was killed has left is removed by the next.
 */
export function setup(): void {
  const folder = dirname(testTemp)
  for (const name of readdirSync(folder)) {
    const [, pid] = new RegExp(`^${tempPrefix}(\\d+)$`).exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { recursive: true, force: true })
  }
  mkdirSync(testTemp, { recursive: true, mode: 0o700 })
  process.env['TMPDIR'] = testTemp
}

export function teardown(): void {
  rmSync(testTemp, { recursive: true, force: true })
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !hasSystemCode(error, 'ESRCH')
  }
}
