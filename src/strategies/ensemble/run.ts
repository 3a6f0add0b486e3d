import { BatonError, type ErrorCode, exitCodes, isRunTooLarge, isSuspension } from '../../base/error.ts'
import { indentJson } from '../../base/json-text.ts'
import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts'
import { below, emit, type RunContext, withServices, type Sender } from '../../event/context.ts'
import { addSpent, nothingSpent, type Spent } from '../../event/meter.ts'
import { item, member as memberPlace, part, type Place } from '../../event/place.ts'
import { joinTexts } from '../../prompt/value-text.ts'
import { responseOf, type TaskAnswer } from '../../run/answer.ts'
import { aggregate, errorText, isMissing, judge, type MemberView, viewsOf } from './aggregate.ts'
import {
  createMemberStop,
  endPlace,
  type EnsembleRun,
  type MemberEnd,
  type MemberStop,
  type PreparedMember,
  prepareMembers,
  runMember,
  withoutEnsemble,
} from './member.ts'
import { applyWinner, diffsOf, inTreeOf, openTrees, type Trees } from './trees.ts'
import { warnOfSkippedChanges } from '../../run/apply-answer.ts'
import type { TaskCall } from '../../run/strategy.ts'
import { unlessAborted } from '../../base/concurrency.ts'
import { startPausableLimit } from '../../base/pausable-limit.ts'
import type { Ensemble } from '../../settings/strategies/ensemble.ts'
import { type CommandEnd, runCheck } from '../../run/check-command.ts'

/** The outcome of an ensemble: the combined answer, with the facts to report about it. */
interface Outcome extends Pick<TaskAnswer, 'text' | 'value' | 'fileChanges'> {
  /** `ai_response` of the one that combined the answers, or of the chosen member. */
  readonly response: JsonObject
  /** Spent after the members ended. */
  readonly spent: Spent
  readonly ends: Ends
  readonly winner?: string
  readonly votes?: readonly Vote[]
  /** Why the work of the winner was chosen, if a judge said so. */
  readonly reason?: string
}

/**
 * Runs several agents at the same time instead of one, and combines their answers into one. `ai_response.members` has
 * how each ended, and `ai_response.degraded` whether one is missing.
 * @throws BatonError AGENT_FAILED and the like if too few have answered
 */
export async function runEnsemble(
  { plan, state, settings, files, inputText, round: { target } }: TaskCall,
  context: RunContext,
): Promise<TaskAnswer> {
  const { ensemble } = settings
  if (ensemble === undefined) throw new Error('no [ensemble]')
  const members = await prepareMembers(ensemble, target)
  const { dry } = context.scope
  const isIsolated = ensemble.isolation === 'worktree' && dry === undefined
  const trees = isIsolated
    ? await openTrees(
        members.map(({ name }) => name),
        context,
      )
    : undefined
  const call = { ensemble, target, plan, files, inputText }
  const run: EnsembleRun = { ...call, members, state: withoutEnsemble(state), trees }
  const shown = members.map(({ id, name, kind }) => ({ id, name, kind }))
  emit(context, { type: 'ensemble.started', members: shown, quorum: ensemble.quorum })
  const outcome = await (dry === 'req' ? requestsOf(run, context) : outcomeOf(run, context))
  if (trees !== undefined) await applyWinner(outcome.winner ?? '', trees, context)
  const answer = answerOf(run, outcome, context)
  warnOfSkippedChanges(answer, settings, context)
  return answer
}

/** The requests to all members, without sending them. */
async function requestsOf(run: EnsembleRun, context: RunContext): Promise<Outcome> {
  const ends = await gatherAll(run, context)
  const views = viewsOf(run.members, ends)
  const text = joinTexts(views.map(({ name, content }) => (content === '' ? '' : `# Member ${name}\n\n${content}`)))
  return { text, fileChanges: [], response: { content: text }, spent: nothingSpent, ends }
}

async function outcomeOf(run: EnsembleRun, context: RunContext): Promise<Outcome> {
  return run.ensemble.aggregate === 'first' ? firstAnswer(run, context) : joinedAnswer(run, context)
}

/** The first answer, or the first that passes the check. */
async function firstAnswer(run: EnsembleRun, context: RunContext): Promise<Outcome> {
  const { ensemble, trees } = run
  const attempt = async () => {
    const checks: CheckEnds = new Map()
    const passes: Passes = (name, end, at) => checkAnswer({ name, end, ensemble, checks, trees }, at)
    const first = await gatherFirst(run, passes, context)
    return { ...first, checks }
  }
  const known = await attempt()
  const isForgotten =
    known.winner === undefined &&
    forget(
      run,
      run.members.map(({ name }) => name),
      context,
    )
  const { winner, ends, checks } = isForgotten ? await attempt() : known
  const end = winner === undefined ? undefined : ends.get(winner)
  if (winner === undefined || end?.status !== 'answered') {
    throw ensemble.check !== undefined && checks.size > 0
      ? await noneHasPassed(viewsOf(run.members, ends), checks, run)
      : await tooFew(run, ends)
  }
  return { ...answerIn(end), spent: nothingSpent, ends, winner }
}

/** The answer of one member, unchanged. */
function answerIn({ content: text, value, response, fileChanges = [] }: Answered) {
  return { text, fileChanges, response, ...(value === undefined ? {} : { value }) }
}

type Answered = Extract<MemberEnd, { readonly status: 'answered' }>

/** The answer of the member whose work a judge chose. */
async function judgedAnswer(run: EnsembleRun, ends: Ends, context: RunContext): Promise<Outcome> {
  const { members, trees } = run
  const views = viewsOf(members, ends)
  const answered = views.flatMap(({ name, status }) => (status === 'answered' ? [name] : []))
  const diffs = await diffsOf(answered, trees ?? new Map(), context)
  const { winner, reason, spent } = await judge(run, views, diffs, context)
  const end = ends.get(winner)
  if (end?.status !== 'answered') throw await tooFew(run, ends)
  return { ...answerIn(end), spent, ends, winner, reason }
}

/** The combined answer of all members that answered, if they are enough. */
async function joinedAnswer(run: EnsembleRun, context: RunContext): Promise<Outcome> {
  const { ensemble, members } = run
  const ends = await enough(run, context)
  const views = viewsOf(members, ends)
  if (ensemble.aggregate === 'synthesis' && run.trees !== undefined) return judgedAnswer(run, ends, context)
  if (ensemble.aggregate !== 'vote') return { ...(await aggregate(run, views, context)), ends }
  const ballots = views.flatMap((view) =>
    view.status === 'answered' ? [{ name: view.name, value: view['value'] ?? view.content }] : [],
  )
  const votes = countVotes(ballots)
  const [won] = votes
  const end = ends.get(won?.members[0] ?? '')
  if (won === undefined || end?.status !== 'answered') throw await tooFew(run, ends)
  const { content, value, response } = end
  const text = value === undefined ? content : indentJson(JSON.stringify(value))
  return {
    text,
    fileChanges: end.fileChanges ?? [],
    response,
    spent: nothingSpent,
    ends,
    votes,
    ...(run.trees === undefined ? {} : { winner: won.members[0] ?? '' }),
    ...(value === undefined ? {} : { value }),
  }
}

/** How the members ended, if enough answered. Otherwise those with a recorded failure run again. */
async function enough(run: EnsembleRun, context: RunContext): Promise<Ends> {
  const { quorum } = run.ensemble
  const answered = (ends: Ends): number => [...ends.values()].filter(({ status }) => status === 'answered').length
  const ends = await gatherAll(run, context)
  if (answered(ends) >= quorum) return ends
  const failed = [...ends].flatMap(([name, { status }]) => (status === 'answered' ? [] : [name]))
  const again = forget(run, failed, context) ? await gatherAll(run, context) : ends
  if (answered(again) < quorum) throw await tooFew(run, again)
  return again
}

/** Records that ends of members are discarded. True if that was recorded before: then the ends are forgotten. */
function forget({ ensemble }: EnsembleRun, names: readonly string[], context: RunContext): boolean {
  const { effects } = context.services
  const places: readonly Place[] = [
    ...names.flatMap((name) => [below(context, memberPlace(name)).scope.at, endPlace(name, context.scope.at)]),
    ...(ensemble.aggregate === 'first' ? names.map((_, index) => pickPlace(index, context.scope.at)) : []),
  ]
  for (const place of places) effects.undo(place)
  return places.map((place) => effects.again(place)).includes(true)
}

/** The error if too few members answered. If all failed with the same code, it keeps that code. */
async function tooFew({ ensemble, members, target }: EnsembleRun, ends: Ends): Promise<BatonError> {
  const views = viewsOf(members, ends)
  const missing = views.filter(isMissing)
  const got = views.length - missing.length
  const reasons = missing.map((view) => `"${view.name}": ${errorText(view)}`)
  const answered = `${got === 0 ? 'none' : `only ${got}`} of ${views.length} members of the ensemble answered`
  const needed = ensemble.quorum === 1 ? '' : `, and ${ensemble.quorum} are needed`
  const codes = new Set(missing.map(({ error }) => error?.code ?? ''))
  const [only = ''] = codes
  const isShared = codes.size === 1 && only in exitCodes && !['CONFIG_INVALID', 'NOT_AVAILABLE'].includes(only)
  return new BatonError(
    isShared ? (only as ErrorCode) : 'AGENT_FAILED',
    `${answered}${needed}: ${reasons.join('; ')}`,
    {
      reason: 'INSUFFICIENT_AGENTS',
      place: await target.placeOf(['ensemble'], 'key'),
      hint: 'A resumed run repeats only these members. To require fewer answers, set quorum.',
    },
  )
}

function answerOf({ members }: EnsembleRun, outcome: Outcome, context: RunContext): TaskAnswer {
  const { text, value, fileChanges, ends, winner, votes, reason, spent: after } = outcome
  const views = viewsOf(members, ends)
  const missing = views.filter(isMissing)
  const answered = views.filter(({ status }) => status === 'answered')
  const degraded = missing.length > 0
  tellMissing(views, missing, context)
  emit(context, {
    type: 'ensemble.completed',
    ids: views.map(({ id }) => id),
    answered: answered.map(({ name }) => name),
    missing: missing.map(({ name }) => name),
    degraded,
    ...(winner === undefined ? {} : { winner }),
    ...(reason === undefined ? {} : { reason }),
    ...(votes === undefined ? {} : { votes: votes.map((vote) => ({ ...vote, members: [...vote.members] })) }),
  })
  const byMembers = [...ends.values()].flatMap((end) => (end.status === 'answered' ? [end.spent] : []))
  const spent = [...byMembers, after].reduce(addSpent, nothingSpent)
  const { usage, price_usd, model_name } = responseOf({ text, reasoning: '' }, spent)
  const told: { readonly [key: string]: Json | undefined } = { usage, price_usd, model_name }
  const known = Object.fromEntries(Object.entries(told).filter(([, one]) => one !== undefined)) as JsonObject
  return {
    text,
    response: {
      ...outcome.response,
      content: text,
      ...known,
      members: [...views],
      degraded,
      ...(winner === undefined ? {} : { winner }),
      ...(reason === undefined ? {} : { reason }),
      ...(votes === undefined ? {} : { votes: votes as unknown as Json }),
    },
    fileChanges,
    ...(value === undefined ? {} : { value }),
    spent,
  }
}

function tellMissing(views: readonly MemberView[], missing: readonly MemberView[], context: Sender): void {
  if (missing.length === 0) return
  const reasons = missing.map((view) => `"${view.name}": ${errorText(view)}`)
  const message = `${missing.length} of ${views.length} members of the ensemble gave no answer: ${reasons.join('; ')}`
  emit(context, { type: 'warning', message })
}

/** How all members ended, in the order in which they are listed. */
export type Ends = ReadonlyMap<string, MemberEnd>

/** Members that work at the same time. */
interface StartedMembers {
  readonly stops: ReadonlyMap<string, MemberStop>
  /** Each settles when its member ends. None rejects. */
  readonly works: ReadonlyMap<string, Promise<Settled>>
}

type Settled = { readonly end: MemberEnd } | { readonly error: unknown }

/** Starts members, with their common deadline. */
async function startMembers<T>(
  members: readonly PreparedMember[],
  run: EnsembleRun,
  around: RunContext,
  work: (asked: StartedMembers) => Promise<T>,
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
async function gatherAll(run: EnsembleRun, context: RunContext): Promise<Ends> {
  const settled = await startMembers(run.members, run, context, async ({ works }) =>
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
interface FirstAnswer {
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
async function gatherFirst(run: EnsembleRun, passes: Passes, context: RunContext): Promise<FirstAnswer> {
  const { effects } = context.services
  const ends = new Map<string, MemberEnd>()
  const pick = (name: string): string =>
    effects.observe(pickPlace(ends.size, context.scope.at), { name: 'ensemble.first', args: ends.size }, () => name)
  const taken = async (name: string, end: MemberEnd): Promise<boolean> => {
    const at = pickPlace(ends.size, context.scope.at)
    ends.set(name, end)
    return passes(name, end, { ...context, scope: { ...context.scope, at } })
  }
  const left = (): readonly PreparedMember[] => run.members.filter(({ name }) => !ends.has(name))

  while (left().length > 0 && effects.answers(pickPlace(ends.size, context.scope.at))) {
    const name = pick('')
    const known = run.members.filter((member) => member.name === name)
    const [settled] = await startMembers(known, run, context, ({ works }) => Promise.all(works.values()))
    if (settled === undefined) break
    if (await taken(name, endIn(settled, [[name, settled]]))) return { winner: name, ends: inOrder(run, ends) }
  }
  const winner = await startMembers(left(), run, context, async ({ works, stops }) => {
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
function pickPlace(number: number, at: Place): Place {
  return [...at, part('first'), item(number)]
}

/** Members whose answers were not checked were stopped. */
function inOrder({ members }: EnsembleRun, ends: ReadonlyMap<string, MemberEnd>): Ends {
  return new Map(members.map(({ name }) => [name, ends.get(name) ?? ({ status: 'stopped' } as const)]))
}

/** How the check of each answer ended, by the name of the member. */
type CheckEnds = Map<string, CommandEnd>

interface Checking {
  readonly name: string
  readonly end: MemberEnd
  readonly ensemble: Ensemble
  readonly checks: CheckEnds
  readonly trees: Trees
}

/** Time limit for the check of one answer if the members have no limit of their own. */
const defaultMs = 10 * 60_000

/**
 * Whether a member has answered and its answer, which the check reads, passes. Without a check, every answer passes.
 * The check runs in the folder where the member worked.
 */
async function checkAnswer({ name, end, ensemble, checks, trees }: Checking, context: RunContext): Promise<boolean> {
  const { check, timeout_ms: limit = defaultMs } = ensemble
  if (end.status !== 'answered') return false
  if (check === undefined) return true
  const command = { line: check, timeLimitMs: limit, key: 'ensemble.check', input: end.content }
  const ended = await runCheck('check', command, inTreeOf(name, trees, context))
  checks.set(name, ended)
  return ended.code === 0
}

/** The error if no answer passes. */
async function noneHasPassed(
  views: readonly MemberView[],
  checks: CheckEnds,
  { ensemble, target }: EnsembleRun,
): Promise<BatonError> {
  const each = views.map((view) => {
    const ended = checks.get(view.name)
    if (ended === undefined) return `"${view.name}": ${errorText(view)}`
    return `"${view.name}" ${ended.code === undefined ? 'was killed' : `exit code ${ended.code}`}`
  })
  return new BatonError('AGENT_FAILED', `no answer passes ${JSON.stringify(ensemble.check)}: ${each.join(', ')}`, {
    place: await target.placeOf(['ensemble', 'check'], 'value'),
    hint: 'See its output with baton runs show last. A resumed run repeats all members.',
  })
}

/** An answer, with the names of the members that gave it. Plain JSON. */
type Vote = {
  readonly value: Json
  readonly members: readonly string[]
}

/**
 * The distinct values that the members voted for, the most frequent first; of equally frequent ones, the one whose
 * first voter is listed first. Values are equal if their canonical JSON is.
 */
function countVotes(ballots: readonly { readonly name: string; readonly value: Json }[]): readonly Vote[] {
  const byValue = new Map<string, { readonly value: Json; readonly members: string[] }>()
  for (const { name, value } of ballots) {
    const key = canonicalJson(value)
    const known = byValue.get(key) ?? { value, members: [] }
    known.members.push(name)
    byValue.set(key, known)
  }
  // sorting is stable
  return [...byValue.values()].toSorted((one, other) => other.members.length - one.members.length)
}
