import { below, narrow, type RunContext } from '../../event/context.ts'
import { part } from '../../event/place.ts'
import { withoutLimits } from '../../event/limits.ts'
import { defined, type Json, type JsonObject } from '../../base/json.ts'
import type { Spent } from '../../event/meter.ts'
import { failureOf, type TaskAnswer } from '../../run/answer.ts'
import { ask } from '../../run/ask.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { aggregateTarget, type EnsembleRun, type MemberEnd, type PreparedMember } from './member.ts'
import { modelText } from '../../base/model-text.ts'
import { attribute, framed } from '../../base/frame.ts'
import { compileSchema } from '../../base/json-schema.ts'
import type { OutputSchema } from '../../load/output-schema.ts'

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
interface Judged extends Judgement {
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

interface JudgeRequest {
  /** After the instruction of the file. */
  readonly question: string
  readonly target: PromptTarget
  readonly run: EnsembleRun
  readonly views: readonly MemberView[]
}

async function askFor({ question, target, run, views }: JudgeRequest, around: RunContext): Promise<TaskAnswer> {
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

/** The answer of a judge. */
type Judgement = { readonly winner: string; readonly reason: string }

/** The schema of that answer: the name of one of these members, and why. */
async function judgementSchema(names: readonly string[], target: PromptTarget): Promise<OutputSchema> {
  const schema = {
    type: 'object',
    properties: {
      reason: { type: 'string', description: modelText`Why, in one to three sentences.` },
      winner: { type: 'string', enum: [...names], description: modelText`The name of the member whose work is used.` },
    },
    required: ['reason', 'winner'],
    additionalProperties: false,
  }
  const compiled = await compileSchema(schema)
  if (compiled.kind !== 'ok') throw new Error('the schema of a judgement is valid')
  return { ...compiled.compiled, placeAt: () => target.placeOf(['ensemble'], 'key') }
}

/** The instruction to a judge, which follows that of the members. */
export function judgeQuestion(views: readonly MemberView[], diffs: ReadonlyMap<string, string>): string {
  const shown = views.flatMap((view) => {
    const diff = diffs.get(view.name) ?? ''
    if (view.status !== 'answered') return [quoted(view)]
    const name = `member="${attribute(view.name)}" `
    return [quoted(view), diff === '' ? framed('no_changes', name.trim(), '') : framed('changes', name.trim(), diff)]
  })
  return [
    modelText`Several agents have worked on the request above, independently and each in its own copy of the files. These are their answers and their changes, as diffs:`,
    ...shown,
    modelText`Choose the one whose work is used as it is; the work of the others is discarded. The criteria, in this order: it does everything that was requested; it breaks nothing; it changes nothing else. Judge the changes, not what the answer says about them. Do not change any files.`,
  ].join('\n\n')
}

interface Synthesis {
  readonly views: readonly MemberView[]
  /** Whether the answer is text instead of a value of `[output]`. */
  readonly isText: boolean
}

/** The instruction for combining several answers, which follows the instruction of the members. */
export function synthesisQuestion({ views, isText }: Synthesis): string {
  const answered = views.filter(({ status }) => status === 'answered')
  const count = answered.length === views.length ? `${views.length}` : `${answered.length} of ${views.length}`
  return [
    modelText`Several agents have answered the request above independently (${count} answered). These are their answers:`,
    ...views.map(quoted),
    isText ? asText : asValue,
  ].join('\n\n')
}

const asText = modelText`Combine them into one answer. Write these parts in this order, and omit a part that would be empty:

1. Consensus: what all of them say.
2. Said by some: what only some of them say, each point with the names of those who say it.
3. Contradictions: where they contradict each other, who says what, and which is right as far as you can tell.
4. Answer: one answer to the request, with the best of all of them.

The majority is not necessarily right. Add nothing that is in none of the answers unless you can prove it.`

const asValue = modelText`Combine them into one answer. First find out what all of them say, what only some of them say, and where they contradict each other; the majority is not necessarily right. Then answer the request.`

/** The answer of a member, or why it has none, with its name. */
function quoted(view: MemberView): string {
  const name = `member="${attribute(view.name)}" `
  if (view.status === 'answered') return framed('answer', `${name}lines="${linesOf(view.content)}"`, view.content)
  return framed('no_answer', `${name}status="${view.status}"`, errorText(view))
}

function linesOf(text: string): number {
  return text.replace(/\n$/, '').split('\n').length
}

/** A member for `post_task` agents and aggregators: an entry of `ai_response.members`. */
export interface MemberView extends JsonObject {
  readonly name: string
  /** `{file}-ensemble-{name}`. */
  readonly id: string
  readonly status: 'answered' | 'failed' | 'timed_out' | 'stopped'
  /** Empty without an answer. */
  readonly content: string
  readonly error: { readonly code: string; readonly reason?: string; readonly message: string } | null
  /** The model that answered, for display; null if none did. */
  readonly model: string | null
  readonly usage: Json
  /** Null if the price is unknown, or it has not answered. */
  readonly cost_usd: number | null
  readonly seconds: number | null
}

/** All members, in the order in which they are listed. */
export function viewsOf(
  members: readonly PreparedMember[],
  ends: ReadonlyMap<string, MemberEnd>,
): readonly MemberView[] {
  return members.map(({ name, id }) => viewOf({ name, id }, ends.get(name) ?? { status: 'stopped' }))
}

function viewOf(who: Pick<PreparedMember, 'name' | 'id'>, end: MemberEnd): MemberView {
  const { status } = end
  const nothing = { content: '', error: null, model: null, usage: null, cost_usd: null, seconds: null }
  if (status === 'stopped') return { ...who, status, ...nothing }
  const { seconds } = end
  if (status !== 'answered') {
    const { code, reason, message } = end.error
    return { ...who, status, ...nothing, error: { code, ...defined({ reason }), message }, seconds }
  }
  const { content, value, response, spent } = end
  const model = response['model_name'] ?? null
  return {
    ...who,
    status,
    ...nothing,
    content,
    ...(value === undefined ? {} : { value }),
    model: typeof model === 'string' ? model : null,
    usage: response['usage'] ?? null,
    cost_usd: spent.costUsd,
    seconds,
  }
}

/** Why there is no answer, in a sentence. */
export function errorText({ error, status }: Pick<MemberView, 'error' | 'status'>): string {
  return (
    error?.message ??
    (status === 'stopped' ? modelText`another answer was accepted first` : modelText`it gave no answer`)
  )
}

/** Whether an expected answer is missing. No answer was expected of stopped members. */
export function isMissing({ status }: Pick<MemberView, 'status'>): boolean {
  return status === 'failed' || status === 'timed_out'
}
