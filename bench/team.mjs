const root = 'root'

/**
 * A team of the coordinator whose agents only receive messages: all have finished their first piece of work and wait
 * for more.
 */
export async function openTeam(library, count) {
  const { createCoordinator } = await import(`${library}/team/core/coordinator.js`)
  const { systemClock } = await import(`${library}/base/clock.js`)
  const settings = { maxAgents: count, maxDepth: 1, onStall: 'tell', stallAfterMs: 1e8 }
  const team = createCoordinator({ settings, clock: systemClock })
  const ids = idsOf(count)
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
  for (const id of ids) team.spawn({ id, parent: root, depth: 1, role: 'worker', message: mailOf(`${id}/begin`), work })
  const { signal } = new AbortController()
  const wait = (which) => team.wait(root, which, { ms: 1e6, returnWhen: 'all' }, signal)
  await wait(ids)
  return {
    ids,
    send: (id, number) => team.send(id, mailOf(`${id}/${number}`)),
    wait: (id) => wait([id]),
    told: () => told,
    end: () => team.end(undefined),
  }
}

/** The same with an array and an awaited promise for each receiver. */
export async function openQueues(count) {
  const ids = idsOf(count)
  const queues = new Map(ids.map((id) => [id, createQueue()]))
  for (const queue of queues.values()) queue.send('work')
  await new Promise((resolve) => setImmediate(resolve))
  return {
    ids,
    send: (id, number) => queues.get(id).send(mailOf(`${id}/${number}`)),
    wait: (id) => queues.get(id).next(),
    told: () => [...queues.values()].reduce((sum, { told }) => sum + told.length, 0),
    end: async () => undefined,
  }
}

function createQueue() {
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
    told,
    send(mail) {
      waiting.push(mail)
      wake()
    },
    next: () => new Promise((resolve) => (onEnd = resolve)),
  }
}

function idsOf(count) {
  return Array.from({ length: count }, (_, index) => `agent-${index}`)
}

function mailOf(id) {
  return { id, from: root, text: 'some text of a message', interrupts: false }
}

// in a separate process: the memory of that many of them, in bytes
const [, script, library, kind, count] = process.argv
if (script === import.meta.filename) {
  const open = (size) => (kind === 'team' ? openTeam(library, size) : openQueues(size))
  const warm = await open(2)
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  const opened = await open(Number(count))
  globalThis.gc()
  process.stdout.write(`${process.memoryUsage().heapUsed - before}\n`)
  await Promise.all([warm.end(), opened.end()])
  process.exit(0)
}
