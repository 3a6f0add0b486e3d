import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted, runNode } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

/** The most memory in kilobytes that a resume may take, for any journal. */
const mostMemory = 256 * 1024

/**
 * The work before a run resumes: its journal is read, checked and indexed, and answers are looked up, in a separate
 * process; against reading the same bytes and parsing each line. Once with a journal of finished tasks, once with a
 * single script that has made all calls but has not finished.
 */
export async function resume({ library, folder, small }) {
  const figures = []
  for (const count of small ? [2_000] : [100_000, 1_000_000]) {
    for (const shape of ['finished', 'unfinished']) {
      const run = join(folder, shape)
      await runNode([join(import.meta.dirname, 'resume-records.mjs'), library, run, shape, String(count)], { folder })
      const rounds = small ? 1 : count > 100_000 ? 3 : 7
      const results = await interleave(
        {
          index: () => counted('resume-index.mjs', [library, run], expectedOf(shape, count)),
          parse: () => counted('resume-parse.mjs', [run], `${count}`),
        },
        rounds,
      )
      const of = (name, field) => results[name].map((result) => result[field])
      const label = `${count.toLocaleString('en-US')} records, ${shape}`
      figures.push(
        figure(`index of ${label}`, {
          of: 'reading and parsing them',
          ratios: quotients(of('index', 'cpu'), of('parse', 'cpu')),
        }),
        figure(`peak memory, ${label}`, {
          of: '256 MB',
          ratios: of('index', 'peak').map((peak) => peak / mostMemory),
          aim: { atMost: 1 },
        }),
      )
      rmSync(run, { recursive: true })
    }
  }
  return figures

  async function counted(script, args, expected) {
    const { ms, cpu, peak, stdout } = await runCounted([join(import.meta.dirname, script), ...args], { folder })
    if (stdout.trim() !== expected) throw new Error(`${script} printed ${stdout.trim()}, not ${expected}`)
    return { ms, cpu, peak }
  }
}

/** The number of indexed runs, the number of answered calls, and whether the first tasks are finished. */
function expectedOf(shape, count) {
  return shape === 'finished' ? '1 0 true' : `1 ${count - 3} false`
}
