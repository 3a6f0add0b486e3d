import { join } from 'node:path'
import { createAgentExecutor } from '../agent/executor.ts'
import { checkModelNames, fatalProblem, refuseUnpriced } from '../agent/check-models.ts'
import { holdToPack } from '../agent/hold-to-pack.ts'
import { createModelChooser } from '../agent/models.ts'
import type { AgentParts } from '../agent/parts.ts'
import { bothReads } from '../base/reads.ts'
import { systemClock } from '../base/clock.ts'
import { createPool, manyListeners } from '../base/limit.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import { aipackBaseFolder } from '../config/locate.ts'
import type { Settings } from '../config/settings.ts'
import type { Bus } from '../event/bus.ts'
import type { RunContext } from '../event/context.ts'
import type { Meter } from '../event/meter.ts'
import { placeText } from '../event/effects.ts'
import { createSources } from '../event/sources.ts'
import { createPlacedBudgets } from '../journal/placed-budgets.ts'
import type { RunBudget } from '../journal/run-budget.ts'
import type { RunJournal } from '../journal/journal.ts'
import { createMask, type LiveMask } from '../journal/secrets.ts'
import type { ModelTimeouts } from '../model/call.ts'
import { type CoolDown, createCoolDown } from '../model/cool-down.ts'
import type { PriceList } from '../model/prices.ts'
import { secretsOf } from '../model/secrets-of.ts'
import { resolveAgent } from '../pack/resolve.ts'
import { recordChoices } from '../run/model-choices.ts'
import { placeModelError } from '../run/model-place.ts'
import type { SourceLog } from '../run/source-log.ts'
import type { SourceRecorder } from '../run/stored-sources.ts'
import type { Target } from '../run/target.ts'
import { createScriptLoader } from '../agent/script-loader.ts'
import { createPathPolicy } from '../tool/policy.ts'
import { createRunEffects, type Past, type ToldOfPast, recordShown, type Replay } from './run-effects.ts'
import { version } from '../version.ts'

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
  /** Keeps what the run is made of. */
  readonly sources: SourceRecorder
  /** Told when an effect begins, and how it ended. */
  readonly onEffect: () => void
  /** Set when the run goes on. */
  readonly past: Past | undefined
  /** Told of what is done again where the run goes on. */
  readonly onRepeat: ToldOfPast['onRepeat']
  /** Set when a recorded run is run again without anything outside. */
  readonly replay: Replay | undefined
}

export interface WiredRun {
  /** What the target is run with: a prompt file of a pack is held to what that was granted. */
  readonly context: () => Promise<RunContext>
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
  const budgets = createPlacedBudgets(run.budget, target.settings.budget)
  const parts = agentParts(target, { ...run, signal, limitsCost: budgets.limitsCost })
  const places = { packRoots: target.packRoots, aipackBase: aipackBaseFolder(run), builtInDir }
  const events = recordShown(journal, bus.send)
  const effects =
    run.replay?.effects ??
    createRunEffects({
      ...run,
      budget: budgets,
      signal,
      workspace,
      events: bus.send,
    })
  const context: RunContext = {
    runId: run.id,
    at: [],
    signal,
    workspace,
    effects,
    ...(log === undefined ? {} : { reads: log }),
    policy: createPathPolicy({ workspace, aipackBase: places.aipackBase }),
    agents: createAgentExecutor(parts),
    sources: createSources(executedFiles(target), (at, { path, hash }) =>
      journal.note({ k: 'use', p: placeText(at), path, hash }),
    ),
    ancestors: [],
    options: inheritedOptions(target.agentSettings, target.configSettings),
    configOptions: inheritedOptions(target.configSettings, target.configSettings),
    places,
    meter: run.meter.add,
    limitBelow: (at, limits) => budgets.limitPlace(at, limits, run.past?.spentBelow(placeText(at))),
    events,
    now: () => new Date(),
    version,
    surroundings: { cwd, env },
    ...(target.kind === 'prompt' ? { mayWrite: target.settings.write_mode } : {}),
    ...(dry === undefined ? {} : { dry }),
  }
  return {
    context: async () =>
      target.kind === 'prompt' && target.spec.source === 'file' ? holdToPack(target.spec, parts, context) : context,
    checkModels: () => checkModels(target, { parts, dry }),
    limitBudget: budgets.limitRun,
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

function agentParts(
  target: Target,
  {
    bus,
    builtInDir,
    cwd,
    home,
    env,
    patienceMs,
    signal,
    log,
    sources,
    past,
    journal,
    replay,
    limitsCost,
  }: RunParts & Pick<AgentParts, 'limitsCost'> & { readonly signal: AbortSignal },
): AgentParts {
  const { settings } = target
  const clock = systemClock
  const reads = bothReads(log, sources.reads)
  let prices: Promise<PriceList> | undefined
  let promptRunner: Promise<AgentParts['runPromptFile']> | undefined
  const choose = createModelChooser({
    sources: { env, providers: settings.providers, gateway: settings.gateway, aliases: settings.model_aliases },
    timeouts: timeoutsOf(settings),
    tableFile: join(builtInDir, 'models.toml'),
    signal,
    onNotice: (message) => bus.send([], { type: 'warning', message }),
  })
  return {
    agentRunsBefore: past?.agentRuns ?? 0,
    scripts: createScriptLoader(settings.lua),
    chooseModel: replay?.chooseModel ?? recordChoices(choose, { journal, aliases: settings.model_aliases }),
    modelPool,
    retry: { policy: policyOf(settings), patienceMs, clock },
    reads,
    coolDown: replay === undefined ? createCoolDown({ clock }) : restless,
    prices: () => (prices ??= import('../model/prices.ts').then(({ loadPrices }) => loadPrices())),
    limitsCost,
    runPromptFile: async (request, context) => {
      promptRunner ??= import('../run/child-run.ts').then(({ createPromptRunner }) =>
        createPromptRunner({ cwd, home, env, builtInDir, reads, flags: target }),
      )
      return (await promptRunner)(request, context)
    },
    findAgent: (name, baseDir) => resolveAgent(name, { baseDir, builtInDir, packRoots: target.packRoots, reads }),
  }
}

/** In a replay models are tried as they are written: the record says which of them was not asked. */
const restless: CoolDown = { rest: () => undefined, isResting: () => false }

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
