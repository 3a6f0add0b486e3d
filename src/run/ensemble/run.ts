import { BatonError, type ErrorCode, exitCodes } from '../../base/error.ts'
import { indentJson } from '../../base/json-text.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { Ensemble } from '../../config/ensemble.ts'
import { below, emit, type RunContext } from '../../event/context.ts'
import { addSpent, nothingSpent, type Spent } from '../../event/meter.ts'
import { member as memberPlace, type Place } from '../../event/place.ts'
import { joinTexts } from '../../prompt/value-text.ts'
import { responseOf, type TaskAnswer } from '../answer.ts'
import type { StrategyTask } from '../strategies.ts'
import { aggregate, judge } from './aggregate.ts'
import { checkAnswer, type CheckEnds, noneHasPassed } from './check.ts'
import { type Ends, gatherAll, gatherFirst, type Passes, pickPlace } from './gather.ts'
import { endPlace, type EnsembleRun, type MemberEnd } from './member.ts'
import { prepareMembers, withoutEnsemble } from './members.ts'
import { applyWinner, diffsOf, openTrees } from './trees.ts'
import { errorText, isMissing, type MemberView, viewsOf } from './views.ts'
import { countVotes, type Vote } from './vote.ts'

export interface EnsembleCall extends Pick<StrategyTask, 'target' | 'plan' | 'state' | 'files' | 'inputText'> {
  readonly ensemble: Ensemble
}

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
 * Runs several agents at the same time instead of one, and combines their answers into one (R266, R270, R274, R316 to
 * R318). `ai_response.members` has how each ended, and `ai_response.degraded` whether one is missing.
 * @throws BatonError AGENT_FAILED and the like if too few have answered
 */
export async function runEnsemble(call: EnsembleCall, context: RunContext): Promise<TaskAnswer> {
  const { ensemble, target } = call
  const members = await prepareMembers(ensemble, target)
  const { dry } = context.scope
  const isIsolated = ensemble.isolation === 'worktree' && dry === undefined
  const trees = isIsolated
    ? await openTrees(
        members.map(({ name }) => name),
        context,
      )
    : undefined
  const run: EnsembleRun = { ...call, members, state: withoutEnsemble(call.state), trees }
  const shown = members.map(({ id, name, kind }) => ({ id, name, kind }))
  emit(context, { type: 'ensemble.started', members: shown, quorum: ensemble.quorum })
  const outcome = await (dry === 'req' ? requestsOf(run, context) : outcomeOf(run, context))
  if (trees !== undefined) await applyWinner(outcome.winner ?? '', trees, context)
  return answerOf(run, outcome, context)
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
    ...names.flatMap((name) => [below(context, memberPlace(name)).scope.at, endPlace(name, context)]),
    ...(ensemble.aggregate === 'first' ? names.map((_, index) => pickPlace(index, context)) : []),
  ]
  for (const place of places) effects.undo(place)
  return places.map((place) => effects.again(place)).includes(true)
}

/** The error if too few members answered (R317). If all failed with the same code, it keeps that code. */
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

function tellMissing(views: readonly MemberView[], missing: readonly MemberView[], context: RunContext): void {
  if (missing.length === 0) return
  const reasons = missing.map((view) => `"${view.name}": ${errorText(view)}`)
  const message = `${missing.length} of ${views.length} members of the ensemble gave no answer: ${reasons.join('; ')}`
  emit(context, { type: 'warning', message })
}
