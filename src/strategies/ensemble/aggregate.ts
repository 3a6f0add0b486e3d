import { below, narrow, type RunContext } from '../../event/context.ts'
import { part } from '../../event/place.ts'
import { withoutLimits } from '../../event/limits.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Spent } from '../../event/meter.ts'
import { failureOf, type TaskAnswer } from '../../run/answer.ts'
import { ask } from '../../run/ask.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import type { EnsembleRun } from './member.ts'
import { aggregateTarget } from './members.ts'
import { judgementSchema, type Judgement, judgeQuestion } from './judge.ts'
import { synthesisQuestion } from './synthesis.ts'
import type { MemberView } from './views.ts'

/**
 * Combines the answers of the members into one, by a model or the aggregator. It is called like the main agent or the
 * agent of a file, so its answer must match `[output]`, and file changes are applied. It is a boundary.
 * @throws BatonError as an answer of the main agent does
 */
export async function aggregate(
  run: EnsembleRun,
  views: readonly MemberView[],
  around: RunContext,
): Promise<TaskAnswer> {
  const target = await aggregateTarget(run.ensemble, run.target)
  const question = synthesisQuestion({ views, isText: target.output === undefined })
  return askFor({ question, target, run, views }, around)
}

/** The choice of the winner, whose work is taken unchanged. */
export interface Judged extends Judgement {
  readonly response: JsonObject
  readonly spent: Spent
}

/**
 * Asks a model whose work to take. It sees the answers and changes of all members, and changes no files. It is a
 * boundary.
 * @throws BatonError as an answer of the main agent does
 */
export async function judge(
  run: EnsembleRun,
  views: readonly MemberView[],
  diffs: ReadonlyMap<string, string>,
  around: RunContext,
): Promise<Judged> {
  const alone = await aggregateTarget(run.ensemble, run.target)
  const names = views.filter(({ status }) => status === 'answered').map(({ name }) => name)
  const output = await judgementSchema(names, run.target)
  const reading = (params: JsonObject) => ({ ...alone.settingsFor(params), write_mode: false as const })
  const target = { ...alone, answerAgent: undefined, output, settingsFor: reading }
  const context = narrow(around, { write: false, sandbox: { mode: 'read-only' } })
  const { value, response, spent } = await askFor(
    { question: judgeQuestion(views, diffs), target, run, views },
    context,
  )
  return { ...(value as Judgement), response, spent }
}

interface Asking {
  /** After the instruction of the file. */
  readonly question: string
  readonly target: PromptTarget
  readonly run: EnsembleRun
  readonly views: readonly MemberView[]
}

async function askFor({ question, target, run, views }: Asking, around: RunContext): Promise<TaskAnswer> {
  const { plan, state, files, inputText } = run
  const { answerAgent: agent } = target
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
      { inputs, label: agent?.name ?? (run.trees === undefined ? 'synthesis' : 'judge') },
    )
  } catch (error) {
    // with the answer before the failure
    throw failure === undefined ? error : failure.error
  }
}
