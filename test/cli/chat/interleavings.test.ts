import { expect, it } from 'vitest'
import { startInProcess } from '../../helpers/chat-line/in-process.ts'
import { talkedText, talkThrough } from '../../helpers/chat-line/talk.ts'
import { core, tellSeries } from '../../helpers/series.ts'

it.each(core([1], [1, 2, 3, 4]))(
  'every key at every moment sends, executes and answers exactly what was meant: typing, questions, answers and resizes, series %d',
  { timeout: 60 * 60_000 },
  async (seed) => {
    const count = core(5, 500)
    const talked = await talkThrough(startInProcess, { count, seed, lanes: core(1, 8) })
    tellSeries(talkedText(`in a stream, series ${seed}`, talked))
    expect(talked).toMatchObject({ interleavings: count })
  },
)
