import { below, type RunContext } from '../../event/context.ts'
import { part } from '../../event/place.ts'
import { withoutLimits } from '../../event/limits.ts'
import type { JsonObject } from '../../base/json.ts'
import { failureOf, type TaskAnswer } from '../answer.ts'
import { ask } from '../ask.ts'
import type { EnsembleRun } from './member.ts'
import { aggregateTarget } from './members.ts'
import { synthesisQuestion } from './synthesis.ts'
import type { MemberView } from './views.ts'

/**
 * Makes one answer of those of the members: a model is asked, or the aggregator. It is asked as the main agent or the agent of a
 * file is, so what `[output]` describes must fit, and file changes are carried out. It is a boundary.
 * @throws BatonError as an answer of the main agent does
 */
export async function aggregate(
  run: EnsembleRun,
  views: readonly MemberView[],
  around: RunContext,
): Promise<TaskAnswer> {
  const { ensemble, plan, state, files, inputText } = run
  const target = await aggregateTarget(ensemble, run.target)
  const { answerAgent: agent } = target
  const question = synthesisQuestion({ views, isText: target.output === undefined })
  const asked = {
    plan,
    files,
    inputText,
    settings: target.settingsFor(state.params),
    state: agent === undefined ? { ...state, prompts: [...state.prompts, question] } : state,
    members: views,
  }
  const context = below(around, part('aggregate'))
  const inputs = {
    agent: agent === undefined ? null : { name: agent.name, text: agent.text },
    settings: withoutLimits(asked.settings as unknown as JsonObject),
    prompts: asked.state.prompts,
    members: agent === undefined ? null : views,
  }
  let failure: { readonly error: unknown } | undefined
  try {
    return await context.services.effects.boundary(
      context.scope.at,
      async () => {
        try {
          return await ask(asked, target, context)
        } catch (error) {
          failure = { error }
          throw failureOf(error).error
        }
      },
      { inputs, label: agent?.name ?? 'synthesis' },
    )
  } catch (error) {
    // with the answer that was given before it failed
    throw failure === undefined ? error : failure.error
  }
}
