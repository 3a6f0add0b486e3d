import { expect, it } from 'vitest'
import { isFinal, mayBecome } from '../../../src/team/core/member.ts'
import {
  type AgentStatus,
  type AgentWork,
  leaderId,
  type Mail,
  type PieceEnd,
  type PieceTerms,
} from '../../../src/event/collab.ts'
import { fakeClock } from '../../helpers/fake-clock.ts'
import { createRandom, oneOf } from '../../helpers/random.ts'
import { core } from '../../helpers/series.ts'
import { agentId, mailOf, settled, testTeam } from '../../helpers/team.ts'

const agents = 20
/** Only a team that is stuck lets this much time pass. */
const forever = 1e9
const never = new AbortController().signal

/** What is known about an agent without asking the coordinator. */
interface Known {
  ends: readonly PieceEnd[]
  isClosed: boolean
  isWorking: boolean
}

interface ModelWait {
  readonly ids: readonly string[]
  readonly returnWhen: 'all' | 'any'
}

/** Whether a member will end, given everything that members wait for: computed over the whole team each time. */
function goesOn(
  waiter: string,
  waits: ReadonlyMap<string, readonly ModelWait[]>,
  hasEnded: (id: string) => boolean,
): boolean {
  const able = new Set<string>()
  const ends = (id: string): boolean =>
    hasEnded(id) || (id !== leaderId && (able.has(id) || (waits.get(id) ?? []).length === 0))
  for (let before = -1; before !== able.size;) {
    before = able.size
    for (const [id, own] of waits) {
      if (own.every(({ ids, returnWhen }) => (returnWhen === 'all' ? ids.every(ends) : ids.some(ends)))) able.add(id)
    }
  }
  return able.has(waiter)
}

/** Lets 20 agents and their leader act at random, and checks what must always hold. */
async function play(seed: number): Promise<void> {
  const random = createRandom(seed)
  const times = (most: number): number => Math.floor(random() * (most + 1))
  const clock = fakeClock()
  const maxAgents = 1 + times(5)
  const world = testTeam({ clock, maxAgents, maxDepth: 3, stallAfterMs: 1e12 })
  const { team } = world
  const known = new Map<string, Known>()
  const sent = new Map<string, string>()
  const told = new Map<string, string>()
  const openWaits = new Map<string, ModelWait[]>()
  const listening = new Set<string>()
  let spawned = 0
  let mails = 0

  const statuses = new Map<string, AgentStatus>()
  team.watch((event) => {
    if (event.kind === 'status') {
      const before = statuses.get(event.id)
      if (before === undefined) expect(event.status).toBe('pending_init')
      else expect([before, event.status, mayBecome(before, event.status)]).toEqual([before, event.status, true])
      statuses.set(event.id, event.status)
    }
    if (event.kind === 'stalled') {
      const hasEnded = (id: string): boolean => isFinal(team.statusOf(id))
      const unable = event.agents.filter((id) => !goesOn(id, allWaits(), hasEnded))
      expect(unable.length, event.message).toBeGreaterThan(0)
    }
  })

  /** An agent whose model is done waits for the agents that it has spawned. */
  function allWaits(): ReadonlyMap<string, readonly ModelWait[]> {
    const all = new Map<string, readonly ModelWait[]>(openWaits)
    for (const id of listening) {
      const ids = team.members().flatMap((one) => (one.parent === id && !isFinal(one.status) ? [one.id] : []))
      if (ids.length > 0) all.set(id, [...(all.get(id) ?? []), { ids, returnWhen: 'any' }])
    }
    return all
  }

  function hear(who: string, ids: readonly string[]): void {
    for (const id of ids) {
      expect(told.get(id), `${id} is told twice`).toBeUndefined()
      told.set(id, who)
    }
  }

  /** Checks the mailbox as a conversation does before each request. */
  function listen(who: string): void {
    const inbox = team.inboxOf(who)
    const ids = inbox.waiting().map(({ id }) => id)
    hear(who, ids)
    inbox.know(ids)
  }

  async function wait(waiter: string, signal: AbortSignal): Promise<void> {
    const everybody = [...known.keys(), agentId(999), ...(waiter === leaderId ? [] : [leaderId])]
    const ids = [...new Set(Array.from({ length: 1 + times(3) }, () => oneOf(random, everybody)))]
    const returnWhen = oneOf(random, ['all', 'any'] as const)
    const ms = random() < 0.3 ? times(50) + 1 : forever
    const own = { ids, returnWhen }
    openWaits.set(waiter, [...(openWaits.get(waiter) ?? []), own])
    const info = known.get(waiter)
    if (info !== undefined) info.isWorking = false
    try {
      const end = await team.wait(waiter, ids, { ms, returnWhen }, signal)
      if ('stalled' in end) return
      expect(Object.keys(end.status)).toEqual(ids)
      const finals = Object.values(end.status).filter(isFinal).length
      if (end.timed_out) expect(ms, 'a standstill that nobody has named').toBeLessThan(forever)
      else expect(returnWhen === 'all' ? finals === ids.length : finals > 0).toBe(true)
      for (const id of end.seen) told.set(id, waiter)
    } finally {
      openWaits.set(waiter, openWaits.get(waiter)?.filter((one) => one !== own) ?? [])
      if (info !== undefined && !signal.aborted && openWaits.get(waiter)?.length === 0) info.isWorking = true
    }
  }

  function send(from: string): void {
    const to = oneOf(random, [...known.keys(), leaderId])
    if (team.refusal({ kind: 'send', to, text: 'text' }) !== undefined) return
    const mail = mailOf(`m${(mails += 1)}`, from, { interrupts: random() < 0.3 })
    sent.set(mail.id, to)
    for (let copies = random() < 0.2 ? 2 : 1; copies > 0; copies -= 1) team.send(to, mail)
  }

  async function act(self: string, depth: number, signal: AbortSignal): Promise<void> {
    const what = random()
    if (what < 0.2) await clock.sleep(times(20), signal)
    else if (what < 0.35) listen(self)
    else if (what < 0.55) send(self)
    else if (what < 0.75) {
      await Promise.all(Array.from({ length: random() < 0.2 ? 2 : 1 }, () => wait(self, signal)))
    } else if (what < 0.9) spawn(self, depth)
    else if (what < 0.95) await close(self)
  }

  function spawn(parent: string, depth: number): void {
    if (spawned === agents || team.refusal({ kind: 'spawn', depth, message: 'work' }) !== undefined) return
    spawned += 1
    const id = agentId(spawned)
    known.set(id, { ends: [], isClosed: false, isWorking: false })
    const message = mailOf(`spawn/${spawned}`, parent)
    team.spawn({ id, parent, depth: depth + 1, role: 'worker', message, work: workOf(id, depth + 1) })
  }

  async function close(by: string): Promise<void> {
    const id = oneOf(random, [...known.keys()])
    if (team.refusal({ kind: 'close', id, by }) !== undefined) return
    const before = await team.close(id, by)
    const info = known.get(id) as Known
    if (isFinal(before) && before !== 'shutdown') expect(statusOfEnd(info.ends.at(-1))).toEqual(before)
    info.isClosed = true
    expect(team.statusOf(id)).toBe('shutdown')
  }

  function workOf(id: string, depth: number): AgentWork {
    const info = known.get(id) as Known

    async function work({ stop, live }: PieceTerms): Promise<PieceEnd> {
      await live()
      info.isWorking = true
      const working = [...known.values()].filter(({ isWorking }) => isWorking).length
      expect(working, 'more work than may').toBeLessThanOrEqual(maxAgents)
      for (let left = times(5); left > 0; left -= 1) {
        // eslint-disable-next-line no-await-in-loop
        await act(id, depth, stop)
        stop.throwIfAborted()
      }
      do {
        info.isWorking = true
        listening.delete(id)
        listen(id)
        info.isWorking = false
        listening.add(id)
      } while (await team.inboxOf(id).next(stop))
      return random() < 0.2 ? { kind: 'errored', message: 'boom' } : { kind: 'completed', text: String(times(99)) }
    }

    return {
      async begin(arrive) {
        const mail = await arrive()
        hear(id, mail?.map((one) => one.id) ?? [])
        return mail
      },
      async piece(mail: readonly Mail[], terms) {
        let end: PieceEnd = { kind: 'stopped' }
        try {
          end = await work(terms)
        } catch (error) {
          if (!terms.stop.aborted) throw error
        }
        info.isWorking = false
        listening.delete(id)
        info.ends = [...info.ends, end]
        expect(mail.length).toBeGreaterThan(0)
        return end
      },
      withdraw: async () => {},
    }
  }

  spawn(leaderId, 0)
  for (let left = 40; left > 0; left -= 1) {
    // eslint-disable-next-line no-await-in-loop
    await act(leaderId, 0, never)
  }
  // a leader that is done listens until nobody works
  const inbox = team.inboxOf(leaderId)
  for (let isOver = false; !isOver;) {
    listen(leaderId)
    // eslint-disable-next-line no-await-in-loop
    isOver = !(await inbox.next(never)) && !team.members().some(({ status }) => !isFinal(status))
    // eslint-disable-next-line no-await-in-loop
    if (!isOver) await settled()
  }
  for (const [id, to] of sent) {
    if (team.statusOf(to) !== 'shutdown') expect([id, told.get(id)]).toEqual([id, to])
  }
  for (const [id, { ends }] of known) {
    if (team.statusOf(id) !== 'shutdown') expect([id, team.statusOf(id)]).toEqual([id, statusOfEnd(ends.at(-1))])
  }
  await team.end(undefined)
  expect([...known.keys()].filter((id) => team.statusOf(id) !== 'shutdown')).toEqual([])
}

function statusOfEnd(end: PieceEnd | undefined): AgentStatus | undefined {
  if (end?.kind === 'completed') return { completed: end.text }
  return end?.kind === 'errored' ? { errored: end.message } : undefined
}

const first = 1
const count = core(12, 5_000)

it(`no message is lost or delivered twice, and each deadlock is named, in ${count} schedules of ${agents} agents`, async () => {
  for (let seed = first; seed < first + count; seed += 1) {
    try {
      // eslint-disable-next-line no-await-in-loop
      await within(play(seed))
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }
}, 1_800_000)

/** A play that hangs also counts as a stall. */
async function within(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it hangs')), 10_000)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
