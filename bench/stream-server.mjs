// Started by streams.mjs: an OpenAI-compatible server that answers a fixed number of requests at the same time, each
// with the same small pieces, as fast as they are consumed. Messages to it: { streams, pieces } before each round,
// 'report' after it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { eventOf, finishEvents } from './stream-events.mjs'

const piece = Buffer.from(eventOf({ content: 'word ' }))
const ending = Buffer.from(finishEvents)
let round = newRound({ streams: 0, pieces: 0 })

function newRound({ streams, pieces }) {
  return { streams, pieces, waiting: [], firstAt: undefined }
}

const server = createServer((request, response) => {
  round.firstAt ??= performance.timeOrigin + performance.now()
  request.resume().once('end', () => {
    round.waiting.push(response)
    // all answers start together, so that all of them are in flight at the same time; a retried request starts late
    const due = round.waiting.length > round.streams ? [response] : round.waiting
    if (round.waiting.length >= round.streams) for (const ready of due) void answer(ready, round.pieces)
  })
})

async function answer(response, pieces) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let sent = 0; sent < pieces; sent += 1) {
    if (!response.write(piece)) await once(response, 'drain')
    await nextTurn()
  }
  response.end(ending)
}

process.on('message', (message) => {
  if (message === 'report') return process.send({ firstAt: round.firstAt, answered: round.waiting.length })
  round = newRound(message)
  return process.send('ready')
})
process.once('disconnect', () => process.exit())
server.listen({ port: 0, host: '127.0.0.1', backlog: 1_000 }, () => process.send({ port: server.address().port }))
