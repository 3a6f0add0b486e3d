import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventOf, finishEvents } from './stream-events.mjs'

/**
 * A model whose answers are scripted: `answerOf` is given the number of the request, from 1, and its text, and says the words that are
 * streamed, the calls of tools behind them, and how long it thinks before.
 */
export async function startModel(answerOf) {
  let asked = 0
  let first
  const answer = async (request, response) => {
    first ??= performance.timeOrigin + performance.now()
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    asked += 1
    const { words = [], calls = [], thinksMs } = answerOf(asked, text)
    if (thinksMs !== undefined) await sleep(thinksMs)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const content of words) response.write(eventOf({ content }))
    for (const call of calls) response.write(eventOf({ tool_calls: [call] }))
    response.end(finishEvents)
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    /** Requests count from 1 again. */
    begin() {
      asked = 0
      first = undefined
    },
    /** When the first request since then came. */
    firstAt: () => first,
    stop: () => server.close(),
  }
}

/** A call of `read`, as an event has it; `index` counts those of one answer. */
export function readCall({ index = 0, number = index, ...input }) {
  const asked = JSON.stringify({ path: 'note.txt', ...input })
  return { index, id: `call_${number}`, type: 'function', function: { name: 'read', arguments: asked } }
}
