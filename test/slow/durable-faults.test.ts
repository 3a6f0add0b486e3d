import { expect, it } from 'vitest'
import { once } from '../helpers/durable/play.ts'
import type { Try } from '../helpers/durable/trial.ts'
import { useTrials } from '../helpers/durable/use-trials.ts'

// A tenth of the fault list with the built command; scripts/soak.mjs runs all of it. Journals that are damaged byte by
// byte: test/durable/damage.test.ts. Faults of single operations within one process: test/journal/faults.test.ts.

const hour = 3_600_000

const tries: readonly Try[] = [
  {
    at: 'F2: a kill at 20, and at 12 of the resume',
    starts: [{ disturb: { at: 20, when: 'half' } }, { disturb: { at: 12, when: 'after' } }],
  },
  ...(
    [
      [17, 'fail', 'EIO'],
      [58, 'short', ''],
      [71, 'failing', 'EDQUOT'],
    ] as const
  ).map(([at, when, code]): Try => ({
    at: `F4: ${when} ${code} at ${at}`,
    starts: [{ disturb: { at, when, code } }],
  })),
  {
    at: 'F7: the clock goes back an hour at each record, and a day on in the resume',
    starts: [{ disturb: { shifts: [-hour], at: 60, when: 'after' } }, { disturb: { shifts: [24 * hour] } }],
  },
  {
    at: 'F12: SIGTERM while tasks wait for answers',
    starts: [{ onOutput: once('task/5/ask', ({ kill }) => kill('SIGTERM')) }],
  },
  { at: 'F12: nobody reads the output any more', starts: [{ onOutput: once('task/3/ask', ({ hangUp }) => hangUp()) }] },
]

const trials = useTrials(tries)

it.each(tries)('every guarantee holds after $at', async ({ at }) => {
  const { problems } = await trials.of(at)
  expect(problems).toEqual([])
})
