import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasSystemCode } from '../../src/base/error.ts'
import { tempPrefix, testTemp } from './temp.ts'

/**
 * Everything that the tests and the commands they run put into the temporary folder is in one separate folder, which is
 * removed when the tests are done: their processes are killed and do not exit. The leftovers of a killed test run are
 * removed by the next one.
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

/** By a separate process that nobody waits for: there are many thousands of files, which took ten seconds. */
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
