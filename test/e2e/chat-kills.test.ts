import { afterAll, expect, it } from 'vitest'
import { mapLimit } from '../../src/base/concurrency.ts'
import { type ChatTry, tryChat } from '../helpers/durable/chat-trial.ts'
import type { Disturbance } from '../helpers/durable/play.ts'
import { core } from '../helpers/series.ts'

// `npm run soak -- series chat-kills` kills at every operation, in all three ways.

const modes = ['before', 'half', 'after'] as const
const lines = {
  'the first message of a chat': ['Second.', false],
  'a further message': ['Second.', true],
  'a message that is worked on in iterations': ['/iter 1 "Second."', true],
} as const

async function operationsOf(line: string, isContinued: boolean): Promise<number> {
  const { problems, operations } = await tryChat({ at: '', line, isContinued, disturb: {} })
  expect(problems).toEqual([])
  return operations
}

function kills(operations: number): readonly Disturbance[] {
  const all = Array.from({ length: operations }, (_, index) => modes.map((when) => ({ at: index + 1, when }))).flat()
  // the sample is from the operations with which a message begins
  return core(0, 1) === 1 ? all : [all[13], all[25], all[38]].flatMap((one) => one ?? [])
}

it.each(Object.entries(lines))(
  '%s that was taken is answered once and in one run, wherever its process is killed',
  async (_, [line, isContinued]) => {
    const tries: readonly ChatTry[] = kills(await operationsOf(line, isContinued)).map((disturb) => {
      return { at: JSON.stringify(disturb), line, isContinued, disturb }
    })
    const stop = new AbortController()
    afterAll(() => stop.abort())
    const ended = await mapLimit(tries, { limit: 2, signal: stop.signal }, async (one) => {
      const { problems, isHit, isTaken } = await tryChat(one)
      return { at: one.at, problems, isHit, isTaken }
    })
    expect(ended.filter(({ problems }) => problems.length > 0)).toEqual([])
    expect(ended.some(({ isHit, isTaken }) => isHit && isTaken)).toBe(true)
  },
  core(120_000, 3_600_000),
)
