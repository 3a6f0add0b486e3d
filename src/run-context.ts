import { dirname, join } from 'node:path'
import { createAgentExecutor } from './agent/executor.ts'
import { checkModelNames, fatalProblem, refuseUnpriced } from './agent/check-models.ts'
import { createModelChooser } from './agent/models.ts'
import type { AgentParts } from './agent/parts.ts'
import { systemClock } from './base/clock.ts'
import { createPool, manyListeners } from './base/limit.ts'
import { inheritedOptions } from './config/agent-options.ts'
import { aipackBaseFolder } from './config/locate.ts'
import type { Settings } from './config/settings.ts'
import type { Bus } from './event/bus.ts'
import type { RunContext } from './event/context.ts'
import type { Meter } from './event/meter.ts'
import { createSources } from './event/sources.ts'
import { createEffects } from './journal/effects.ts'
import { createBudget, type RunBudget } from './journal/run-budget.ts'
import type { RunJournal } from './journal/journal.ts'
import { createMask, type LiveMask } from './journal/secrets.ts'
import type { ModelTimeouts } from './model/call.ts'
import { createCoolDown } from './model/cool-down.ts'
import { costOfAnswer, costOfFailedCall } from './model/estimate.ts'
import type { PriceList } from './model/prices.ts'
import { secretsOf } from './model/secrets-of.ts'
import { listPacks } from './pack/find-pack.ts'
import { resolveAgent } from './pack/resolve.ts'
import { createPromptRunner } from './run/child-run.ts'
import { placeModelError } from './run/model-place.ts'
import type { SourceLog } from './run/source-log.ts'
import type { Target } from './run/target.ts'
import { createScriptLoader } from './script-loader.ts'
import { createPathPolicy } from './tool/policy.ts'
import { version } from './version.ts'

/** Model requests of this process that may be under way at once, over all runs. */
const modelPool = createPool(1024)

export interface RunParts {
  readonly id: string
  readonly bus: Bus
  readonly journal: RunJournal
  readonly meter: Meter
  readonly budget: RunBudget
  readonly builtInDir: string
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly patienceMs: number
  readonly dry: 'req' | 'res' | undefined
  readonly signal: AbortSignal | undefined
  /** Keeps what is read and changed. */
  readonly log: SourceLog | undefined
}

export interface WiredRun {
  readonly context: RunContext
  /** Rejects when a model that the main agent names cannot be asked, or has no price where dollars are limited. */
  readonly checkModels: () => Promise<void>
  /** Lowers the limits of what model calls may cost from now on; those of the run hold as well. */
  readonly limitBudget: (limits: Settings['budget']) => void
}

/** Hides the secrets of the environment and of the settings. */
export function maskFor({ settings }: Target, env: RunParts['env']): LiveMask {
  return createMask(env, secretsOf(settings, env))
}

/** Makes the parts of a run and puts them together: the only place that knows all of them. */
export function wireRun(target: Target, run: RunParts): WiredRun {
  const { journal, bus, builtInDir, env, cwd, dry, log } = run
  const { workspace } = target
  const stops = run.signal === undefined ? [journal.failure] : [journal.failure, run.signal]
  const signal = manyListeners(AbortSignal.any(stops))
  const parts = agentParts(target, { ...run, signal })
  let { budget } = run
  const places = { packRoots: target.packRoots, aipackBase: aipackBaseFolder(run), builtInDir }
  const effects = createEffects({
    journal,
    signal,
    budget: { reserve: (effect, at) => budget.reserve(effect, at) },
    costOf: ({ kind }, value) => (kind === 'model' ? costOfAnswer(value) : undefined),
    costOfFailure: ({ kind }, error) => (kind === 'model' ? costOfFailedCall(error) : undefined),
  })
  const context: RunContext = {
    runId: run.id,
    at: [],
    signal,
    workspace,
    effects: log?.around(effects, workspace) ?? effects,
    ...(log === undefined ? {} : { reads: log }),
    policy: createPathPolicy({
      workspace,
      readable: [builtInDir, ...ownFolders(target)],
      aipackBase: places.aipackBase,
      packFolders: () => listPacks(places).map(({ dir }) => dir),
    }),
    agents: createAgentExecutor(parts),
    sources: createSources(executedFiles(target)),
    ancestors: [],
    options: inheritedOptions(target.agentSettings, target.configSettings),
    configOptions: inheritedOptions(target.configSettings, target.configSettings),
    places,
    meter: run.meter.add,
    events: bus.send,
    now: () => new Date(),
    version,
    surroundings: { cwd, env },
    ...(target.kind === 'prompt' ? { mayWrite: target.settings.write_mode } : {}),
    ...(dry === undefined ? {} : { dry }),
  }
  return {
    context,
    checkModels: () => checkModels(target, { parts, dry }),
    limitBudget: (limits) => (budget = createBudget(limits, run.budget)),
  }
}

/** Without a name the model is chosen when it is asked; a limit in dollars has to know it now. */
async function checkModels(
  target: Target,
  { parts, dry }: { readonly parts: AgentParts; readonly dry: RunParts['dry'] },
): Promise<void> {
  if (target.kind === 'agent' || target.answerAgent !== undefined || dry === 'req') return
  const { settings, spec } = target
  // nothing is going to be asked
  if (spec.document.instruction.trim() === '' && spec.agents.length === 0) return
  const { usd, unpriced } = settings.budget
  const checked = await checkModelNames(settings, parts)
  const problem = fatalProblem(checked)
  if (problem !== undefined) throw await placeModelError(problem.error, problem.path, spec)
  if (usd === undefined || unpriced === 'allow') return
  const unnamed = settings.model === undefined ? [await parts.chooseModel(undefined)] : []
  await refuseUnpriced([...unnamed, ...checked.usable], parts)
}

function executedFiles(target: Target): readonly string[] {
  const agents = target.agents.map(({ file }) => file)
  return target.kind === 'prompt' && target.spec.source === 'file' ? [target.spec.file, ...agents] : agents
}

function ownFolders(target: Target): readonly string[] {
  const agents = target.agents.map(({ file }) => dirname(file))
  return target.kind === 'prompt' ? [target.spec.promptDir, ...agents] : agents
}

function agentParts(
  target: Target,
  { bus, builtInDir, cwd, home, env, patienceMs, signal, log: reads }: RunParts & { readonly signal: AbortSignal },
): AgentParts {
  const { settings } = target
  const clock = systemClock
  let prices: Promise<PriceList> | undefined
  return {
    scripts: createScriptLoader(settings.lua),
    chooseModel: createModelChooser({
      sources: { env, providers: settings.providers, gateway: settings.gateway, aliases: settings.model_aliases },
      timeouts: timeoutsOf(settings),
      tableFile: join(builtInDir, 'models.toml'),
      signal,
      onNotice: (message) => bus.send([], { type: 'warning', message }),
    }),
    modelPool,
    retry: { policy: policyOf(settings), patienceMs, clock },
    coolDown: createCoolDown({ clock }),
    prices: () => (prices ??= import('./model/prices.ts').then(({ loadPrices }) => loadPrices())),
    limitsCost: settings.budget.usd !== undefined,
    runPromptFile: createPromptRunner({ cwd, home, env, builtInDir, reads }),
    findAgent: (name, baseDir) => resolveAgent(name, { baseDir, builtInDir, packRoots: target.packRoots, reads }),
  }
}

function timeoutsOf({ timeouts }: Settings): ModelTimeouts {
  const { connect_ms: connectMs, headers_ms: headersMs, stream_idle_ms: streamIdleMs, request_ms: requestMs } = timeouts
  return { connectMs, headersMs, streamIdleMs, ...(requestMs === undefined ? {} : { requestMs }) }
}

function policyOf({ retry }: Settings): AgentParts['retry']['policy'] {
  return {
    maxAttempts: retry.max_attempts,
    initialBackoffMs: retry.initial_backoff_ms,
    maxBackoffMs: retry.max_backoff_ms,
    backoffMultiplier: retry.backoff_multiplier,
    jitterFactor: retry.jitter_factor,
  }
}
