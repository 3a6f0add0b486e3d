import { afterAll, expect, it } from 'vitest'
import { mapLimit } from '../../src/base/concurrency.ts'
import { type ChatTry, tryChat } from '../helpers/durable/chat-trial.ts'
import type { Disturbance } from '../helpers/durable/play.ts'
import { core, countKills } from '../helpers/series.ts'

// `npm run soak -- series chat-kills` kills at every operation, in all three ways.

const count = countKills('chat-kills')

const modes = ['before', 'half', 'after'] as const
/** Each with a kill from the operations with which its message begins. */
const lines = {
  'the first message of a chat': ['Second.', false, { at: 13, when: 'after' }],
  'a further message': ['Second.', true, { at: 9, when: 'half' }],
  'a message that is worked on in iterations': ['/iter 1 "Second."', true, { at: 13, when: 'after' }],
} as const

async function operationsOf(line: string, isContinued: boolean): Promise<number> {
  const { problems, operations } = await tryChat({ at: '', line, isContinued, disturb: {} })
  expect(problems).toEqual([])
  return operations
}

async function allKills(line: string, isContinued: boolean): Promise<readonly Disturbance[]> {
  const operations = await operationsOf(line, isContinued)
  return Array.from({ length: operations }, (_, index) => modes.map((when) => ({ at: index + 1, when }))).flat()
}

it.each(Object.entries(lines))(
  '%s that was accepted is answered once and in one run, wherever its process is killed',
  async (_, [line, isContinued, sample]) => {
    const kills = core(false, true) ? await allKills(line, isContinued) : [sample]
    const tries: readonly ChatTry[] = kills.map((disturb) => {
      return { at: JSON.stringify(disturb), line, isContinued, disturb }
    })
    const stop = new AbortController()
    afterAll(() => stop.abort())
    const ended = await mapLimit(tries, { limit: 2, signal: stop.signal }, async (one) => {
      const trial = await tryChat(one)
      count.add(trial)
      const { problems, isHit, isTaken } = trial
      return { at: one.at, problems, isHit, isTaken }
    })
    expect(ended.filter(({ problems }) => problems.length > 0)).toEqual([])
    expect(ended.some(({ isHit, isTaken }) => isHit && isTaken)).toBe(true)
  },
  core(120_000, 3_600_000),
)
