import { createServer } from 'node:http'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'
import { eventOf, finishEvents } from './stream-events.mjs'

/** How long the model takes until it answers: as long as a fast one does. */
const thinksMs = 50

/**
 * A model that calls a tool in each of 100 rounds, against the same requests with nothing but fetch. The time counts from
 * the first request until the client has ended.
 */
export async function tools({ command, folder, small }) {
  const rounds = small ? 5 : 100
  writeFileSync(join(folder, 'note.txt'), 'A line of a file that is read.\n'.repeat(20))
  const keys = `model = "bench"\ntools = ["read"]\nmax_rounds = ${rounds + 1}`
  writeFileSync(join(folder, 'ask.md'), `+++\n${keys}\n+++\nRead all files.\n`)
  const server = await startModel(rounds)
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
      figure('processor time of that, start included', { of: 'bare fetch, start included', ratios: ratios('cpu') }),
    ]
  } finally {
    server.stop()
  }
}

/** Calls `read` in each round but the last, with a few words before. */
async function startModel(rounds) {
  let asked = 0
  let firstAt
  const server = createServer((request, response) => {
    firstAt ??= performance.timeOrigin + performance.now()
    request.resume().once('end', () => {
      asked += 1
      setTimeout(answer, thinksMs, response, asked)
    })
  })

  function answer(response, round) {
    const isLast = round === rounds
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const words = isLast ? ['All ', 'is ', 'read.'] : ['I ', 'read ', 'the ', 'next ', 'file.']
    for (const content of words) response.write(eventOf({ content }))
    if (!isLast) response.write(eventOf({ tool_calls: [callOf(round)] }))
    response.end(finishEvents)
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    begin() {
      asked = 0
      firstAt = undefined
    },
    firstAt: () => firstAt,
    stop: () => server.close(),
  }
}

/** The same file in another piece each time, so that no call is repeated. */
function callOf(round) {
  const input = JSON.stringify({ path: 'note.txt', offset: 1, limit: 20 + round })
  return { index: 0, id: `call_${round}`, type: 'function', function: { name: 'read', arguments: input } }
}
