import type { Ensemble } from '../../settings/strategies/ensemble.ts'
import { below } from '../../event/context.ts'
import { nothingSpent } from '../../event/meter.ts'
import { member as memberPlace, part, placeText } from '../../event/place.ts'
import { answerEachTime, joinSingle, planAlone, type PlannedAlone } from '../../plan/answer.ts'
import { decidedBy, type Drift, grown } from '../../plan/ask.ts'
import type { SingleAnswerPlan } from '../../plan/plan.ts'
import { type AnswerOptions, indented, shown, singleLines } from '../../plan/text.ts'
import { countOf } from '../../render/format.ts'
import type { AnswerPlanner, PlannedQuestion, Planner, TaskCall, PlanContext } from '../../plan/planner.ts'
import { judgeQuestion, synthesisQuestion, viewsOf } from './aggregate.ts'
import { aggregateTarget, prepareMembers, withoutEnsemble } from './member.ts'

export interface EnsemblePlan {
  readonly by: 'ensemble'
  readonly aggregate: 'synthesis' | 'vote' | 'first' | 'aggregator'
  readonly quorum: number
  readonly members: readonly MemberPlan[]
  /** What combines the answers; null: neither a model nor an agent. */
  readonly joined_by: SingleAnswerPlan | null
}

/** A member of an ensemble. */
interface MemberPlan {
  readonly name: string
  readonly kind: 'model' | 'agent' | 'command'
  readonly answer: SingleAnswerPlan
}

export const ensemblePlanner: AnswerPlanner<EnsemblePlan> = {
  async plan(call, planner, context) {
    const { ensemble } = call.target.settings
    if (ensemble === undefined) throw new Error('a file with an ensemble')
    return planEnsemble({ ...call, ensemble }, planner, context)
  },
  join,
  partsOf: ({ members, joined_by: last }) => [...members.map(({ answer }) => answer), ...(last === null ? [] : [last])],
  lines: ensembleLines,
}

interface EnsembleCall extends TaskCall {
  readonly ensemble: Ensemble
}

/** The answers of all members, and what combines them. */
async function planEnsemble(
  { ensemble, ...call }: EnsembleCall,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedQuestion<EnsemblePlan>> {
  const { aggregate, quorum, retries } = ensemble
  const prepared = await prepareMembers(ensemble, call.target)
  const state = withoutEnsemble(call.state)
  const members: MemberPlan[] = []
  const planned: PlannedAlone[] = []
  for (const { name, kind, target } of prepared) {
    const one = await planAlone({ ...call, target, state }, planner, below(context, memberPlace(name)))
    planned.push(one)
    // a member that fails tries again
    const answer = answerEachTime(one.asked.answer, { at_least: 1, as_written: 1, at_most: retries + 1 })
    members.push({ name, kind, answer })
  }
  const tokens = planned.map((one) => one.asked.tokens)
  const [first] = planned
  const { inputTokens, problem } = first ?? { inputTokens: null, problem: null }
  const plan = { by: 'ensemble', aggregate, quorum, members } as const
  if (aggregate === 'vote' || aggregate === 'first') {
    const most = tokens.includes(null) ? null : Math.max(...tokens.map((each) => each ?? 0))
    return { asked: { answer: { ...plan, joined_by: null }, tokens: most }, inputTokens, problem }
  }
  const target = await aggregateTarget(ensemble, call.target)
  const ends = new Map(prepared.map(({ name }) => [name, nothingAnswered]))
  const views = viewsOf(prepared, ends)
  const question =
    ensemble.isolation === 'worktree'
      ? judgeQuestion(views, new Map())
      : synthesisQuestion({ views, isText: target.output === undefined })
  const asked = target.answerAgent === undefined ? { ...state, prompts: [...state.prompts, question] } : state
  const at = below(context, part('aggregate'))
  const last = await planAlone(
    { ...call, target, state: asked, drift: driftAfter(call.drift, tokens, at) },
    planner,
    at,
  )
  return {
    asked: { answer: { ...plan, joined_by: last.asked.answer }, tokens: last.asked.tokens },
    inputTokens,
    problem,
  }
}

const nothingAnswered = { status: 'answered', content: '', response: {}, spent: nothingSpent, seconds: 0 } as const

/** The last request contains all answers. */
function driftAfter(drift: Drift, tokens: readonly (number | null)[], { scope }: PlanContext): Drift {
  const known = tokens.flatMap((each) => each ?? [])
  const more = grown(
    drift,
    known.reduce((sum, each) => sum + each, 0),
  )
  return known.length === tokens.length ? more : decidedBy(more, placeText(scope.at))
}

function join(first: EnsemblePlan, all: readonly EnsemblePlan[]): EnsemblePlan {
  const members = first.members.map((member, index) => ({
    ...member,
    answer: joinSingle(
      member.answer,
      all.flatMap((one) => one.members[index]?.answer ?? []),
    ),
  }))
  const last = all.flatMap((one) => one.joined_by ?? [])
  return { ...first, members, joined_by: first.joined_by && joinSingle(first.joined_by, last) }
}

function ensembleLines(
  { members, aggregate, quorum, joined_by: last }: EnsemblePlan,
  options: AnswerOptions,
): readonly string[] {
  const { length } = members
  const facts = aggregate === 'first' ? 'the first answer is used' : `${quorum} of ${length} must answer`
  return [
    `${options.paint('bold', 'ensemble')}  ${countOf(length, 'member')} at once · ${facts}`,
    ...members.flatMap(({ name, answer }) => singleLines(answer, shown(name), options)).map(indented),
    ...(last === null ? [] : singleLines(last, aggregate, options)),
  ]
}
