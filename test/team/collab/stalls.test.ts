import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { leaderId, type TeamEvent } from '../../../src/event/collab.ts'
import { fakeClock } from '../../helpers/fake-clock.ts'
import { agentId, done, type Piece, settled, testTeam, type TestTeam, untilStopped } from '../../helpers/team.ts'

const never = new AbortController().signal
const [one, two, three] = [agentId(1), agentId(2), agentId(3)] as const

/** Waits for another agent, and returns the outcome. */
function waiter(world: TestTeam, self: string, other: string, onWait: () => void = () => {}): Piece {
  return async (_, { stop }) => {
    onWait()
    return done(JSON.stringify(await world.wait([other], { waiter: self, signal: stop })))
  }
}

function stallsOf({ events }: TestTeam): readonly TeamEvent[] {
  return events.filter(({ kind }) => kind === 'stalled')
}

describe('deadlocks of a team', () => {
  it.each([
    ['under a fake clock', fakeClock()],
    ['within a second', systemClock],
  ])('of three agents are named, %s, and the others end then', async (_, clock) => {
    const world = testTeam({ clock })
    const began = performance.now()
    world.spawn(1, waiter(world, one, two))
    world.spawn(2, waiter(world, two, three))
    world.spawn(3, waiter(world, three, one))
    await settled()
    expect(performance.now() - began).toBeLessThan(1_000)
    const cycle = `worker ${three} waits for worker ${one}, worker ${one} waits for worker ${two}, worker ${two} waits for worker ${three}`
    expect(stallsOf(world)).toEqual([
      { kind: 'stalled', stall: 'cycle', agents: [three, one, two], message: `wait cycle: ${cycle}` },
    ])
    expect(world.team.statusOf(three)).toEqual({ completed: JSON.stringify({ stalled: `wait cycle: ${cycle}` }) })
    expect(await world.wait([one, two])).toMatchObject({ timed_out: false })
    const [told] = world.team.inboxOf(leaderId).waiting()
    expect(told?.text).toBe(`The team is stalled: wait cycle: ${cycle}`)
  })

  it('include an agent that waits for itself or for the leader', async () => {
    const world = testTeam()
    world.spawn(1, waiter(world, one, one))
    world.spawn(2, waiter(world, two, leaderId))
    await settled()
    expect(stallsOf(world).map((event) => event.kind === 'stalled' && [event.stall, event.message])).toEqual([
      ['cycle', `wait cycle: worker ${one} waits for worker ${one}`],
      ['endless_wait', `this wait can never end: worker ${two} waits for the leader, which ends only after its agents`],
    ])
  })

  it('end the call of an agent that waits for an agent that waits for its news', async () => {
    const world = testTeam({ clock: systemClock, maxDepth: 2 })
    world.spawn(1, async (_, { stop }) => {
      await settled()
      const inbox = world.team.inboxOf(one)
      expect(await inbox.next(stop)).toBe(true)
      return done(inbox.waiting()[0]?.text ?? null)
    })
    world.spawn(2, waiter(world, two, one), { parent: one, depth: 2 })
    expect(await world.wait([one])).toMatchObject({
      timed_out: false,
      status: { [one]: { completed: expect.stringContaining(`worker ${two} is done: {"stalled":"wait cycle: `) } },
    })
  })

  it('fail the run instead, if configured', async () => {
    const world = testTeam({ clock: systemClock, onStall: 'fail' })
    world.spawn(1, waiter(world, one, two))
    world.spawn(2, waiter(world, two, one))
    await expect(world.wait([one])).rejects.toThrow(
      `the team is stalled: wait cycle: worker ${two} waits for worker ${one}, worker ${one} waits for worker ${two}`,
    )
    expect(() => world.team.inboxOf(leaderId).isOpen()).toThrow('the team is stalled')
  })

  it('name the idle agents when no agent can continue, once until one does', async () => {
    const clock = fakeClock()
    const world = testTeam({ clock, stallAfterMs: 120_000, maxAgents: 2 })
    world.spawn(1, (_, terms) => untilStopped(terms))
    world.spawn(2, async (_, { stop }) => {
      await world.wait([one], { ms: 9_000_000, waiter: two, signal: stop })
      return done(null)
    })
    world.spawn(3, (_, terms) => untilStopped(terms))
    world.spawn(4, (_, terms) => untilStopped(terms))
    await world.wait([one], { ms: 1_000_000 })
    const names = `worker ${one} has produced nothing since then, worker ${two} waits for worker ${one}, worker ${three} has produced nothing since then, worker ${agentId(4)} waits for a free slot`
    expect(stallsOf(world)).toEqual([
      {
        kind: 'stalled',
        stall: 'no_progress',
        agents: [one, two, three, agentId(4)],
        message: `no agent has made progress for 2 min: ${names}`,
      },
    ])
    world.team.progressed(leaderId)
    await world.wait([one], { ms: 1_000_000 })
    expect(stallsOf(world)).toHaveLength(1)
    const asked = world.team.asking()
    world.team.progressed(one)
    await world.wait([one], { ms: 1_000_000 })
    expect(stallsOf(world)).toHaveLength(1)
    asked()
    await world.wait([one], { ms: 1_000_000 })
    expect(stallsOf(world)).toHaveLength(2)
  })

  it('include the third identical call in a row, but not waits', () => {
    const world = testTeam()
    world.spawn(1, (_, terms) => untilStopped(terms))
    for (const call of ['a', 'a', 'b', 'a', 'a']) world.team.called(one, 'read', call)
    for (let time = 0; time < 5; time += 1) world.team.called(two, 'wait', 'same')
    expect(stallsOf(world)).toEqual([])
    for (let time = 0; time < 5; time += 1) world.team.called(one, 'read', 'a')
    const message = `worker ${one} has called read 3 times in a row with the same input and the same result`
    expect(stallsOf(world)).toEqual([{ kind: 'stalled', stall: 'repeats', agents: [one], message }])
  })

  it('are not detected in a team without work', async () => {
    const world = testTeam({ stallAfterMs: 1_000 })
    const id = world.spawn(1, () => done('done'))
    await world.wait([id])
    const slow = world.spawn(2, (_, terms) => untilStopped(terms))
    await world.team.close(slow, leaderId)
    await world.wait([agentId(9)], { ms: 10_000 })
    await settled()
    expect(stallsOf(world)).toEqual([])
    expect(await world.team.inboxOf(leaderId).next(never)).toBe(false)
  })
})
