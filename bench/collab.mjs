import { runNode } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'
import { openQueues, openTeam } from './team.mjs'

/**
 * The number of messages and waits that are measured, for any number of agents, and how many are in flight at a time.
 */
const total = 4000
const atATime = 20

/**
 * The cost of a team of agents apart from its models: the memory of an agent, the delivery of a message, and a wait
 * that ends, each against a bare queue in memory, with 20 and with 200 concurrent agents in one process.
 */
export async function collab({ library, folder, small }) {
  // no fewer than work at a time: two waits for one agent would wait for the same message
  const sizes = small ? [20, 40] : [20, 200]
  const open = { team: (count) => openTeam(library, count), queue: openQueues }
  const cases = Object.fromEntries(
    sizes.flatMap((count) =>
      Object.entries(open).map(([kind, begin]) => [
        `${kind} ${count}`,
        async () => ({
          ...(await measure(await begin(count), small ? 100 : total)),
          bytes: await bytesOf(kind, count, { library, folder }),
        }),
      ]),
    ),
  )
  const results = await interleave(cases, small ? 1 : 9)
  const all = (name, key) => results[name].map((result) => result[key])
  const [few, many] = sizes
  const names = { message: 'a delivered message', wait: 'a wait for an agent', bytes: 'memory of an agent' }
  return Object.entries(names).flatMap(([key, name]) => [
    ...sizes.map((count) =>
      figure(`${name}, ${count} at once`, {
        of: 'a bare queue in memory',
        ratios: quotients(all(`team ${count}`, key), all(`queue ${count}`, key)),
      }),
    ),
    figure(`${name}, ${many} at once`, {
      of: `${few} at once`,
      ratios: quotients(all(`team ${many}`, key), all(`team ${few}`, key)),
      aim: { atMost: 1.3 },
    }),
  ])
}

/** CPU time in microseconds, of the leader alone or of the queues. */
async function measure({ ids, send, wait, told, end }, count) {
  const begun = told()
  const idOf = (number) => ids[number % ids.length]
  const message = await timed(count, async (number) => {
    for (let next = number; next < number + atATime; next += 1) send(idOf(next), next)
    await new Promise((resolve) => setImmediate(resolve))
  })
  if (told() - begun !== count) throw new Error(`${told() - begun} of ${count} messages were delivered`)
  const waiting = await timed(count, (number) =>
    Promise.all(
      Array.from({ length: atATime }, (_, index) => {
        const id = idOf(number + index)
        send(id, `wait/${number + index}`)
        return wait(id)
      }),
    ),
  )
  await end()
  return { message, wait: waiting }
}

async function timed(count, work) {
  const began = process.cpuUsage()
  // eslint-disable-next-line no-await-in-loop
  for (let number = 0; number < count; number += atATime) await work(number)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / count
}

/** Memory of each agent or queue beyond two, so that other memory of the process does not count. */
async function bytesOf(kind, count, { library, folder }) {
  const program = new URL('./team.mjs', import.meta.url).pathname
  const used = async (size) => {
    const { stdout } = await runNode(['--expose-gc', program, library, kind, String(size)], { folder })
    return Number(stdout)
  }
  return ((await used(count)) - (await used(2))) / (count - 2)
}
