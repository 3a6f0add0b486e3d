import { expect, it } from 'vitest'
import { once } from '../helpers/durable/play.ts'
import type { Try } from '../helpers/durable/trial.ts'
import { useTrials } from '../helpers/durable/use-trials.ts'

// A tenth of the fault list with the built command; scripts/soak.mjs runs all of it. Journals that are damaged byte by
// byte: test/durable/damage.test.ts. Faults of single operations within one process: test/journal/faults.test.ts.

const hour = 3_600_000

const tries: readonly Try[] = [
  ...[
    { first: 20, second: 12 },
    { first: 90, second: 8 },
  ].map(({ first, second }): Try => ({
    at: `F2: a kill at ${first}, and at ${second} of the resume`,
    starts: [{ disturb: { at: first, when: 'half' } }, { disturb: { at: second, when: 'after' } }],
  })),
  ...(
    [
      [17, 'fail', 'EIO'],
      [58, 'short', ''],
      [71, 'failing', 'EDQUOT'],
      [96, 'fail', 'EROFS'],
    ] as const
  ).map(([at, when, code]): Try => ({
    at: `F4: ${when} ${code} at ${at}`,
    starts: [{ disturb: { at, when, code } }],
  })),
  {
    at: 'F7: the clock goes back an hour at each record, and a day on in the resume',
    starts: [{ disturb: { shifts: [-hour], at: 60, when: 'after' } }, { disturb: { shifts: [24 * hour] } }],
  },
  ...(['SIGINT', 'SIGTERM'] as const).map((signal): Try => ({
    at: `F12: ${signal} while tasks wait for answers`,
    starts: [{ onOutput: once('task/5/ask', ({ kill }) => kill(signal)) }],
  })),
  { at: 'F12: nobody reads the output any more', starts: [{ onOutput: once('task/3/ask', ({ hangUp }) => hangUp()) }] },
]

const trials = useTrials(tries)

it.each(tries)('keeps every promise after $at', async ({ at }) => {
  const { problems } = await trials.of(at)
  expect(problems).toEqual([])
})
