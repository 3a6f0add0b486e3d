import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const promptOf = (streams) => `+++
template = true
model = "bench"
input_concurrency = ${streams}
+++
Say many words.
`

/**
 * Throughput of many concurrently streamed answers, against bare fetch. The time runs from the first request to the end
 * of the client, so that starting the process does not count, but ending it does.
 */
export async function streams({ command, folder, small }) {
  const load = small ? { streams: 40, pieces: 20 } : { streams: 500, pieces: 400 }
  writeFileSync(join(folder, 'words.md'), promptOf(load.streams))
  const server = startServer()
  try {
    const { port } = await server.answer()
    const baseUrl = `http://127.0.0.1:${port}/v1`
    const questions = Array.from({ length: load.streams }, (_, index) => ['-i', `question ${index}`]).flat()
    const baton = {
      args: [command, 'run', 'words.md', ...questions],
      env: { BATON_GATEWAY_URL: baseUrl },
    }
    const bare = { args: [join(import.meta.dirname, 'fetch-client.mjs'), baseUrl, String(load.streams)], env: {} }

    const measure = (client) => async () => {
      await server.ask(load)
      const { endedAt, stdout, cpu } = await runCounted(client.args, { folder, env: client.env })
      const { firstAt } = await server.ask('report')
      const pieces = stdout.split('word ').length - 1
      if (pieces !== load.streams * load.pieces) throw new Error(`${client.args[0]} printed ${pieces} pieces`)
      return { rate: pieces / (endedAt - firstAt), cpu }
    }

    const results = await interleave({ baton: measure(baton), bare: measure(bare) }, small ? 1 : 9)
    const ratios = (key) =>
      quotients(
        results.baton.map((result) => result[key]),
        results.bare.map((result) => result[key]),
      )
    return [
      figure(`throughput of ${load.streams} streams at once`, {
        of: 'bare fetch',
        ratios: ratios('rate'),
        aim: { atLeast: 0.8 },
      }),
      figure('CPU time of that, including startup', {
        of: 'bare fetch, including startup',
        ratios: ratios('cpu'),
      }),
    ]
  } finally {
    server.stop()
  }
}

export function startServer() {
  const child = fork(join(import.meta.dirname, 'stream-server.mjs'), { stdio: 'inherit' })
  const gone = new AbortController()
  child.once('exit', () => gone.abort(new Error('the stream server has exited')))
  const answer = async () => (await once(child, 'message', { signal: gone.signal }))[0]
  return {
    answer,
    ask(message) {
      const answered = answer()
      child.send(message)
      return answered
    },
    stop() {
      if (child.connected) child.disconnect()
    },
  }
}
