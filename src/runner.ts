import { dirname } from 'node:path'
import { createAgentExecutor } from './agent/executor.ts'
import { createModelChooser } from './agent/models.ts'
import type { AgentParts } from './agent/parts.ts'
import { displayPath } from './base/files.ts'
import { sha256 } from './base/hash.ts'
import type { Json, JsonObject } from './base/json.ts'
import { createPool } from './base/limit.ts'
import { settingsFor } from './config/run-spec.ts'
import type { Settings } from './config/settings.ts'
import { createBus, type Bus, type Listener } from './event/bus.ts'
import type { RunContext } from './event/context.ts'
import { errorInfo } from './event/error-info.ts'
import type { RunStopReason } from './event/event.ts'
import { exitCodeOf } from './event/exit-code.ts'
import { addUsage, noUsage, type Usage } from './event/message.ts'
import { createEffects } from './journal/effects.ts'
import type { RunJournal } from './journal/journal.ts'
import { newRunId, runFolder } from './journal/run-id.ts'
import { createMask } from './journal/secrets.ts'
import { openRun } from './journal/store.ts'
import { join } from 'node:path'
import { resolveAgent } from './pack/resolve.ts'
import { packageRoot } from './package-root.ts'
import { type PromptOutcome, runPrompt } from './run/prompt-run.ts'
import { loadTarget, type Target } from './run/target.ts'
import { runTarget } from './run/target-run.ts'
import type { TaskOutcome } from './run/task.ts'
import { createScriptLoader } from './script-loader.ts'
import { createPathPolicy } from './tool/policy.ts'
import { version } from './version.ts'

export interface StartOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** `-i` values: one task for each. */
  readonly inputs?: readonly string[]
  /** `-m`: model of the main agent. */
  readonly model?: string
  /** `-c key=value`. */
  readonly overrides?: readonly string[]
  readonly signal?: AbortSignal
}

/** How a run ended. Never thrown: a run that fails has an `error` and the exit code of DESIGN 12. */
export interface RunReport {
  readonly runId: string
  readonly exitCode: number
  readonly stopReason: RunStopReason
  /** One for each task of a prompt file, in input order. */
  readonly tasks: readonly TaskOutcome[]
  /** Outputs of an agent that was run directly, in input order. */
  readonly outputs: readonly Json[]
  readonly usage: Usage
  readonly error?: unknown
  readonly skipped?: { readonly reason: string; readonly hint: string }
  /** Hides the secrets of this run's environment in a text. */
  readonly mask: (text: string) => string
}

/** Model requests of this process that may be under way at once, over all runs. */
const modelPool = createPool(256)

/**
 * Runs a prompt file or an agent to its end: loads and checks everything, opens the journal, runs, and closes.
 * `listener` gets every event synchronously; the last one is `run.completed` or `run.failed`.
 */
export async function startRun(file: string, options: StartOptions, listener: Listener): Promise<RunReport> {
  const now = (): Date => new Date()
  const runId = newRunId(now())
  const bus = createBus({ runId, now })
  bus.subscribe(listener)
  const builtInDir = join(packageRoot(), 'agents')
  let mask = createMask(options.env)
  let ending: Ending
  let usage = noUsage
  try {
    const flags = {
      overrides: options.overrides ?? [],
      ...(options.model === undefined ? {} : { model: options.model }),
    }
    const target = await loadTarget({ ...options, file, flags, builtInDir })
    mask = createMask(options.env, target.settings.secrets)
    announce(file, target, bus)
    const addToTotal = (call: Usage): Usage => (usage = addUsage(usage, call))
    ending = await runLoaded(target, { options, runId, bus, mask, builtInDir, addToTotal, now })
  } catch (error) {
    if (!bus.hasSent())
      bus.send([], {
        type: 'run.started',
        schema: 1,
        file,
        target: 'prompt',
        file_hash: null,
        version,
        config_warnings: [],
      })
    ending = { stopReason: stopReasonOf(error, options.signal), tasks: [], outputs: [], error }
  }
  const report = { runId, exitCode: exitCodeFor(ending), usage, mask: mask.mask, ...ending }
  finish(report, bus)
  return report
}

type Ending = Pick<RunReport, 'stopReason' | 'tasks' | 'outputs' | 'error' | 'skipped'>

interface Wiring {
  readonly options: StartOptions
  readonly runId: string
  readonly bus: Bus
  readonly mask: ReturnType<typeof createMask>
  readonly builtInDir: string
  readonly addToTotal: (call: Usage) => Usage
  readonly now: () => Date
}

async function runLoaded(target: Target, wiring: Wiring): Promise<Ending> {
  const { options, runId, mask, now } = wiring
  const { settings, workspace } = target
  const runsDir = settings.runs.dir === undefined ? {} : { runsDir: settings.runs.dir }
  const folder = runFolder({ env: options.env, home: options.home, workspace, runId, ...runsDir })
  const journal = await openRun({ folder, now, mask })
  try {
    recordStart(journal, target, runId)
    const ending = await execute(target, journal, wiring)
    journal.note({ k: 'run.end', exit: exitCodeFor(ending), stop: ending.stopReason })
    return ending
  } catch (error) {
    noteFailure(journal, error, options.signal)
    throw error
  } finally {
    await journal.close()
  }
}

function noteFailure(journal: RunJournal, error: unknown, signal: AbortSignal | undefined): void {
  if (journal.failure.aborted) return
  const stop = stopReasonOf(error, signal)
  journal.note({ k: 'run.end', exit: exitCodeFor({ stopReason: stop, tasks: [], outputs: [], error }), stop })
}

/** What the run executes is stored with it, so that a later resume uses the same (DESIGN 11 "Sources"). */
function recordStart(journal: RunJournal, target: Target, runId: string): void {
  const file = target.kind === 'prompt' ? target.spec.file : target.agent.file
  const hash = target.kind === 'prompt' ? target.spec.document.hash : sha256(target.agent.text)
  const pins = Object.fromEntries(target.agents.map(({ name, text }) => [name, sha256(text)]))
  journal.note({ k: 'run.start', run: runId, file, hash, version, pins })
  if (target.kind === 'prompt') {
    const { document, agents } = target.spec
    journal.note({
      k: 'source',
      name: 'prompt',
      path: file,
      hash,
      value: { meta: document.meta.data, instruction: document.instruction, agents: agents.map(({ entry }) => entry) },
    })
  }
  for (const { name, file: path, text } of target.agents)
    journal.note({ k: 'source', name, path, hash: sha256(text), value: text })
  journal.note({ k: 'source', name: 'config', path: '', hash: '', value: target.settings })
}

async function execute(target: Target, journal: RunJournal, wiring: Wiring): Promise<Ending> {
  const { options, runId, bus, builtInDir, addToTotal, now } = wiring
  const { workspace, settings } = target
  const signal = AbortSignal.any([journal.failure, ...(options.signal === undefined ? [] : [options.signal])])
  const parts: AgentParts = {
    scripts: createScriptLoader(settings.lua),
    chooseModel: createModelChooser({
      sources: {
        env: options.env,
        providers: settings.providers,
        gateway: settings.gateway,
        aliases: settings.model_aliases,
      },
      onNotice: (message) => bus.send([], { type: 'warning', message }),
    }),
    modelPool,
    findAgent: (name, baseDir) => resolveAgent(name, { baseDir, builtInDir }),
  }
  const promptDir = target.kind === 'prompt' ? [target.spec.promptDir] : []
  const context: RunContext = {
    runId,
    at: [],
    signal,
    workspace,
    effects: createEffects({ journal, signal }),
    policy: createPathPolicy({
      workspace,
      readable: [builtInDir, ...promptDir, ...target.agents.map(({ file }) => dirname(file))],
    }),
    agents: createAgentExecutor(parts),
    ancestors: [],
    options: agentOptions(target),
    meter: addToTotal,
    events: bus.send,
    now,
  }
  try {
    return target.kind === 'prompt'
      ? await executePrompt(target, context, options)
      : await executeAgent(target, context, options)
  } catch (error) {
    // a run that its journal stopped failed for that reason, whatever noticed it first
    if (journal.failure.aborted) throw journal.failure.reason
    throw error
  }
}

async function executePrompt(
  target: Extract<Target, { kind: 'prompt' }>,
  context: RunContext,
  { inputs = [] }: StartOptions,
): Promise<Ending> {
  const { spec, findAgent } = target
  const outcome = await runPrompt(
    {
      spec,
      inputs,
      services: { findAgent, checkParams: (params) => void settingsFor(spec, params) },
      onOutcome: (task, count) => {
        if (task.status === 'done')
          context.events([], { type: 'answer', index: task.index, count, label: task.label, text: task.content })
      },
    },
    context,
  )
  return promptEnding(outcome)
}

function promptEnding(outcome: PromptOutcome): Ending {
  if (outcome.status === 'skipped') {
    const { reason, hint } = outcome
    return { stopReason: 'skipped', tasks: [], outputs: [], skipped: { reason, hint } }
  }
  const failed = outcome.outcomes.some(({ status }) => status === 'failed')
  return { stopReason: failed ? 'error' : 'done', tasks: outcome.outcomes, outputs: [] }
}

async function executeAgent(
  target: Extract<Target, { kind: 'agent' }>,
  context: RunContext,
  { inputs = [] }: StartOptions,
): Promise<Ending> {
  const onOutput = (output: Json): void => context.events([], { type: 'output', output })
  const result = await runTarget({ agent: target.agent, inputs, onOutput }, context)
  const { outputs, skipReason } = result
  if (result.stopReason === 'skipped') {
    const skipped = {
      reason: skipReason ?? 'the agent skipped this run',
      hint: `See ${displayPath(context.workspace, target.agent.file)}.`,
    }
    return { stopReason: 'skipped', tasks: [], outputs, skipped }
  }
  return { stopReason: 'done', tasks: [], outputs }
}

/** Options that script agents start from; `-m` and `BATON_MODEL` are for the main agent only (DESIGN 3). */
function agentOptions(target: Target): JsonObject {
  const settings: Settings =
    target.kind === 'prompt' ? settingsFor(withoutFlags(target.spec), target.spec.params) : target.settings
  const { model, temperature, top_p, model_aliases, input_concurrency, allow_run_on_task_fail } = settings
  const given = { model, temperature, top_p, model_aliases, input_concurrency, allow_run_on_task_fail }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as JsonObject
}

function withoutFlags<T extends { readonly layers: { readonly above: readonly unknown[] } }>(spec: T): T {
  return { ...spec, layers: { ...spec.layers, above: [] } }
}

function announce(file: string, target: Target, bus: Bus): void {
  const isPrompt = target.kind === 'prompt'
  bus.send([], {
    type: 'run.started',
    schema: 1,
    file,
    target: target.kind,
    file_hash: isPrompt ? target.spec.document.hash : sha256(target.agent.text),
    version,
    config_warnings: isPrompt ? target.spec.warnings : [],
  })
}

function stopReasonOf(error: unknown, signal: AbortSignal | undefined): RunStopReason {
  if (signal?.aborted === true) return 'cancelled'
  return exitCodeOf(error) === 4 ? 'limit' : 'error'
}

function exitCodeFor({ stopReason, error }: Ending): number {
  switch (stopReason) {
    case 'done':
    case 'skipped':
      return 0
    case 'cancelled':
      return 130
    case 'limit':
    case 'error':
      return error === undefined ? 1 : exitCodeOf(error)
  }
}

function finish({ stopReason, exitCode, tasks, outputs, usage, error }: RunReport, bus: Bus): void {
  const answers = tasks.map((task) => (task.status === 'done' ? task.content : null))
  bus.send([], {
    type: exitCode === 0 ? 'run.completed' : 'run.failed',
    stop_reason: stopReason,
    exit_code: exitCode,
    result: answers.length === 1 ? (answers[0] ?? null) : null,
    outputs: tasks.length > 0 ? answers : outputs,
    usage,
    cost_usd: null,
    unpriced: [],
    permission_denials: [],
    repeated: [],
    ...(error === undefined ? {} : { error: errorInfo(error) }),
  })
}
