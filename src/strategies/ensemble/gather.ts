import { unlessAborted } from '../../base/concurrency.ts'
import { isRunTooLarge, isSuspension } from '../../base/error.ts'
import { startPausableLimit } from '../../base/pausable-limit.ts'
import { type RunContext, withServices } from '../../event/context.ts'
import { item, part, type Place } from '../../event/place.ts'
import { createMemberStop, type EnsembleRun, type MemberEnd, type MemberStop, runMember } from './member.ts'
import type { PreparedMember } from './members.ts'

/** How all members ended, in the order in which they are listed. */
export type Ends = ReadonlyMap<string, MemberEnd>

/** Members that work at the same time. */
interface Asked {
  readonly stops: ReadonlyMap<string, MemberStop>
  /** Each settles when its member ends. None rejects. */
  readonly works: ReadonlyMap<string, Promise<Settled>>
}

type Settled = { readonly end: MemberEnd } | { readonly error: unknown }

/** Starts members, with their common deadline. */
async function asking<T>(
  members: readonly PreparedMember[],
  run: EnsembleRun,
  around: RunContext,
  work: (asked: Asked) => Promise<T>,
): Promise<T> {
  const { deadline_ms: deadline } = run.ensemble
  const stops = new Map(members.map(({ name }) => [name, createMemberStop()]))
  const all = [...stops.values()]
  const limit =
    deadline === undefined ? undefined : startPausableLimit(deadline, () => all.forEach((one) => one.overdue()))
  const { asking: outer } = around.services
  const context = withServices(around, {
    asking(ask) {
      const further = (): ReturnType<typeof ask> => (outer === undefined ? ask() : outer(ask))
      return limit === undefined ? further() : limit.without(further)
    },
  })
  const works = new Map(
    members.map((member) => {
      const stop = stops.get(member.name) as MemberStop
      const settled = runMember(member, run, stop, context).then(
        (end): Settled => ({ end }),
        (error: unknown): Settled => {
          // wait for the others, because they are already paid for
          if (!isSuspension(error) && !isRunTooLarge(error)) for (const one of all) one.giveUp()
          return { error }
        },
      )
      return [member.name, settled] as const
    }),
  )
  try {
    return await work({ stops, works })
  } catch (error) {
    for (const one of all) one.giveUp()
    throw error
  } finally {
    await Promise.all(works.values())
    limit?.end()
  }
}

/**
 * Starts all members at the same time and waits for all of them.
 * @throws what ends the run; a suspension, after all others have ended
 */
export async function gatherAll(run: EnsembleRun, context: RunContext): Promise<Ends> {
  const settled = await asking(run.members, run, context, async ({ works }) =>
    Promise.all([...works].map(async ([name, work]) => [name, await work] as const)),
  )
  context.services.signal.throwIfAborted()
  return new Map(settled.map(([name, one]) => [name, endIn(one, settled)]))
}

function endIn(one: Settled, all: readonly (readonly [string, Settled])[]): MemberEnd {
  if ('end' in one) return one.end
  const errors = all.flatMap(([, settled]) => ('error' in settled ? [settled.error] : []))
  // an error that ends the run takes precedence over suspensions, and over members that were stopped because of it
  throw errors.find((error) => !isSuspension(error) && !isAbort(error)) ?? errors.find(isSuspension) ?? one.error
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

/** The first accepted answer, if any. */
export interface FirstAnswer {
  readonly winner: string | undefined
  readonly ends: Ends
}

/** Whether to accept the answer of a member; `context`: at a separate place. */
export type Passes = (name: string, end: MemberEnd, context: RunContext) => Promise<boolean>

/**
 * Starts all members at the same time, checks their answers in the order in which they arrive, and stops the others as
 * soon as one passes. The order is recorded: a resumed run first checks the answers that were checked before, and if
 * one of them passes, starts no other member.
 * @throws what ends the run; a suspension, if no answer passes and a member waits
 */
export async function gatherFirst(run: EnsembleRun, passes: Passes, context: RunContext): Promise<FirstAnswer> {
  const { effects } = context.services
  const ends = new Map<string, MemberEnd>()
  const pick = (name: string): string =>
    effects.observe(pickPlace(ends.size, context), { name: 'ensemble.first', args: ends.size }, () => name)
  const taken = async (name: string, end: MemberEnd): Promise<boolean> => {
    const at = pickPlace(ends.size, context)
    ends.set(name, end)
    return passes(name, end, { ...context, scope: { ...context.scope, at } })
  }
  const left = (): readonly PreparedMember[] => run.members.filter(({ name }) => !ends.has(name))

  while (left().length > 0 && effects.answers(pickPlace(ends.size, context))) {
    const name = pick('')
    const known = run.members.filter((member) => member.name === name)
    const [settled] = await asking(known, run, context, ({ works }) => Promise.all(works.values()))
    if (settled === undefined) break
    if (await taken(name, endIn(settled, [[name, settled]]))) return { winner: name, ends: inOrder(run, ends) }
  }
  const winner = await asking(left(), run, context, async ({ works, stops }) => {
    const waiting = new Map(works)
    const without: (readonly [string, Settled])[] = []
    while (waiting.size > 0) {
      const next = Promise.race([...waiting].map(([name, work]) => work.then((one) => [name, one] as const)))
      const [first, one] = await unlessAborted(next, context.services.signal)
      if ('error' in one) {
        waiting.delete(first)
        without.push([first, one])
        continue
      }
      const name = pick(first)
      const picked = (await works.get(name)) ?? one
      waiting.delete(name)
      if (await taken(name, endIn(picked, [[name, picked]]))) {
        for (const stop of stops.values()) stop.beaten()
        return name
      }
    }
    for (const [, one] of without) endIn(one, without)
    return undefined
  })
  return { winner, ends: inOrder(run, ends) }
}

/** The place of the record of whose answer was checked as the n-th. */
export function pickPlace(number: number, { scope }: RunContext): Place {
  return [...scope.at, part('first'), item(number)]
}

/** Members whose answers were not checked were stopped. */
function inOrder({ members }: EnsembleRun, ends: ReadonlyMap<string, MemberEnd>): Ends {
  return new Map(members.map(({ name }) => [name, ends.get(name) ?? ({ status: 'stopped' } as const)]))
}
