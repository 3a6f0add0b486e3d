import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventOf, finishEvents } from './stream-events.mjs'

/**
 * A model with scripted answers: `answerOf` gets the number of the request, from 1, and its text, and returns the words
 * to stream, the tool calls after them, and how long the model thinks first.
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
    /** Restarts the numbering of requests at 1. */
    begin() {
      asked = 0
      first = undefined
    },
    /** When the first request after that was received. */
    firstAt: () => first,
    stop: () => server.close(),
  }
}

/** A call of `read`, in the form of an event; `index` counts the calls of one answer. */
export function readCall({ index = 0, number = index, ...input }) {
  return toolCall('read', { path: 'note.txt', ...input }, { index, number })
}

/** A call of `edit`, the only one of its answer. */
export function editCall(input) {
  return toolCall('edit', input, { index: 0, number: 0 })
}

function toolCall(name, input, { index, number }) {
  return { index, id: `call_${number}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }
}
