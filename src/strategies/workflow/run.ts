import { BatonError } from '../../base/error.ts'
import { checkBySchema } from '../../base/json-schema.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { looksAtEnd, type WorkflowStep } from '../../settings/strategies/workflow.ts'
import { emit, type RunContext, withServices } from '../../event/context.ts'
import { errorInfo } from '../../event/error-info.ts'
import type { Spent } from '../../event/meter.ts'
import { keepAnswer, responseOf, type TaskAnswer } from '../../run/answer.ts'
import type { OutputSchema } from '../../load/output-schema.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { fitting, misfitOf } from '../../run/structured-answer.ts'
import { createExpressions } from './texts.ts'
import { answeringStep, type Graph, graphOf, runInOrder, sinksOf } from './graph.ts'
import { type Request, type StepEnd, type StepEnds, viewOf } from './input.ts'
import { joinTexts, textOf } from '../../prompt/value-text.ts'
import { runStep, type WorkflowRun } from './step.ts'
import type { TaskCall } from '../../run/strategy.ts'
import { instructionOf } from '../../stage/state.ts'

/**
 * Runs the steps of a workflow instead of calling one agent. The answer consists of the outputs of the steps that no
 * other needs, joined by a blank line; a single one keeps its structure. `ai_response.steps` has how each step ended.
 * If only some items of steps failed, that is in `partial` of the answer.
 * @throws BatonError of the step that ended the workflow; AGENT_FAILED, with the answer kept, for steps that failed
 * without ending it, unless a step that handles the failure is done
 */
export async function answerBySteps(call: TaskCall, context: RunContext): Promise<TaskAnswer> {
  const { settings } = call
  const { target, filesOf, filesIn } = call.round
  const { workflow } = settings
  if (workflow === undefined) throw new Error('no [workflow]')
  const request = requestOf(call)
  const { scope, services } = context
  const graph = graphOf(workflow)
  const limit = workflow.concurrency ?? settings.input_concurrency
  const run: WorkflowRun = {
    graph,
    target,
    request,
    filesOf,
    filesIn,
    limit,
    expressions: createExpressions(target.settings.lua, { isInstalled: scope.isInstalled }),
    ends: new Map(),
    answering: answeringStep(graph),
  }
  const steps = graph.nodes.map(({ step: { id, needs, agent } }) => ({
    id,
    needs,
    ...(agent === undefined ? {} : { agent }),
  }))
  emit(context, { type: 'workflow.started', steps, concurrency: limit })
  const { spent } = await services.meter.measure(scope.at, () =>
    runInOrder(graph, { limit, signal: services.signal }, async (node, signal) => {
      run.ends.set(node.step.id, await runStep(node, run, withServices(context, { signal })))
    }),
  )
  const answer = await answerOf(run, spent, context)
  const failed = unhandled(graph, run.ends)
  const [first] = failed
  if (first === undefined) return answer
  if (failed.every(({ isPartial }) => isPartial)) {
    return { ...answer, partial: errorInfo(await failure([first, ...failed.slice(1)], target)) }
  }
  const kept = { text: answer.text, spent, ...(answer.text === '' ? {} : { isResult: true as const }) }
  return keepAnswer(
    () => kept,
    async () => {
      throw await failure([first, ...failed.slice(1)], target)
    },
  )
}

function requestOf({ plan, state, inputText, round: { target, given } }: TaskCall): Request {
  const instruction = instructionOf(state)
  const { sub_agents: _, workflow: _workflow, ...params } = state.params
  return {
    text: [inputText, instruction].filter((text) => text.trim() !== '').join('\n\n'),
    instruction,
    params,
    input: target.vars ?? plan.input ?? given?.value ?? null,
    stdin: target.stdin,
  }
}

async function answerOf({ graph, ends, target }: WorkflowRun, spent: Spent, context: RunContext): Promise<TaskAnswer> {
  const { dry } = context.scope
  // a dry run that calls no model gets no further than the first steps
  const sinks = dry === 'req' ? graph.nodes.map(({ step }) => step) : sinksOf(graph)
  const outputs = sinks.flatMap(({ id }): readonly Json[] => outputOf(ends.get(id)))
  const [only = null] = outputs
  const isStructured = sinks.length === 1 && typeof only !== 'string' && only !== null
  const written = { text: joinTexts(outputs.map(textOf)), ...(isStructured ? { value: only } : {}) }
  const { text, value }: Answered =
    target.output === undefined || dry !== undefined ? written : await checked(written, target.output, context)
  const steps = Object.fromEntries(graph.nodes.map(({ step: { id } }) => [id, statusOf(ends.get(id))]))
  const changes = graph.nodes.flatMap(({ step: { id } }) => {
    const end = ends.get(id)
    return end?.status === 'done' || end?.status === 'partial' ? (end.changes ?? []) : []
  })
  return {
    text,
    response: { ...responseOf({ text, reasoning: '' }, spent), steps },
    fileChanges: changes,
    ...(value === undefined ? {} : { value }),
    spent,
  }
}

interface Answered {
  readonly text: string
  readonly value?: Json
}

async function checked({ text, value }: Answered, output: OutputSchema, { services }: RunContext): Promise<Answered> {
  const who = 'the workflow answered'
  if (value === undefined) return fitting(text, output, { who, signal: services.signal })
  const problems = await checkBySchema(output, value, services.signal)
  if (problems.length > 0) throw misfitOf(problems, who)
  return { text, value }
}

function outputOf(end: StepEnd | undefined): readonly Json[] {
  if (end === undefined || end.status === 'skipped' || end.output === undefined) return []
  if (end.status !== 'done' && Array.isArray(end.output)) {
    return [(end.output as readonly Json[]).filter((output) => output !== null)]
  }
  return end.output === null ? [] : [end.output]
}

function statusOf(end: StepEnd | undefined): JsonObject {
  return { output: null, error: null, ...(end === undefined ? { status: 'skipped' } : viewOf(end)) }
}

interface FailedStep {
  readonly step: WorkflowStep
  readonly message: string
  /** Only some of its items failed. */
  readonly isPartial: boolean
}

/** Failed steps without a step that handles it: one with `when = "failure"`, or whose condition names it. */
function unhandled({ nodes }: Graph, ends: StepEnds): readonly FailedStep[] {
  return nodes.flatMap(({ step, dependents }) => {
    const end = ends.get(step.id)
    if (end?.status !== 'failed' && end?.status !== 'partial') return []
    const isHandled = dependents.some((other) => isDone(ends.get(other.id)) && isFor(other, step.id))
    return isHandled ? [] : [{ step, message: end.error.message, isPartial: end.status === 'partial' }]
  })
}

function isDone(end: StepEnd | undefined): boolean {
  return end?.status === 'done' || end?.status === 'partial'
}

/** Steps that always run, such as cleanup, do not handle failures. */
function isFor(step: WorkflowStep, id: string): boolean {
  return step.when.trim() !== 'always' && looksAtEnd(step, id)
}

async function failure(
  [first, ...others]: readonly [FailedStep, ...(readonly FailedStep[])],
  { placeOf }: PromptTarget,
): Promise<BatonError> {
  const failed = [first, ...others]
  const names = failed.map(({ step: { id } }) => `"${id}"`)
  const isPartial = failed.every((one) => one.isPartial)
  const how = isPartial ? 'partly failed' : 'failed'
  const what =
    others.length === 0
      ? `workflow step ${names[0]} ${how}`
      : `${names.length} workflow steps ${how} (${names.join(', ')})`
  return new BatonError('AGENT_FAILED', `${what}: ${first.message}`, {
    place: await placeOf(['workflow', 'step', first.step.index, 'id'], 'value'),
    ...(isPartial ? { reason: 'PARTIAL_RESULT' } : {}),
    hint: isPartial
      ? 'The answer was made without them; resume the run to repeat these items and what depends on them.'
      : 'The outputs of the other steps are kept; resume the run to repeat only what failed.',
  })
}
