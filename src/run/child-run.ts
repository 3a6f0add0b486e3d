import { hasOwnText } from '../base/model-text.ts'
import type { AgentParts } from '../agent/parts.ts'
import { mapSiblings } from '../base/concurrency.ts'
import { timeLimitOf, withTimeLimit } from '../agent/time-limit.ts'
import { BatonError } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import type { Json } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import type { PromptAgent, PromptInput, PromptRequest, PromptResult } from '../event/agent.ts'
import { below, emit, type RunContext, withServices } from '../event/context.ts'
import { sectionInputWithoutLimits } from '../event/limits.ts'
import type { Spent } from '../event/meter.ts'
import { task } from '../event/place.ts'
import type { ChildSurroundings } from '../load/child-target.ts'
import { type PromptOutcome, runPrompt } from './prompt-run.ts'
import { partialAnswer } from './ending.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import type { TaskOutcome } from './strategy.ts'
import type { Strategy } from './strategy.ts'

/**
 * Creates the function that runs prompt files as agents: below the place of the caller, with its budget, signal and
 * events, and without a transcript. Each file is loaded once per run and content.
 */
export function createPromptRunner(
  around: ChildSurroundings & { readonly strategies: readonly Strategy[] },
): AgentParts['runPromptFile'] {
  const load = createTargetLoader(around)
  const { strategies } = around
  return async (request, context) =>
    runChildPrompt(request, { loaded: await load(request.agent, context), strategies }, context)
}

/** Loads prompt files that are run as agents, each once per run and content. */
export function createTargetLoader(
  around: ChildSurroundings,
): (agent: PromptAgent, context: RunContext) => Promise<PromptTarget> {
  const loaded = new Map<string, Promise<PromptTarget>>()

  return (agent, context) => {
    const key = `${agent.file}\n${agent.defined === undefined ? '' : agent.name}\n${sha256(agent.text)}`
    const known = loaded.get(key)
    if (known !== undefined) return known
    const target = loadChild(agent, around, context)
    loaded.set(key, target)
    // a missing file may exist at the next call
    target.catch(() => loaded.delete(key))
    return target
  }
}

async function loadChild(agent: PromptAgent, around: ChildSurroundings, context: RunContext): Promise<PromptTarget> {
  // lazily, because scripts do not need the modules of prompt files (schemas, TOML)
  const [{ loadPromptTarget }, { childTargetOptions, keysWithoutEffect }] = await Promise.all([
    import('../load/prompt-target.ts'),
    import('../load/child-target.ts'),
  ])
  const target = await loadPromptTarget(childTargetOptions(agent, around))
  await around.onLoad?.(target)
  const ignored = keysWithoutEffect(target)
  if (ignored.length > 0) {
    emit(context, {
      type: 'warning',
      message: `${ignored.join(', ')} in ${agent.name} have no effect if it is run as an agent`,
      hint: 'Set them in the file that is run, or in a config file.',
    })
  }
  return target
}

async function runChildPrompt(
  { agent, inputs, options, maxTurns }: PromptRequest<PromptAgent>,
  { loaded, strategies }: { readonly loaded: PromptTarget; readonly strategies: readonly Strategy[] },
  context: RunContext,
): Promise<PromptResult> {
  const { asChild, childContext, childTimeMs } = await import('../load/child-target.ts')
  const { scope, services } = context
  const target = withTurns(asChild(loaded, agent, { options, inherited: scope.options }), maxTurns)
  for (const { file } of target.agents) services.sources.execute(file)
  if (loaded.settings.write_mode && !scope.rights.write) {
    const hint = 'Set write_mode = true in the file that runs it.'
    emit(context, {
      type: 'warning',
      message: `${agent.name} cannot change files, because the file that runs it may not`,
      hint,
    })
  }
  if (target.settings.tools !== undefined) {
    const { warnOfWithheldTools } = await import('../agent/tool-names.ts')
    warnOfWithheldTools(target.settings, agent.name, context)
  }

  const child = childContext(target, context)
  const limit = target.settings.input_concurrency
  const time = timeLimitOf({ own: childTimeMs(target, options), whose: `agent "${agent.name}"` }, context)
  const { value: answers, spent } = await services.meter.measure(scope.at, () =>
    withTimeLimit(time, child, (timed) =>
      mapSiblings(inputs, { limit, signal: timed.services.signal }, (given, index, signal) => {
        const at = withServices(timed, { signal })
        if (inputs.length === 1) return runOnce({ agent, target, strategies, given }, at)
        const place = below(at, task(index))
        return services.effects.boundary(place.scope.at, () => runOnce({ agent, target, strategies, given }, place), {
          inputs: sectionInputWithoutLimits({ given, options, agent: agent.text }),
          ownInputs: hasOwnText(agent.text) ? ['agent'] : [],
        })
      }),
    ),
  )
  return resultOf(answers, spent)
}

/** Its model is called at most as often as its caller allows. */
function withTurns(target: PromptTarget, maxTurns: number | undefined): PromptTarget {
  if (maxTurns === undefined) return target
  const limited = (settings: Settings): Settings => ({
    ...settings,
    max_turns: Math.min(settings.max_turns ?? maxTurns, maxTurns),
  })
  return {
    ...target,
    settings: limited(target.settings),
    settingsFor: (params) => limited(target.settingsFor(params)),
  }
}

interface Execution {
  readonly agent: PromptAgent
  readonly target: PromptTarget
  readonly strategies: readonly Strategy[]
  readonly given: PromptInput
}

async function runOnce(
  { agent, target: loaded, strategies, given }: Execution,
  context: RunContext,
): Promise<ChildAnswer> {
  const { childVariables } = await import('../load/child-target.ts')
  const target = { ...loaded, vars: childVariables(loaded, given.variables, agent) }
  if (context.scope.dry === 'req') {
    emit(context, { type: 'warning', message: `a dry run skips ${agent.name}, so later steps may differ` })
    return { kind: 'skipped', reason: 'a dry run calls no model' }
  }
  // its own budget; the enclosing ones apply as well
  const hasBudget = target.spec.frontMatter['budget'] !== undefined
  if (hasBudget) context.services.limitCost(context.scope.at, target.settings.budget)
  const outcome = await runPrompt({ target, strategies, inputs: [], given, onOutcome: () => {} }, context)
  if (outcome.status === 'suspended') throw outcome.error
  const unmet = outcome.status === 'done' ? outcome.repeated?.unmet : undefined
  if (unmet !== undefined) throw unmet.error
  // its caller expects the whole answer
  const partial = outcome.status === 'done' ? partialAnswer(outcome.outcomes, target.spec.document) : undefined
  if (partial !== undefined) throw partial
  const answer = childAnswer(outcome)
  if (answer.kind !== 'failed') return answer
  throw new BatonError('TASK_FAILED', `every task of "${agent.name}" failed: ${answer.message}`, {
    place: { file: agent.file },
  })
}

function resultOf(answers: readonly ChildAnswer[], spent: Spent): PromptResult {
  const [first] = answers
  if (answers.length === 1 && first?.kind === 'skipped') {
    return { kind: 'prompt', end: 'skipped', reason: first.reason, spent }
  }
  const given = answers.filter((answer) => answer.kind === 'answer')
  return {
    kind: 'prompt',
    end: 'done',
    text: given.map(({ text }) => text).join('\n\n'),
    outputs: answers.map((answer): Json => (answer.kind === 'answer' ? (answer.value ?? answer.text) : null)),
    value: answers.length === 1 ? given[0]?.value : undefined,
    spent,
  }
}

/** The result of running a prompt file, for its caller. Plain JSON, because it is recorded. */
type ChildAnswer =
  /** `value` if the file has `[output]`; for several tasks, the list of their values. */
  | { readonly kind: 'answer'; readonly text: string; readonly value?: Json }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** `message` is that of the first failed task. */
  | { readonly kind: 'failed'; readonly message: string }

/**
 * The final answers of a run, joined by a blank line. Failed tasks are omitted if the file allows them; if no answer is
 * left, the run failed.
 */
function childAnswer(outcome: Exclude<PromptOutcome, { readonly status: 'suspended' }>): ChildAnswer {
  if (outcome.status === 'skipped') return { kind: 'skipped', reason: outcome.reason }
  const done = outcome.outcomes.filter((task) => task.status === 'done')
  if (done.length === 0) return nothingDone(outcome.outcomes)
  const values = done.flatMap(({ value }) => (value === undefined ? [] : [value]))
  const value = done.length === 1 ? values[0] : values
  return {
    kind: 'answer',
    text: done.map(({ content }) => content).join('\n\n'),
    ...(values.length === 0 || value === undefined ? {} : { value }),
  }
}

function nothingDone(outcomes: readonly TaskOutcome[]): ChildAnswer {
  const failed = outcomes.find((task) => task.status === 'failed')
  if (failed !== undefined) return { kind: 'failed', message: failed.error.message }
  const skipped = outcomes.find((task) => task.status === 'skipped')
  return { kind: 'skipped', reason: skipped?.reason ?? 'it had nothing to do' }
}
