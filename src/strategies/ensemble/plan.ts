import { joinSingle } from '../../plan/answer.ts'
import type { SingleAnswerPlan } from '../../plan/plan.ts'
import type { AnswerShape, PlannedPart, PlannedQuestion } from '../../plan/planner.ts'
import { type AnswerOptions, indented, shownLine, singleLines } from '../../plan/text.ts'
import { nothingSpent } from '../../event/meter.ts'
import { part } from '../../event/place.ts'
import { countOf } from '../../render/format.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import type { OutlinedAnswer, OutlinedTask } from '../../run/strategy.ts'
import { judgeQuestion, synthesisQuestion, viewsOf } from './aggregate.ts'
import { aggregateTarget, kindOf, prepareMembers, withoutEnsemble } from './member.ts'

/** The answers of all members, and what combines them. */
export async function outlineOf({ target, state, settings }: OutlinedTask): Promise<readonly OutlinedAnswer[]> {
  const { ensemble } = settings
  if (ensemble === undefined) throw new Error('a file with an ensemble')
  const { aggregate, retries, isolation } = ensemble
  const prepared = await prepareMembers(ensemble, target)
  const members = prepared.map(({ name, target: own, tries }) => ({
    name,
    target: own,
    state: withoutEnsemble(state),
    needs: [],
    // a member that fails tries again
    times: { at_least: 1, as_written: 1, at_most: (tries.retries ?? retries) + 1 },
  }))
  if (aggregate === 'vote' || aggregate === 'first') return members
  const last = await aggregateTarget(ensemble, target)
  const views = viewsOf(prepared, new Map(prepared.map(({ name }) => [name, nothingAnswered])))
  const question =
    isolation === 'worktree'
      ? judgeQuestion(views, new Map())
      : synthesisQuestion({ views, isText: last.output === undefined })
  const asked = withoutEnsemble(state)
  const prompts = last.answerAgent === undefined ? [...asked.prompts, question] : asked.prompts
  return [...members, { name: aggregate, at: part('aggregate'), target: last, state: { ...asked, prompts } }]
}

const nothingAnswered = { status: 'answered', content: '', response: {}, spent: nothingSpent, seconds: 0 } as const

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

export const ensembleShape: AnswerShape<EnsemblePlan> = {
  of: planOf,
  join,
  partsOf: ({ members, joined_by: last }) => [...members.map(({ answer }) => answer), ...(last === null ? [] : [last])],
  lines: ensembleLines,
}

function planOf(parts: readonly PlannedPart[], { settings }: PromptTarget): PlannedQuestion<EnsemblePlan> {
  const { ensemble } = settings
  if (ensemble === undefined) throw new Error('a file with an ensemble')
  const { aggregate, quorum, members: written } = ensemble
  const members = written.flatMap((member, index): readonly MemberPlan[] => {
    const { name, answer } = parts[index] ?? {}
    return name === undefined || answer === undefined ? [] : [{ name, kind: kindOf(member), answer }]
  })
  const last = parts[members.length]
  const tokens = parts.map((one) => one.tokens)
  const longest = tokens.includes(null) ? null : Math.max(...tokens.map((each) => each ?? 0))
  const { inputTokens = null, problem = null } = parts[0] ?? {}
  const plan = { by: 'ensemble', aggregate, quorum, members, joined_by: last?.answer ?? null } as const
  return { asked: { answer: plan, tokens: last === undefined ? longest : last.tokens }, inputTokens, problem }
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
    ...members.flatMap(({ name, answer }) => singleLines(answer, shownLine(name), options)).map(indented),
    ...(last === null ? [] : singleLines(last, aggregate, options)),
  ]
}
