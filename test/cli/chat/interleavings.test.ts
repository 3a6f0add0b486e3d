import { expect, it } from 'vitest'
import { startInProcess } from '../../helpers/chat-line/in-process.ts'
import { talkedText, talkThrough } from '../../helpers/chat-line/talk.ts'
import { core, tellSeries } from '../../helpers/series.ts'

it(
  'every key at every moment sends, executes and answers exactly what was meant: interleavings of typing, questions, answers and resizes',
  { timeout: 60 * 60_000 },
  async () => {
    const count = core(5, 2000)
    const talked = await talkThrough(startInProcess, { count, seed: 1 })
    tellSeries(talkedText('in a stream', talked))
    expect(talked).toMatchObject({ interleavings: count })
  },
)
