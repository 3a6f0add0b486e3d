import type { Ask } from './ask.ts'
import type { AgentPlan, Decision, PromptPlan, StepPlan, Total } from './plan.ts'
import { sumOf } from './range.ts'

/** What is decided only while the run goes on, in the order in which it is reached; each place once. */
export function decisionsOf(target: PromptPlan | AgentPlan, at: string): readonly Decision[] {
  if (target.kind !== 'prompt') return decision(at, target.decides)
  const { pre, pre_task: preTask, post_task: postTask, post } = target.stages
  const answer = target.answer.by === 'agent' ? [target.answer.step] : []
  return [...pre, ...preTask, ...answer, ...postTask, ...post].flatMap(stepDecisions)
}

function stepDecisions({ at, decides, agent }: StepPlan): readonly Decision[] {
  return [...decision(at, decides), ...(agent?.kind === 'prompt' ? decisionsOf(agent, at) : [])]
}

function decision(by: string, what: readonly string[]): readonly Decision[] {
  return what.length === 0 ? [] : [{ by, what }]
}

/** The sum of all asks. While something is open anything may be asked on top, so that nothing is the most. */
export function totalOf(asks: readonly Ask[], open: readonly Decision[]): Total {
  const priced = asks.flatMap(({ usd }) => usd ?? [])
  const sums = {
    requests: sumOf(asks.map(({ requests }) => requests)),
    input_tokens: sumOf(asks.map(({ input_tokens: input }) => input)),
    output_tokens: sumOf(asks.map(({ output_tokens: output }) => output)),
    usd: sumOf(priced),
  }
  const unlimited = ({ at_least, as_written }: Total['usd']): Total['usd'] => ({ at_least, as_written, at_most: null })
  const { requests, input_tokens, output_tokens, usd } = sums
  return {
    requests: open.length === 0 ? requests : unlimited(requests),
    input_tokens: open.length === 0 ? input_tokens : unlimited(input_tokens),
    output_tokens: open.length === 0 ? output_tokens : unlimited(output_tokens),
    usd: open.length === 0 ? usd : unlimited(usd),
    unpriced: asks.filter((ask) => ask.usd === null).map(({ model }) => model),
  }
}
