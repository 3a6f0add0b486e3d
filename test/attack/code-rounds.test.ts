import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { count, isWhole } from './attempts.ts'

interface Left {
  readonly rounds: number
  /** Megabytes used by the process after a tenth of the rounds, and after the last. */
  readonly early: number
  readonly late: number
  readonly mostThreads: number
  readonly threads: number
  readonly handles: readonly string[]
}

/** The memory of the last program may not have been released yet. */
const oneProgramMb = 128

it.skipIf(process.platform !== 'linux')(
  'many programs, some of them stopped at a limit, leak no thread or memory',
  () => {
    const rounds = isWhole ? 1000 : 40
    const box = join(root, 'dist/script/javascript')
    const args = [join(import.meta.dirname, 'code-rounds.mjs'), box, String(rounds)]
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(stderr).toBe('')
    const left = JSON.parse(stdout) as Left
    if (isWhole) process.stderr.write(`rounds of the JavaScript box: ${stdout}`)
    expect(left).toMatchObject({ rounds, mostThreads: 1, threads: 0, handles: [] })
    expect(left.late).toBeLessThan(left.early + oneProgramMb)
    count('many programs leave nothing behind', rounds)
  },
  120_000,
)
