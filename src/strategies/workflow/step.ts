import { mapSiblings } from '../../base/concurrency.ts'
import { BatonError, isBatonError, isSuspension, rewordError, stopsRun } from '../../base/error.ts'
import { defined, type Json, type JsonObject } from '../../base/json.ts'
import type { WorkflowStep } from '../../settings/strategies/workflow.ts'
import type { BatchPiece } from '../../event/batch.ts'
import { below, emit, type RunContext, withServices, type Sender } from '../../event/context.ts'
import { errorInfo } from '../../event/error-info.ts'
import type { ErrorInfo, EventBody } from '../../event/event.ts'
import { item, part, workflowItem, workflowStep } from '../../event/place.ts'
import { failureOf } from '../../run/answer.ts'
import { inTries } from '../../run/tries.ts'
import { oneLine } from '../../render/format.ts'
import { joinTexts } from '../../prompt/value-text.ts'
import { isBudget } from '../../run/ending.ts'
import { conditionOf, type Graph, type StepNode } from './graph.ts'
import { type Item, itemLabel, plainInput, type Request, type StepEnd, type StepInput, stepsTable } from './input.ts'
import { settingsHere, targetHere } from '../../run/isolation/placed-target.ts'
import { type StepResult, runMainStep, runStepAgent } from './agents.ts'
import { describeValue } from '../../settings/issue.ts'
import { type Expressions, lineInText, writtenText } from './texts.ts'
import type { Settings } from '../../config/settings.ts'
import { withoutLimits } from '../../event/limits.ts'
import { renderTemplate } from '../../prompt/render-template.ts'
import { loadTemplates } from '../../prompt/template.ts'
import type { ChainAgent } from '../../stage/chain.ts'
import type { FileSet } from '../../run/files.ts'
import type { OutputSchema } from '../../load/output-schema.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'

/**
 * One step of a workflow, after all that it needs has ended: skipped, or done by its agent, for each item if it has
 * items. A step and each of its items are boundaries. A failure is an end if the step lets the run continue.
 * @throws what ends the run: the failure of a step that does not allow it, a suspension, an exhausted budget
 */
export async function runStep(node: StepNode, run: WorkflowRun, context: RunContext): Promise<StepEnd> {
  const { step } = node
  const at = below(context, workflowStep(step.id))
  try {
    const end = await endOf(node, run, at)
    announce(step, end, at)
    return end
  } catch (caught) {
    const { error } = failureOf(caught)
    context.services.signal.throwIfAborted()
    if (step.on_error === 'continue' && !isFatal(error)) {
      const end = { status: 'failed', error: errorInfo(error) } as const
      announce(step, tell(end, step, at), at)
      return end
    }
    emit(at, { type: isSuspension(error) ? 'step.suspended' : 'step.failed', id: step.id, error: errorInfo(error) })
    if (!isBatonError(error) || stopsRun(error)) throw error
    const from = await run.target.placeOf(['workflow', 'step', step.index, 'id'], 'value')
    const message = `workflow step "${step.id}" failed: ${error.message}`
    throw rewordError(error, { code: 'AGENT_FAILED', message, from })
  }
}

function announce({ id }: WorkflowStep, end: StepEnd, at: Sender): void {
  switch (end.status) {
    case 'done':
      return emit(at, { type: 'step.completed', id, output: end.output })
    case 'skipped':
      return emit(at, { type: 'step.skipped', id, reason: end.reason })
    case 'partial': {
      const { output = null, failed = [], error } = end
      return emit(at, { type: 'step.partial', id, output, failed: [...failed], error })
    }
    case 'failed':
      return emit(at, { type: 'step.failed', id, error: end.error })
  }
}

async function endOf(node: StepNode, run: WorkflowRun, at: RunContext): Promise<StepEnd> {
  const { step } = node
  const reason = await reasonToSkip(node, run, at)
  if (reason !== undefined) {
    const skipped = { status: 'skipped', reason } as const
    return at.services.effects.boundary(at.scope.at, async () => skipped, { inputs: { skipped }, label: labelOf(step) })
  }
  const items = step.for_each === undefined ? undefined : await itemsOf(step.for_each, { node, run }, at)
  const event: EventBody = {
    type: 'step.started',
    id: step.id,
    ...defined({ name: step.agent, items: items?.length }),
  }
  emit(at, event)
  const prepared = await prepareStep(node, run)
  const former = formerReason(node, run)
  if (items === undefined) return settle(prepared, { former }, at)

  // each item has its own inputs
  const inputs = { items, step: prepared.definition }
  const then = skippedThen(former)
  const options = {
    inputs,
    partInputs: ['items', 'step'],
    ...endOptions,
    label: labelOf(step),
    onReplay: then.onReplay,
  }
  let failure: { readonly error: unknown } | undefined
  const end = await at.services.effects.boundary(
    at.scope.at,
    async () => {
      failure = undefined
      const skipped = then.end()
      if (skipped !== undefined) return skipped
      try {
        return await runItems(items, prepared, at)
      } catch (error) {
        failure = { error }
        return recordedFailure(error, at)
      }
    },
    options,
  )
  if (failure !== undefined) throw (failure as { readonly error: unknown }).error
  return end
}

/** The record of a failure that ends the run. */
function recordedFailure(caught: unknown, at: RunContext): StepEnd {
  const { error } = failureOf(caught)
  at.services.signal.throwIfAborted()
  if (isFatal(error)) throw error
  return { status: 'failed', error: errorInfo(error) }
}

function labelOf({ agent }: WorkflowStep): string {
  return agent ?? 'main agent'
}

/** A failure is not final: a resumed run repeats the step, or the items that failed. */
const endOptions = {
  isFinal: ({ status }: StepEnd): boolean => status !== 'failed' && status !== 'partial',
  failureIn: (end: StepEnd) => (end.status === 'failed' || end.status === 'partial' ? end.error : undefined),
}

/**
 * Why earlier versions skipped a step that needs one of which some items failed: for them it had failed. Undefined: no
 * such step.
 */
function formerReason({ step }: StepNode, run: WorkflowRun): string | undefined {
  const partial = step.needs.find((id) => run.ends.get(id)?.status === 'partial')
  return partial === undefined ? undefined : failedNeed(partial)
}

/** The recorded end of a step that a replayed run skipped for this reason: the replay skips it as well. */
function skippedThen(reason: string | undefined) {
  let end: StepEnd | undefined
  return {
    onReplay: (recorded: StepEnd | undefined): void => {
      if (recorded?.status === 'skipped' && recorded.reason === reason) end = recorded
    },
    end: () => end,
  }
}

async function runItems(items: readonly Json[], prepared: PreparedStep, at: RunContext): Promise<StepEnd> {
  const { step } = prepared.node
  const { id } = step
  const limit = step.concurrency ?? prepared.run.limit
  const failures: { readonly one: NonNullable<Item>; readonly error: ErrorInfo }[] = []
  const changes: JsonObject[][] = []
  const runItem = async (value: Json, index: number, place: RunContext): Promise<Json | null> => {
    const one = await nameItem(prepared, { value, index }, place.services.signal)
    const about = { type: 'step.item', id, index } as const
    const named = { ...about, label: one.label }
    try {
      const end = await settle(prepared, { one }, place)
      const error = end.status === 'failed' ? end.error : undefined
      const isPlain = end.status === 'done' && step.label === undefined
      const status = end.status === 'partial' ? 'failed' : end.status
      emit(at, { ...(isPlain ? about : named), status, ...defined({ error }) })
      if (error !== undefined) failures.push({ one, error })
      if (end.status === 'done') changes[index] = [...(end.changes ?? [])]
      return end.status === 'done' ? end.output : null
    } catch (error) {
      if (isSuspension(error)) emit(at, { ...named, status: 'suspended' })
      throw inItem(error, one)
    }
  }
  const { piece, signal: outer } = at.services
  // in a batch all items are started, so that their calls are sent together
  const runAll = (pieces: readonly BatchPiece[], most: number): Promise<readonly (Json | null)[]> =>
    mapSiblings(items, { limit: most, signal: outer }, (value, index, signal) => {
      const own = pieces[index]
      const place = withServices(below(at, workflowItem(index)), { signal, ...defined({ piece: own ?? piece }) })
      const work = (): Promise<Json | null> => runItem(value, index, place)
      return own === undefined ? work() : own.run(work, signal)
    })
  const { length: count } = items
  const outputs = await (piece === undefined
    ? runAll([], limit)
    : piece.split({ count, limit, signal: outer }, (pieces) => runAll(pieces, Math.max(1, count))))
  const failed = failures.toSorted((left, right) => left.one.index - right.one.index)
  const [first] = failed
  if (first === undefined) return { status: 'done', output: outputs, ...changesOf(changes.flat()) }
  const message = `${failed.length} of ${items.length} items failed: ${first.one.label}: ${first.error.message}`
  const isPartial = failed.length < items.length
  return {
    status: isPartial ? 'partial' : 'failed',
    error: { ...first.error, message, ...(isPartial ? { reason: 'PARTIAL_RESULT' } : {}) },
    output: outputs,
    failed: failed.map(({ one: { index, label }, error }) => ({ index, label, error: error.message })),
    ...changesOf(changes.flat()),
  }
}

/** An item with what it is called. */
async function nameItem(
  { node: { step }, render }: PreparedStep,
  { value, index }: { readonly value: Json; readonly index: number },
  signal: AbortSignal,
): Promise<NonNullable<Item>> {
  const defaults = { value, index, label: itemLabel(value, index) }
  if (step.label === undefined) return defaults
  const written = oneLine(await render('label', defaults, signal), 120).trim()
  return written === '' ? defaults : { ...defaults, label: written }
}

function inItem(caught: unknown, { label }: NonNullable<Item>): unknown {
  const { error } = failureOf(caught)
  if (!isBatonError(error) || stopsRun(error)) return error
  return rewordError(error, { message: `${label}: ${error.message}` })
}

function changesOf(changes: readonly JsonObject[]) {
  return changes.length === 0 ? {} : { changes }
}

interface Unit {
  /** Undefined: the step as a whole. */
  readonly one?: Item
  /** Why an earlier version would have skipped it. */
  readonly former?: string | undefined
}

/** Runs the step once, as a whole or for one item, as a boundary. */
async function settle(prepared: PreparedStep, { one, former }: Unit, at: RunContext): Promise<StepEnd> {
  const { run, node } = prepared
  const { step } = node
  const { effects } = at.services
  const given: StepInput =
    step.input === undefined
      ? plainInput(step, { ends: run.ends, item: one, request: run.request })
      : textInput(await prepared.render('input', one, at.services.signal))
  const instructions =
    step.instructions === undefined ? undefined : await prepared.render('instructions', one, at.services.signal)
  const name = `${one === undefined ? '' : `${one.label} of `}workflow step "${step.id}"`
  const label = one === undefined ? step.id : `${step.id} ${one.index}`
  const work = { prepared, given, instructions, label, name }
  const then = skippedThen(former)
  let failure: { readonly error: unknown } | undefined
  const once = (): Promise<StepEnd> =>
    effects.boundary(
      at.scope.at,
      async (): Promise<StepEnd> => {
        failure = undefined
        const skipped = then.end()
        if (skipped !== undefined) return skipped
        try {
          return ended(await runAgents(work, at))
        } catch (caught) {
          const end = recordedFailure(caught, at)
          failure = failureOf(caught)
          return end
        }
      },
      {
        inputs: { ...prepared.definition, input: given.value, instructions },
        ...endOptions,
        label: one?.label ?? labelOf(step),
        onReplay: then.onReplay,
      },
    )
  let end = await once()
  // the record answers all tries of an earlier process: a resumed run begins with the first one
  if (failure !== undefined && (step.retries ?? 0) > 0) {
    effects.undo(at.scope.at)
    if (effects.again(at.scope.at)) end = await once()
  }
  if (failure === undefined) return end
  const { error } = failure as { readonly error: unknown }
  if (step.on_error === 'fail_fast') throw error
  return tell(end, step, at, one)
}

function tell(end: StepEnd, { id }: WorkflowStep, at: Sender, one?: Item): StepEnd {
  if (end.status !== 'failed') return end
  const which = one === undefined ? '' : `${one.label} of `
  const message = `${which}workflow step "${id}" failed, and the run continues: ${end.error.message}`
  emit(at, { type: 'warning', message, ...defined({ hint: end.error.hint }) })
  return end
}

function textInput(text: string): StepInput {
  return { value: text, text }
}

function ended(given: StepResult): StepEnd {
  return 'skipped' in given ? { status: 'skipped', reason: given.skipped } : { status: 'done', ...given }
}

/** Errors that no later step of the workflow can handle. */
function isFatal(error: unknown): boolean {
  return !isBatonError(error) || stopsRun(error) || isBudget(error)
}

interface Work {
  readonly prepared: PreparedStep
  readonly given: StepInput
  /** Undefined: the step has an agent. */
  readonly instructions: string | undefined
  readonly label: string
  /** For messages. */
  readonly name: string
}

/** Runs the agent of the step, or the first of its fallbacks that does not fail; each as often as `retries` says. */
async function runAgents(work: Work, at: RunContext): Promise<StepResult> {
  const { agents, node } = work.prepared
  const { retries, retry_on } = node.step
  const tries = { ...defined({ retries, retry_on }), name: work.name, isEmpty }
  let last: BatonError | undefined
  for (const [index, agent] of agents.entries()) {
    const place = index === 0 ? at : below(at, part('fallback'), item(index - 1))
    if (last !== undefined) {
      const message = `workflow step "${node.step.id}" falls back to ${agent?.name ?? 'the main agent'}: ${last.message}`
      emit(at, { type: 'warning', message })
    }
    try {
      return await inTries(tries, place, (inTry, remark) =>
        inPlace(node.step, inTry, (inside) =>
          agent === undefined
            ? runMain(corrected(work, remark), inside)
            : runNamed(corrected(work, remark), agent, inside),
        ),
      )
    } catch (caught) {
      const { error } = failureOf(caught)
      at.services.signal.throwIfAborted()
      if (!isBatonError(error) || isFatal(error)) throw error
      last = error
    }
  }
  throw last ?? new Error('a step has an agent')
}

function isEmpty(result: StepResult): boolean {
  return 'output' in result && typeof result.output === 'string' && result.output.trim() === ''
}

/** The work with what was wrong with the answer before, for a model: scripts get the same value again. */
function corrected(work: Work, remark: string | undefined): Work {
  if (remark === undefined) return work
  const { given, instructions } = work
  return {
    ...work,
    given: { ...given, text: joinTexts([given.text, remark]) },
    instructions: instructions && joinTexts([instructions, remark]),
  }
}

/** A step with `isolation` works in a work tree, whose changes are applied to the workspace when it is done. */
async function inPlace(
  { isolation }: WorkflowStep,
  at: RunContext,
  work: (at: RunContext) => Promise<StepResult>,
): Promise<StepResult> {
  if (isolation !== 'worktree' || at.scope.dry !== undefined) return work(at)
  const { runIsolated, missingTreeHint } = await import('../../run/isolation/isolated.ts')
  return runIsolated({ name: 'step', ...missingTreeHint(at.scope.at), work, verdict: () => 'apply' }, at)
}

function runNamed({ prepared, given }: Work, agent: PreparedStep['agents'][number] & object, at: RunContext) {
  const { run, node } = prepared
  const { target, request } = run
  return runStepAgent({ agent, options: node.step.options, given, request, target }, at)
}

async function runMain({ prepared, given, instructions = '', label }: Work, at: RunContext): Promise<StepResult> {
  const { run, node, main } = prepared
  const { request } = run
  if (main === undefined) throw new Error('a step without an agent is prepared for the main agent')
  const isHere = node.step.isolation !== 'worktree' || at.scope.dry !== undefined
  const target = isHere ? run.target : targetHere(run.target, at.scope.folders)
  const settings = isHere ? main.settings : settingsHere(main.settings, at.scope.folders)
  // standard input has its own message
  const isRequest = node.step.input === undefined && node.step.needs.length === 0 && node.step.for_each === undefined
  const call = {
    ...main,
    settings,
    instructions,
    label,
    inputText: isRequest ? request.text : given.text,
    stdin: isRequest ? request.stdin : undefined,
    files: await (isHere ? run.filesOf(settings) : run.filesIn(settings, at)),
  }
  return runMainStep(call, target, at)
}

interface StepOfRun {
  readonly node: StepNode
  readonly run: WorkflowRun
}

/**
 * Why a step is skipped; undefined: it runs. All steps that it needs have ended.
 * @throws BatonError of an expression
 */
async function reasonToSkip(node: StepNode, run: WorkflowRun, context: RunContext): Promise<string | undefined> {
  const { step } = node
  const ends = step.needs.map((id) => ({ id, status: run.ends.get(id)?.status }))
  if (context.scope.dry === 'req' && ends.length > 0)
    return 'a dry run calls no model, so the steps it needs have no output'
  const expression = conditionOf(step)
  if (expression !== undefined) {
    const value = await evaluate('when', expression, { node, run }, context)
    return value === undefined || value === false ? 'its condition is not met' : undefined
  }
  if (step.when.trim() === 'always') return undefined
  if (step.when.trim() === 'failure') {
    return ends.some(({ status }) => status === 'failed' || status === 'partial')
      ? undefined
      : 'nothing that it needs has failed'
  }
  const missing = ends.find(({ status }) => status !== 'done' && status !== 'partial')
  if (missing === undefined) return undefined
  return missing.status === 'failed' ? failedNeed(missing.id) : `step "${missing.id}" was skipped`
}

function failedNeed(id: string): string {
  return `step "${id}" failed`
}

/**
 * The items of `for_each`.
 * @throws BatonError of the expression, and if its value is not a list
 */
async function itemsOf(expression: string, at: StepOfRun, context: RunContext): Promise<readonly Json[]> {
  const value = await evaluate('for_each', expression, at, context)
  if (Array.isArray(value)) return value as readonly Json[]
  // an empty table may be a list
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return []
  const given = value === undefined ? 'nothing (nil)' : describeValue(value)
  const hint = 'It must return a list; steps.a.output or {} is an empty one if step a was skipped.'
  throw await failure('for_each', { text: expression, message: `must return a list, not ${given}`, hint }, at)
}

async function evaluate(
  key: 'when' | 'for_each',
  text: string,
  at: StepOfRun,
  { services }: RunContext,
): Promise<Json | undefined> {
  const { node, run } = at
  const result = await run.expressions.evaluate(text, visibleTo(node, run), services.signal)
  if (result.kind === 'value') return result.value
  const { message, line, isLimit } = result
  const hint = isLimit
    ? 'Raise the limit in [lua], or let an agent do this work.'
    : 'It sees steps, params, input, instruction and stdin.'
  throw await failure(key, { text, message: `failed: ${message}`, hint, line, isLimit }, at)
}

interface Failure {
  readonly text: string
  readonly message: string
  readonly hint: string
  readonly line?: number | undefined
  readonly isLimit?: boolean
}

async function failure(key: 'when' | 'for_each', said: Failure, { node, run }: StepOfRun): Promise<BatonError> {
  const { text, message, hint, line, isLimit = false } = said
  const written = await writtenText(run.target.spec.document, ['workflow', 'step', node.step.index, key], text)
  const place = lineInText(written, line)
  return new BatonError(isLimit ? 'LIMIT' : 'SCRIPT_FAILED', `${key} ${message}`, { hint, place })
}

/** A running workflow: what all its steps share. */
export interface WorkflowRun {
  readonly graph: Graph
  readonly target: PromptTarget
  readonly request: Request
  readonly expressions: Expressions
  readonly filesOf: (settings: Settings) => Promise<FileSet>
  /** The same for a different workspace, that of the context. */
  readonly filesIn: (settings: Settings, context: RunContext) => Promise<FileSet>
  /** The maximum of concurrent steps, and of concurrent items of a step without its own limit. */
  readonly limit: number
  /** How the steps ended, by id; filled while the workflow runs. */
  readonly ends: Map<string, StepEnd>
  /** The step whose answer is that of the file; undefined if there are several, or it has items. */
  readonly answering: string | undefined
}

/** A step that is about to run, with what all its items share. */
interface PreparedStep {
  readonly node: StepNode
  readonly run: WorkflowRun
  /** Its agent and its fallbacks; undefined is the main agent. */
  readonly agents: readonly (ChainAgent | undefined)[]
  /** How the main agent is called; undefined: it is not. */
  readonly main:
    | { readonly settings: Settings; readonly params: JsonObject; readonly output: OutputSchema | undefined }
    | undefined
  /** The inputs of its boundary besides its input value. */
  readonly definition: { readonly [name: string]: unknown }
  readonly render: (key: Template, item: Item, signal: AbortSignal) => Promise<string>
}

type Template = 'input' | 'instructions' | 'label'

/** The names available to templates and expressions without an item. */
function visibleTo({ ancestors }: StepNode, { request, ends }: WorkflowRun): JsonObject {
  const { params, input, instruction, stdin = null } = request
  return { steps: stepsTable(ancestors, ends), params, input, instruction, stdin }
}

async function prepareStep(node: StepNode, run: WorkflowRun): Promise<PreparedStep> {
  const { step } = node
  const { target, request } = run
  const names = [step.agent, ...step.fallback]
  const agents = await Promise.all(
    names.map(async (name) => (name === undefined ? undefined : target.findAgent({ name }))),
  )
  const hasOptions = Object.keys(step.options).length > 0
  const params = hasOptions ? { ...request.params, ...step.options } : request.params
  const settings = step.agent === undefined ? target.settingsFor(params) : undefined
  const output = run.answering === step.id ? target.output : undefined
  return {
    node,
    run,
    agents,
    main: settings && { settings, params, output },
    definition: {
      agents: Object.freeze(
        agents.map((agent) => (agent === undefined ? null : { name: agent.name, text: agent.text })),
      ),
      options: step.options,
      settings: settings && Object.freeze(decidingSettings(settings)),
    },
    render: await createRender(node, run),
  }
}

/** Without the workflow, because each step is an input only of itself. */
function decidingSettings(settings: Settings): JsonObject {
  const { workflow: _, ...others } = withoutLimits(settings as unknown as JsonObject)
  return others
}

/** Passes a template only the data that it names: outputs of other steps may be large, and there may be many items. */
async function createRender(node: StepNode, run: WorkflowRun): Promise<PreparedStep['render']> {
  const { step } = node
  const written = (['input', 'instructions', 'label'] as const).filter((key) => step[key] !== undefined)
  const templates = new Map(
    await Promise.all(written.map(async (key) => [key, await openText(key, node, run)] as const)),
  )
  return async (key, item, signal) => {
    const template = templates.get(key)
    if (template === undefined) return ''
    const { text, place, data } = template
    const seen = item === undefined ? data : { ...data, item: item.value, index: item.index }
    return renderTemplate(text, seen, { place, signal, tables: 'as text' })
  }
}

async function openText(key: Template, node: StepNode, run: WorkflowRun) {
  const { step, ancestors } = node
  const text = step[key] ?? ''
  const { paths } = await loadTemplates()
  const named = paths(text).filter(({ parts: [root] }) => root === undefined || root === 'steps')
  const isWhole = named.some(({ parts }) => parts.length < 2)
  const ids = isWhole ? ancestors : new Set(named.map(({ parts: [, id = ''] }) => id))
  const { place, start } = await writtenText(run.target.spec.document, ['workflow', 'step', step.index, key], text)
  return { text, place: start ?? place, data: { ...visibleTo(node, run), steps: stepsTable(ids, run.ends) } }
}
