import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'
import { readCall, startModel } from './scripted-model.mjs'

/** How long the model takes to answer: as long as a fast one. */
const thinksMs = 50

/**
 * A model that calls a tool in each of 100 rounds, against the same requests with bare fetch. The time runs from the
 * first request to the end of the client.
 */
export async function tools({ command, folder, small }) {
  const rounds = small ? 5 : 100
  writeFileSync(join(folder, 'note.txt'), 'A line of a file that is read.\n'.repeat(20))
  const keys = `model = "bench"\ntools = ["read"]\nmax_rounds = ${rounds + 1}`
  writeFileSync(join(folder, 'ask.md'), `+++\n${keys}\n+++\nRead all files.\n`)
  // a different part of the same file each time, so that no call is repeated
  const server = await startModel((round) => ({
    thinksMs,
    ...(round === rounds
      ? { words: ['All ', 'is ', 'read.'] }
      : {
          words: ['I ', 'read ', 'the ', 'next ', 'file.'],
          calls: [readCall({ number: round, offset: 1, limit: 20 + round })],
        }),
  }))
  try {
    const baton = { args: [command, 'run', 'ask.md'], env: { BATON_GATEWAY_URL: server.url } }
    const bare = {
      args: [join(import.meta.dirname, 'rounds-client.mjs'), server.url, join(folder, 'note.txt')],
      env: {},
    }
    const measure = (client) => async () => {
      server.begin()
      const { endedAt, stdout, cpu } = await runCounted(client.args, { folder, env: client.env })
      if (!stdout.includes('All is read.')) throw new Error(`${client.args[0]} printed ${stdout}`)
      return { ms: endedAt - server.firstAt(), cpu }
    }
    const results = await interleave({ baton: measure(baton), bare: measure(bare) }, small ? 1 : 5)
    const ratios = (key) =>
      quotients(
        results.baton.map((result) => result[key]),
        results.bare.map((result) => result[key]),
      )
    return [
      figure(`${rounds} rounds of a model that takes ${thinksMs} ms`, {
        of: 'bare fetch',
        ratios: ratios('ms'),
        aim: { atMost: 1.1 },
      }),
      figure('CPU time of that, including startup', { of: 'bare fetch, including startup', ratios: ratios('cpu') }),
    ]
  } finally {
    server.stop()
  }
}
