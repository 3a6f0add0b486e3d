import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { BatonError } from '../../../src/base/error.ts'
import { leaderId } from '../../../src/event/collab.ts'
import { agentId, done, mailOf, scriptedWork, settled, testTeam, untilStopped } from '../../helpers/team.ts'

const never = new AbortController().signal

describe('a team of agents', () => {
  it('changes an agent from pending to running to completed, failed, or done without an answer (R96 to R101, TV17)', async () => {
    const { spawn, wait, team, statusesOf } = testTeam()
    const one = spawn(1, () => done('auth analysis...'))
    expect(team.statusOf(one)).toBe('pending_init')
    const two = spawn(2, () => done(null))
    const three = spawn(3, () => ({ kind: 'errored', message: 'boom' }))
    expect(await wait([one, two, three, agentId(9)])).toMatchObject({
      timed_out: false,
      status: {
        [one]: { completed: 'auth analysis...' },
        [two]: { completed: null },
        [three]: { errored: 'boom' },
        [agentId(9)]: 'not_found',
      },
    })
    expect(statusesOf(one)).toEqual(['pending_init', 'running', { completed: 'auth analysis...' }])
  })

  it('restarts an agent with a message, also a failed one, and a wait is then for its next end (R100, TV18)', async () => {
    const { spawn, wait, team, statusesOf } = testTeam()
    const heard: string[] = []
    const id = spawn(1, ([text = '']) => {
      heard.push(text)
      return text === 'work' ? { kind: 'errored', message: 'one' } : done('two')
    })
    await wait([id])
    team.send(id, mailOf('m1', leaderId, { text: 'again' }))
    expect(team.statusOf(id)).toBe('running')
    expect(await wait([id])).toMatchObject({ status: { [id]: { completed: 'two' } } })
    expect(heard).toEqual(['work', 'again'])
    expect(statusesOf(id)).toEqual(['pending_init', 'running', { errored: 'one' }, 'running', { completed: 'two' }])
  })

  it('refuses with the texts for models (TV18, TV21, TV23)', async () => {
    const { spawn, team } = testTeam({ maxDepth: 1 })
    const open = spawn(1, () => done('one'))
    const closed = spawn(2, () => done('one'))
    await team.close(closed, leaderId)
    const refusals = [
      team.refusal({ kind: 'send', to: open, text: ' \n' }),
      team.refusal({ kind: 'send', to: open, text: 'again' }),
      team.refusal({ kind: 'send', to: leaderId, text: 'found' }),
      team.refusal({ kind: 'send', to: closed, text: 'again' }),
      team.refusal({ kind: 'send', to: agentId(9), text: 'again' }),
      team.refusal({ kind: 'send', to: 'x', text: 'again' }),
      team.refusal({ kind: 'wait', ids: [] }),
      team.refusal({ kind: 'wait', ids: [agentId(9), 'x'] }),
      team.refusal({ kind: 'spawn', depth: 0, message: 'work' }),
      team.refusal({ kind: 'spawn', depth: 1, message: 'work' }),
      team.refusal({ kind: 'close', id: agentId(9), by: leaderId }),
      team.refusal({ kind: 'close', id: closed, by: leaderId }),
      team.refusal({ kind: 'close', id: open, by: open }),
    ]
    const invalid =
      'invalid agent id x: use an id returned by spawn_agent, such as 67e55044-10b1-426f-9247-bb680e5fe0c8'
    expect(refusals).toEqual([
      "Empty message can't be sent to an agent",
      undefined,
      undefined,
      `agent with id ${closed} is closed`,
      `agent with id ${agentId(9)} not found`,
      invalid,
      'ids must be non-empty',
      invalid,
      undefined,
      'agent depth limit reached (max 1): do the work yourself',
      `agent with id ${agentId(9)} not found`,
      undefined,
      `agent ${open} cannot be closed by itself or by agents that it spawned`,
    ])
  })

  it('has at most a thousand unclosed agents (R105)', async () => {
    const { spawn, team } = testTeam()
    for (let number = 0; number < 1_000; number += 1) spawn(number, () => done(null))
    const refused = () => team.refusal({ kind: 'spawn', depth: 0, message: 'work' })
    expect(refused()).toBe('agent thread limit reached (max 1000): close agents first')
    await team.close(agentId(7), leaderId)
    expect(refused()).toBeUndefined()
  })

  it('interrupts an agent and continues with the message, and no wait ends (R108, TV19)', async () => {
    const { spawn, wait, team, statusesOf } = testTeam()
    const heard: (readonly string[])[] = []
    const id = spawn(1, (texts, terms) => {
      heard.push(texts)
      return texts.includes('stop') ? done('stopped and done') : untilStopped(terms)
    })
    await settled()
    const waiting = wait([id])
    team.send(id, mailOf('m1', leaderId, { text: 'later' }))
    team.send(id, mailOf('m2', leaderId, { text: 'stop', interrupts: true }))
    expect(team.statusOf(id)).toBe('interrupted')
    expect(await waiting).toMatchObject({ timed_out: false, status: { [id]: { completed: 'stopped and done' } } })
    expect(heard).toEqual([['work'], ['stop', 'later']])
    expect(statusesOf(id).slice(0, 4)).toEqual(['pending_init', 'running', 'interrupted', 'running'])
  })

  it('delivers a message without interruption at the next request (TV19)', async () => {
    const { spawn, wait, team, events } = testTeam()
    const told: string[] = []
    let goOn: () => void = () => {}
    const id = spawn(1, async () => {
      await new Promise<void>((resolve) => (goOn = resolve))
      const inbox = team.inboxOf(agentId(1))
      const letters = inbox.waiting()
      inbox.know(letters.map((letter) => letter.id))
      told.push(...letters.map(({ text }) => text))
      return done('all in one')
    })
    await settled()
    team.send(id, mailOf('m1', leaderId, { text: 'stop' }))
    team.send(id, mailOf('m1', leaderId, { text: 'stop' }))
    team.send(id, mailOf('m2', agentId(2), { text: 'from a peer' }))
    goOn()
    await wait([id])
    expect(told).toEqual(['stop', `Message from ${agentId(2)}:\n\nfrom a peer`])
    expect(events.filter(({ kind }) => kind === 'message')).toHaveLength(2)
  })

  it('waits for all or for any, and names the unfinished agents after the time (R109, R111, TV20)', async () => {
    const { spawn, wait, team } = testTeam()
    const [one, three] = [spawn(1, () => done('1')), spawn(3, () => done('3'))]
    const two = spawn(2, ([text], terms) => (text === 'work' ? untilStopped(terms) : done('2')))
    const ids = [one, two, three]
    expect(await wait(ids, { ms: 300_000 })).toMatchObject({
      timed_out: true,
      status: { [one]: { completed: '1' }, [two]: 'running', [three]: { completed: '3' } },
    })
    expect(await wait(ids, { ms: 300_000, returnWhen: 'any' })).toMatchObject({
      timed_out: false,
      status: { [one]: { completed: '1' }, [two]: 'running', [three]: { completed: '3' } },
    })
    team.send(two, mailOf('m1', leaderId, { interrupts: true }))
    expect(await wait([two])).toMatchObject({ timed_out: false, status: { [two]: { completed: '2' } } })
  })

  it('supports two concurrent waits (TV21)', async () => {
    const { spawn, wait } = testTeam()
    const quick = spawn(1, () => done('quick'))
    const slow = spawn(2, (_, terms) => untilStopped(terms))
    const [first, second, unknown] = await Promise.all([
      wait([slow], { ms: 20_000 }),
      wait([quick, slow], { ms: 10_000, returnWhen: 'any' }),
      wait([agentId(9)]),
    ])
    expect(first).toMatchObject({ timed_out: true })
    expect(second).toMatchObject({ timed_out: false, status: { [quick]: { completed: 'quick' } } })
    expect(unknown).toMatchObject({ timed_out: false, status: { [agentId(9)]: 'not_found' } })
  })

  it('closes an agent with its previous status, once, with all agents that it spawned (R110, TV22)', async () => {
    const { spawn, team, statusesOf } = testTeam({ maxDepth: 2 })
    const one = spawn(1, () => done('one'))
    const two = spawn(2, (_, terms) => untilStopped(terms), { parent: one, depth: 2 })
    await settled()
    expect(await team.close(one, leaderId)).toEqual({ completed: 'one' })
    expect([team.statusOf(one), team.statusOf(two)]).toEqual(['shutdown', 'shutdown'])
    expect(await team.close(one, leaderId)).toBe('shutdown')
    expect(statusesOf(two)).toEqual(['pending_init', 'running', 'shutdown'])
    expect(await team.close(agentId(9), leaderId)).toBe('not_found')
  })

  it('runs as many agents at once as configured, the others in turn, and waiting agents free their slot (R105, TV23)', async () => {
    const { spawn, wait, team } = testTeam({ clock: systemClock, maxAgents: 2, maxDepth: 2 })
    const begun: number[] = []
    const ends: (() => void)[] = []
    const add = (number: number, parent = leaderId): string =>
      spawn(
        number,
        async () => {
          begun.push(number)
          await new Promise<void>((resolve) => (ends[number] = resolve))
          return done(String(number))
        },
        { parent, depth: parent === leaderId ? 1 : 2 },
      )
    const one = add(1)
    for (const number of [2, 3, 4]) add(number)
    for (const number of [11, 12]) add(number, one)
    await settled()
    expect(begun).toEqual([1, 2])
    expect(team.statusOf(agentId(3))).toBe('pending_init')
    const waiting = wait([agentId(11)], { waiter: one })
    for (const number of [2, 3, 11, 4]) {
      // eslint-disable-next-line no-await-in-loop
      await settled()
      ends[number]?.()
    }
    expect(await waiting).toMatchObject({ timed_out: false })
    // the spawners take turns; the new agent of a spawner that waited comes after agents that were already queued
    expect(begun).toEqual([1, 2, 3, 11, 4, 12])
    for (const number of [12, 1]) ends[number]?.()
    expect(await wait([one])).toMatchObject({ status: { [one]: { completed: '1' } } })
  })

  it('notifies the spawner of ends that it has not waited for (R31)', async () => {
    const { spawn, wait, team } = testTeam()
    const inbox = team.inboxOf(leaderId)
    expect(inbox.isOpen()).toBe(false)
    expect(await inbox.next(never)).toBe(false)
    const one = spawn(1, () => done('one'))
    const two = spawn(2, () => ({ kind: 'errored', message: 'boom' }))
    const three = spawn(3, (_, terms) => untilStopped(terms))
    expect(inbox.isOpen()).toBe(true)
    await wait([one])
    expect(await inbox.next(never)).toBe(true)
    expect(inbox.waiting()).toEqual([{ id: `end/${two}/1`, text: `worker ${two} failed: boom` }])
    inbox.know([`end/${two}/1`])
    const next = inbox.next(never)
    team.send(three, mailOf('m1', leaderId, { interrupts: true }))
    await team.close(three, leaderId)
    expect(await next).toBe(false)
    expect(inbox.waiting()).toEqual([])
  })

  it('identifies messages by their ids, also recorded ones that have not arrived yet', async () => {
    const { team, wait } = testTeam()
    const heard: (readonly string[])[] = []
    const replayed = [[mailOf('m1', leaderId)]]
    team.send(agentId(1), mailOf('m2', leaderId))
    const piece = scriptedWork((texts) => {
      heard.push(texts)
      return done('done')
    })
    team.spawn({
      id: agentId(1),
      parent: leaderId,
      depth: 1,
      role: 'worker',
      message: mailOf('m0', leaderId),
      work: { ...piece, begin: async (arrive) => replayed.shift() ?? arrive() },
    })
    await wait([agentId(1)])
    team.send(agentId(1), mailOf('m1', leaderId))
    team.send(agentId(1), mailOf('m2', leaderId))
    await settled()
    expect(heard).toEqual([['m0'], ['m1'], ['m2']])
  })

  it('reports no end that a recorded piece of work follows, and uses no slot for recorded work', async () => {
    const { team, wait, spawn, statusesOf } = testTeam({ maxAgents: 1 })
    spawn(2, (_, terms) => untilStopped(terms))
    const replayed = [[mailOf('m1', leaderId)]]
    let pieces = 0
    team.spawn({
      id: agentId(1),
      parent: leaderId,
      depth: 1,
      role: 'worker',
      message: mailOf('m0', leaderId),
      work: {
        begin: async (arrive) => replayed.shift() ?? arrive(),
        piece: async () => done(String((pieces += 1))),
        withdraw: async () => {},
      },
    })
    expect(await wait([agentId(1)])).toMatchObject({ status: { [agentId(1)]: { completed: '2' } } })
    expect(statusesOf(agentId(1))).toEqual(['pending_init', 'running', { completed: '2' }])
  })

  it('lets the others continue while one waits for a person; an agent that waits only for that one is suspended with it', async () => {
    const { spawn, wait, team } = testTeam({ clock: systemClock })
    const suspension = new BatonError('WAITING_FOR_APPROVAL', 'wants to write')
    const one = spawn(1, () => Promise.reject(suspension))
    let finish: () => void = () => {}
    const two = spawn(2, async () => {
      await new Promise<void>((resolve) => (finish = resolve))
      return done('two')
    })
    const both = wait([one, two], { ms: 1_000_000 })
    await settled()
    finish()
    await expect(both).rejects.toBe(suspension)
    expect(team.inboxOf(leaderId).waiting()).toHaveLength(1)
    await expect(wait([one])).rejects.toBe(suspension)
    team.inboxOf(leaderId).know([`end/${two}/1`])
    await expect(team.inboxOf(leaderId).next(never)).rejects.toBe(suspension)
    expect(await team.end(suspension)).toEqual([])
    expect(team.statusOf(one)).toBe('running')
  })

  it('withdraws the question of an agent that is closed while it waits for a person', async () => {
    const { team } = testTeam()
    let withdrawn = 0
    const work = scriptedWork(
      () => Promise.reject(new BatonError('WAITING_FOR_APPROVAL', 'wants to write')),
      async () => void (withdrawn += 1),
    )
    const message = mailOf('m0', leaderId)
    team.spawn({ id: agentId(1), parent: leaderId, depth: 1, role: 'worker', message, work })
    await settled()
    expect(await team.close(agentId(1), leaderId)).toBe('running')
    expect(withdrawn).toBe(1)
  })

  it('ends every wait with the error that ends the run', async () => {
    const { spawn, wait, team } = testTeam()
    const failure = new BatonError('JOURNAL_FAILED', 'disk is full')
    const one = spawn(1, (_, terms) => untilStopped(terms))
    const waiting = wait([one])
    spawn(2, () => Promise.reject(failure))
    await expect(waiting).rejects.toBe(failure)
    expect(() => team.inboxOf(leaderId).isOpen()).toThrow(failure)
    const end = team.end(failure)
    expect(team.abandoned.aborted).toBe(true)
    await team.close(one, leaderId)
    expect(await end).toEqual([])
  })

  it('closes the remaining agents when the leader has ended, and names them', async () => {
    const { spawn, team, statusesOf } = testTeam()
    const one = spawn(1, () => done('one'))
    const two = spawn(2, (_, terms) => untilStopped(terms))
    const three = spawn(3, () => done('three'))
    await team.close(three, leaderId)
    const left = await team.end(undefined)
    expect(left.map(({ id, status }) => [id, status])).toEqual([
      [one, { completed: 'one' }],
      [two, 'running'],
    ])
    expect(statusesOf(two).at(-1)).toBe('shutdown')
  })
})
