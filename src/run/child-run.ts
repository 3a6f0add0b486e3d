import type { AgentParts } from '../agent/parts.ts'
import { emptyResult } from '../agent/result.ts'
import { BatonError } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import type { Json } from '../base/json.ts'
import { mapLimit } from '../base/limit.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import type { AgentResult, PromptAgent, PromptInput, PromptRequest } from '../event/agent.ts'
import { givenWithoutLimits } from '../event/limits.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import { type ChildAnswer, childAnswer } from './child-answer.ts'
import type { ChildSurroundings } from './child-target.ts'
import { childVariables } from './child-variables.ts'
import { withOwnMeter } from './own-meter.ts'
import { runPrompt } from './prompt-run.ts'
import type { PromptTarget } from './prompt-target.ts'

/**
 * The function that runs prompt files as agents: below the place of the caller, with its budget, signal and events, and
 * without transcript. Each is loaded once per run and content.
 */
export function createPromptRunner(around: ChildSurroundings): AgentParts['runPromptFile'] {
  const loaded = new Map<string, Promise<PromptTarget>>()

  function load(agent: PromptAgent, context: RunContext): Promise<PromptTarget> {
    const key = `${agent.file}\n${sha256(agent.text)}`
    const known = loaded.get(key)
    if (known !== undefined) return known
    const target = loadChild(agent, around, context)
    loaded.set(key, target)
    // what was missing may be there at the next call
    target.catch(() => loaded.delete(key))
    return target
  }

  return async (request, context) => runChildPrompt(request, await load(request.agent, context), context)
}

async function loadChild(
  { name, file }: PromptAgent,
  around: ChildSurroundings,
  context: RunContext,
): Promise<PromptTarget> {
  // what only prompt files need (schemas, TOML) is not loaded for scripts
  const [{ loadPromptTarget }, { childTargetOptions, keysWithoutEffect }] = await Promise.all([
    import('./prompt-target.ts'),
    import('./child-target.ts'),
  ])
  const target = await loadPromptTarget(childTargetOptions(file, around))
  const ignored = keysWithoutEffect(target)
  if (ignored.length > 0) {
    emit(context, {
      type: 'warning',
      message: `${ignored.join(', ')} in ${name} have no effect where it is run as an agent`,
      hint: 'Set them in the file that is run, or in a config file.',
    })
  }
  return target
}

async function runChildPrompt(
  { agent, inputs, options }: PromptRequest,
  loaded: PromptTarget,
  context: RunContext,
): Promise<AgentResult> {
  const { asChild } = await import('./child-target.ts')
  const mayWrite = context.mayWrite !== false
  const target = asChild(loaded, agent, { options, mayWrite, inherited: context.options })
  for (const { file } of target.agents) context.sources?.execute(file)
  if (loaded.settings.write_mode && !mayWrite) {
    const hint = 'Set write_mode = true in the file that runs it.'
    emit(context, { type: 'warning', message: `${agent.name} changes no files: the file that runs it may not`, hint })
  }

  const { context: metered, spent } = withOwnMeter(childContext(target, context))
  const limit = target.settings.input_concurrency
  const answers = await mapLimit(inputs, { limit, signal: context.signal }, (given, index, signal) => {
    const at = { ...metered, signal }
    if (inputs.length === 1) return runOnce({ agent, target, given }, at)
    const place = below(at, 'task', String(index))
    return place.effects.boundary(place.at, () => runOnce({ agent, target, given }, place), {
      inputs: givenWithoutLimits({ given, options, agent: agent.text }),
    })
  })
  const { usage, costUsd } = spent()
  return { ...resultOf(answers), usage, costUsd }
}

function childContext(target: PromptTarget, context: RunContext): RunContext {
  return {
    ...context,
    options: inheritedOptions(target.agentSettings, target.configSettings),
    redoCount: 0,
    mayWrite: target.settings.write_mode,
  }
}

interface Execution {
  readonly agent: PromptAgent
  readonly target: PromptTarget
  readonly given: PromptInput
}

async function runOnce({ agent, target: loaded, given }: Execution, context: RunContext): Promise<ChildAnswer> {
  const target = { ...loaded, vars: childVariables(loaded, given.variables, agent) }
  if (context.dry === 'req') {
    emit(context, { type: 'warning', message: `a dry run leaves out ${agent.name}: what comes after it may differ` })
    return { kind: 'skipped', reason: 'a dry run asks no model' }
  }
  // a budget of its own; those around it hold as well
  if (target.spec.frontMatter['budget'] !== undefined) context.limitBelow?.(context.at, target.settings.budget)
  const outcome = await runPrompt({ target, inputs: [], given, onOutcome: () => {} }, context)
  const answer = childAnswer(outcome)
  if (answer.kind !== 'failed') return answer
  throw new BatonError('TASK_FAILED', `every task of "${agent.name}" failed: ${answer.message}`, {
    place: { file: agent.file },
  })
}

function resultOf(answers: readonly ChildAnswer[]): AgentResult {
  const [first] = answers
  if (answers.length === 1 && first?.kind === 'skipped') {
    return { ...emptyResult, stopReason: 'skipped', outputs: [null], skipReason: first.reason }
  }
  const given = answers.filter((answer) => answer.kind === 'answer')
  const outputs = answers.map((answer): Json => (answer.kind === 'answer' ? (answer.value ?? answer.text) : null))
  return {
    ...emptyResult,
    text: given.map(({ text }) => text).join('\n\n'),
    outputs,
    afterAll: answers.length === 1 ? given[0]?.value : undefined,
  }
}
