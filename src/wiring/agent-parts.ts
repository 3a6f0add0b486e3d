import { join } from 'node:path'
import type { ModelChooserOptions } from '../agent/models.ts'
import type { AgentParts } from '../agent/parts.ts'
import { defined } from '../base/json.ts'
import { bothReads } from '../base/reads.ts'
import { systemClock } from '../base/clock.ts'
import { createPool } from '../base/concurrency.ts'
import type { Settings } from '../config/settings.ts'
import type { ModelTimeouts } from '../model/call.ts'
import { type CoolDown, createCoolDown } from '../model/cool-down.ts'
import type { PriceList } from '../model/prices.ts'
import type { createChangeFinder } from '../pack/pack-status.ts'
import { resolveNamed } from '../load/definitions.ts'
import { pluginsOf } from '../load/check-mode.ts'
import { recordChoices } from '../run/model-choices.ts'
import { isSet, type Target } from '../load/target.ts'
import { createScriptLoader } from '../agent/script-loader.ts'
import type { RunParts } from './run-context.ts'
import { strategies } from '../strategies/strategies.ts'

/** Maximum number of concurrent model requests of this process, over all runs. */
const modelPool = createPool(1024)

/** The parts that the agents of a run are built from. */
export function agentParts(
  target: Target,
  run: RunParts & Pick<AgentParts, 'limitsCost'> & { readonly signal: AbortSignal },
): AgentParts {
  const { settings } = target
  const { bus, builtInDir, cwd, home, env, signal, past, journal, replay, limitsCost, servers, programs } = run
  const { isAttended = false } = run
  const clock = systemClock
  const reads = bothReads(run.log, run.sources.reads)
  let prices: Promise<PriceList> | undefined
  let changed: Promise<ReturnType<typeof createChangeFinder>> | undefined
  let plugins: ReturnType<typeof pluginsOf> | undefined
  const recordedServers = replay?.mcp?.servers.map(({ name }) => name)
  const recordedOfPack = replay && ((pack: string) => replay.mcpOfPack?.(pack)?.servers.map(({ name }) => name))
  const { isRecordedTool } = run
  const flags = { overrides: target.overrides, ...defined({ recordedServers, recordedOfPack, isRecordedTool }) }
  const around = { cwd, home, env, builtInDir, strategies, reads, flags, onLoad: programs.addFrom }
  let promptRunner: Promise<AgentParts['runPromptFile']> | undefined
  let fileConverser: Promise<NonNullable<AgentParts['converseWithFile']>> | undefined
  let chooser: Promise<AgentParts['chooseModel']> | undefined
  const chooserOptions = (): ModelChooserOptions => ({
    sources: { env, providers: settings.providers, gateway: settings.gateway, aliases: settings.model_aliases },
    prices: settings.prices,
    timeouts: timeoutsOf(settings),
    files: settings.model_files,
    tableFile: join(builtInDir, 'models.toml'),
    signal,
    isAttended,
    onNotice: (message) => bus.send([], { type: 'warning', message }),
  })
  const choose: AgentParts['chooseModel'] = async (name) => {
    // scripts do not call models
    chooser ??= import('../agent/models.ts').then((models) => models.createModelChooser(chooserOptions()))
    return (await chooser)(name)
  }
  return {
    async isChangedPack(pack) {
      // not loaded for runs without packs
      changed ??= import('../pack/pack-status.ts').then((packs) => packs.createChangeFinder())
      return (await changed)(pack)
    },
    agentRunsBefore: past?.agentRuns ?? 0,
    scripts: createScriptLoader(settings.lua, {
      ...(isSet(target, 'lua', 'memory_mb') && {
        onRoughLimit: (warning) => bus.send([], { type: 'warning', ...warning }),
      }),
    }),
    chooseModel: replay?.chooseModel ?? recordChoices(choose, { journal, aliases: settings.model_aliases }),
    modelPool,
    retry: { policy: policyOf(settings), ...patienceOf(target, run), clock },
    reads,
    coolDown: replay === undefined ? createCoolDown({ clock }) : restless,
    prices: () => (prices ??= import('../model/prices.ts').then(({ loadPrices }) => loadPrices())),
    limitsCost,
    ownPrices: settings.prices,
    ...defined({ openedChanges: settings.changes.allow }),
    runPromptFile: async (request, context) => {
      promptRunner ??= import('../run/child-run.ts').then(({ createPromptRunner }) => createPromptRunner(around))
      return (await promptRunner)(request, context)
    },
    async converseWithFile(request, context) {
      fileConverser ??= import('../run/converse-file.ts').then(({ createFileConverser }) => createFileConverser(around))
      return (await fileConverser)(request, context)
    },
    serversOf: servers.of,
    ...defined({ isRecordedTool }),
    ...(settings.plugins === undefined ? {} : { plugins: async () => (plugins ??= pluginsOf(settings, reads)) }),
    findAgent: (name, baseDir) =>
      programs.hidden(reads, (noted) =>
        resolveNamed(name, {
          baseDir,
          builtInDir,
          packRoots: target.packRoots,
          guard: target.guard,
          definitions: target.definitions,
          reads: noted,
        }),
      ),
  }
}

/** In a replay, models are tried in the order given: the record says which of them was skipped. */
const restless: CoolDown = { rest: () => undefined, isResting: () => false }

function timeoutsOf({ timeouts }: Settings): ModelTimeouts {
  const { connect_ms: connectMs, headers_ms: headersMs, stream_idle_ms: streamIdleMs, request_ms: requestMs } = timeouts
  return { connectMs, headersMs, streamIdleMs, ...defined({ requestMs }) }
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

/** How long a run with a person, or work that others can do without, waits for a host that cannot be reached or fails. */
const attendedOutageMs = 30_000

/**
 * How long a call waits for a host: what `retry.patience` says, otherwise what the process offers. Explicit values for
 * the retries mean exactly these, so that there are no further ones for a host that fails.
 */
function patienceOf(
  target: Target,
  { patienceMs, isAttended, mostOutageMs = isAttended === true ? attendedOutageMs : Infinity }: RunParts,
): Pick<AgentParts['retry'], 'patienceMs' | 'outageMs' | 'spareOutageMs'> {
  const { patience_ms: own } = target.settings.retry
  if (own !== undefined) return { patienceMs: own, outageMs: own }
  const isExplicit = policyKeys.some((key) => isSet(target, 'retry', key))
  const outageMs = isExplicit ? 0 : Math.min(patienceMs, mostOutageMs)
  return { patienceMs, outageMs, spareOutageMs: Math.min(outageMs, attendedOutageMs) }
}

const policyKeys = [
  'max_attempts',
  'initial_backoff_ms',
  'max_backoff_ms',
  'backoff_multiplier',
  'jitter_factor',
] as const satisfies readonly (keyof Settings['retry'])[]
