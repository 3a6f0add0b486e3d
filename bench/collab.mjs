import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { figure, interleave, quotients } from './rounds.mjs'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
const root = 'root'
const messages = 20
const waits = 20

/**
 * What a team of agents costs beside what its models do: the memory of an agent, a message that is told, and a wait that ends,
 * each against a bare queue in memory, with 20 and with 200 agents at once in one process.
 */
export async function collab({ library, small }) {
  const { createCoordinator } = await import(`${library}/agent/collab/coordinator.js`)
  const { systemClock } = await import(`${library}/base/clock.js`)
  const newTeam = (count) =>
    createCoordinator({
      settings: { maxAgents: count, maxDepth: 1, onStall: 'tell', stallAfterMs: 1e8 },
      clock: systemClock,
    })
  const sizes = small ? [4, 8] : [20, 200]
  const cases = Object.fromEntries(
    sizes.flatMap((count) => [
      [`team ${count}`, () => measureTeam(newTeam, count)],
      [`queue ${count}`, () => measureQueue(count)],
    ]),
  )
  const results = await interleave(cases, small ? 1 : 9)
  const all = (name, key) => results[name].map((result) => result[key])
  const [few, many] = sizes
  return ['message', 'wait', 'bytes'].flatMap((key) => {
    const name = { message: 'a message that is told', wait: 'a wait for an agent', bytes: 'memory of an agent' }[key]
    const ratios = (count) => quotients(all(`team ${count}`, key), all(`queue ${count}`, key))
    return [
      ...sizes.map((count) =>
        figure(`${name}, ${count} at once`, { of: 'a bare queue in memory', ratios: ratios(count) }),
      ),
      figure(`${name}, ${many} at once`, {
        of: `${few} at once`,
        ratios: quotients(all(`team ${many}`, key), all(`team ${few}`, key)),
        aim: { atMost: 1.3 },
      }),
    ]
  })
}

async function measureTeam(newTeam, count) {
  const before = usedBytes()
  const team = newTeam(count)
  const ids = Array.from({ length: count }, (_, index) => `agent-${index}`)
  let told = 0
  const work = {
    begin: (arrive) => arrive(),
    async piece(mail, { live }) {
      await live()
      told += mail.length
      return { kind: 'completed', text: 'done' }
    },
    withdraw: async () => undefined,
  }
  for (const id of ids) team.spawn({ id, parent: root, depth: 1, role: 'worker', message: mailOf(`${id}/0`), work })
  const terms = { ms: 1e6, returnWhen: 'all' }
  const { signal } = new AbortController()
  await team.wait(root, ids, terms, signal)
  const bytes = (usedBytes() - before) / count

  const rounds = Math.ceil((200 * messages) / count)
  const message = await timed(rounds * count, async () => {
    for (let round = 1; round <= rounds; round += 1) {
      for (const id of ids) team.send(id, mailOf(`${id}/${round}`))
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
  if (told !== (rounds + 1) * count) throw new Error(`${told} messages were told`)

  const waitRounds = Math.ceil((200 * waits) / count)
  const wait = await timed(waitRounds * count, async () => {
    for (let round = 1; round <= waitRounds; round += 1) {
      const ends = ids.map((id) => {
        team.send(id, mailOf(`${id}/wait/${round}`))
        return team.wait(root, [id], terms, signal)
      })
      await Promise.all(ends)
    }
  })
  await team.end(undefined)
  return { message, wait, bytes }
}

/** An array for each receiver, and a promise that is awaited for each. */
async function measureQueue(count) {
  const before = usedBytes()
  const queues = Array.from({ length: count }, (_, index) => createQueue(`agent-${index}`))
  for (const { send } of queues) send('work')
  await new Promise((resolve) => setImmediate(resolve))
  const bytes = (usedBytes() - before) / count

  const rounds = Math.ceil((200 * messages) / count)
  const message = await timed(rounds * count, async () => {
    for (let round = 1; round <= rounds; round += 1) {
      for (const { id, send } of queues) send(mailOf(`${id}/${round}`))
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
  const waitRounds = Math.ceil((200 * waits) / count)
  const wait = await timed(waitRounds * count, async () => {
    for (let round = 1; round <= waitRounds; round += 1) {
      const ends = queues.map(({ id, send, next }) => {
        const end = next()
        send(mailOf(`${id}/wait/${round}`))
        return end
      })
      await Promise.all(ends)
    }
  })
  return { message, wait, bytes }
}

function createQueue(id) {
  const waiting = []
  const told = []
  let onEnd = () => undefined
  let wake = () => undefined
  void (async () => {
    for (;;) {
      while (waiting.length > 0) told.push(waiting.shift())
      onEnd()
      await new Promise((resolve) => (wake = resolve))
    }
  })()
  return {
    id,
    send(mail) {
      waiting.push(mail)
      wake()
    },
    next: () => new Promise((resolve) => (onEnd = resolve)),
  }
}

function mailOf(id) {
  return { id, from: root, text: 'some text of a message', interrupts: false }
}

async function timed(count, work) {
  const began = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / count
}

/** Without what can be collected. */
function usedBytes() {
  collect()
  return process.memoryUsage().heapUsed
}
