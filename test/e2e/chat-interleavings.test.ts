import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { type StartChat, talkedText, talkThrough } from '../helpers/chat-line/talk.ts'
import { core, tellSeries } from '../helpers/series.ts'
import { tempTree } from '../helpers/temp.ts'
import { hasTmux, inTmux } from '../helpers/tmux.ts'

const startInTmux: StartChat = ({ cwd, url }) => {
  const env = { BATON_GATEWAY_URL: url, BATON_HOME: tempTree(), BATON_LOCAL_SERVERS: 'off', NO_COLOR: '1' }
  const { send, output, ...screen } = inTmux(
    `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' chat`,
    env,
    cwd,
  )
  return { ...screen, output, type: send, isEnded: () => /code \d+\r?\n/.test(output()) }
}

it.skipIf(!hasTmux)(
  'every key at every moment sends, executes and answers exactly what was meant, in a terminal (needs tmux)',
  { timeout: 60 * 60_000 },
  async () => {
    const count = core(2, 400)
    const talked = await talkThrough(startInTmux, { count, seed: 5, lanes: core(1, 3) })
    tellSeries(talkedText('in tmux', talked))
    expect(talked).toMatchObject({ interleavings: count })
  },
)
