import { expect, it } from 'vitest'
import type { Disturbance } from '../helpers/durable/play.ts'
import { taskCount } from '../helpers/durable/scenario.ts'
import type { Try } from '../helpers/durable/trial.ts'
import { useTrials } from '../helpers/durable/use-trials.ts'
import { core } from '../helpers/series.ts'

// A fixed sample of what scripts/soak.mjs tries in full: a run with four stages and some tasks is killed by SIGKILL
// at one operation on its journal, resumed, and compared with an undisturbed run.

const modes = ['before', 'half', 'after'] as const

/** Spread over all operations of a run; the test of their number checks this. */
const spread: readonly Disturbance[] = Array.from({ length: 3 }, (_, index) => ({
  at: 1 + index * 66,
  when: modes[index % modes.length] ?? 'before',
}))

/** Kills after which the journal alone does not show what has happened. */
const delicate: readonly Disturbance[] = [
  { match: '"k":"run.start"', at: 1, when: 'half' },
  { match: '"op":"append"', at: taskCount + 1, when: 'after' },
  { match: '"kind":"command"', at: 2, when: 'half' },
  ...core<readonly Disturbance[]>(
    [],
    [
      { match: '"op":"delete"', at: 1, when: 'after' },
      { match: '"k":"run.end"', at: 1, when: 'half' },
    ],
  ),
]

const points = [...spread, ...delicate].map((disturb): Try => ({ at: JSON.stringify(disturb), starts: [{ disturb }] }))
const trials = useTrials(points)

it('kill points are spread over all operations on the journal', () => {
  const last = spread.at(-1)?.at ?? 0
  expect(last).toBeLessThan(trials.operations())
  expect(last).toBeGreaterThan(trials.operations() * 0.75)
})

it.each(points)('every guarantee holds when it is killed at $at', async ({ at }) => {
  const { problems, stops } = await trials.of(at)
  expect({ problems, stops }).toEqual({ problems: [], stops: 1 })
})
