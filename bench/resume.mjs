import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted, runNode } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

/** Kilobytes that a resume may take at most, whatever its record holds. */
const mostMemory = 256 * 1024

/**
 * What comes before a run goes on: its record is read, checked and made an index of, and answers are looked up, in a
 * process of its own; against reading the same bytes and parsing each line. Once with a record of tasks that are
 * finished, once with one script that has made all calls and has not come to its end.
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

/** Runs that are indexed, calls that are answered, and whether the first tasks are finished. */
function expectedOf(shape, count) {
  return shape === 'finished' ? '1 0 true' : `1 ${count - 3} false`
}
