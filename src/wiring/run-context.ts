import { join, resolve } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { createAgentExecutor } from '../agent/executor.ts'
import { restrictToPack } from '../agent/restrict-to-pack.ts'
import type { Plugins } from '../agent/plugins/plugin.ts'
import { defined } from '../base/json.ts'
import { createPool, manyListeners } from '../base/concurrency.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import { aipackBaseFolder, userFolders, userPricesFile, whyNoWorkspace } from '../config/locate.ts'
import { sandboxMode, type Settings } from '../config/settings.ts'
import type { Bus } from '../event/bus.ts'
import {
  type EndedPrompt,
  rootScope,
  type RunContext,
  type RunFolders,
  type RunScope,
  type RunServices,
  withServices,
} from '../event/context.ts'
import { decorate, type Effects, makesFile } from '../event/effects.ts'
import { mostModelRequests } from '../event/limits.ts'
import type { AskPerson } from '../event/mcp.ts'
import type { Meter } from '../event/meter.ts'
import { type Place, placeText } from '../event/place.ts'
import type { RunBudget } from '../journal/budget.ts'
import { allRights, type Permission, type Rights, type ToolFilter } from '../event/permission.ts'
import { createSources, type RunSources } from '../event/sources.ts'
import type { EffectHook } from '../journal/effects.ts'
import { createOpenQuestions } from '../journal/open-questions.ts'
import type { PeriodBudget } from '../journal/period-budget.ts'
import { createPlacedBudgets } from '../journal/placed-budgets.ts'
import type { RunJournal } from '../journal/journal.ts'
import { openTextStore } from '../journal/text-store.ts'
import { worktreesFolder } from '../journal/worktrees.ts'
import { createMask, type LiveMask } from '../journal/secrets.ts'
import { secretsOf } from '../model/choice.ts'
import { packOfFile } from '../pack/granted.ts'
import { possibleAgentFiles } from '../pack/resolve.ts'
import type { SourceRecorder } from '../run/stored-sources.ts'
import { isSet, type Target } from '../load/target.ts'
import type { ProgramSecrets } from './program-secrets.ts'
import { createPermission } from '../tool/permission.ts'
import { toolRules, writtenRules } from '../tool/rule-list.ts'
import { createRunEffects, type EffectParts, type PreviousAttempts, recordShown, type Replay } from './run-effects.ts'
import { version } from '../version.ts'
import type { RunServers } from './run-servers.ts'
import type { Surroundings } from './conduct.ts'
import type { ModelChooserOptions } from '../agent/models.ts'
import type { BatchDesk } from '../agent/batches.ts'
import type { AgentParts } from '../agent/parts.ts'
import { bothReads } from '../base/reads.ts'
import type { ModelTimeouts } from '../model/call.ts'
import { type CoolDown, createCoolDown } from '../model/cool-down.ts'
import type { PriceList } from '../model/prices.ts'
import type { createChangeFinder } from '../pack/pack-status.ts'
import { resolveNamed } from '../load/definitions.ts'
import { pluginsOf } from '../load/check-mode.ts'
import { recordChoices } from '../run/model-choices.ts'
import { createScriptLoader } from '../agent/script-loader.ts'
import { strategies } from '../strategies/strategies.ts'

export interface RunParts extends Pick<
  Surroundings,
  'home' | 'env' | 'signal' | 'log' | 'isAttended' | 'mostOutageMs' | 'aipackBase' | 'calling'
> {
  readonly id: string
  /** The run folder; omitted if the run is not recorded on disk. */
  readonly folder?: string
  /** For the services of the run. */
  readonly portable: (text: string) => string
  readonly bus: Bus
  readonly journal: RunJournal
  readonly meter: Meter
  readonly budget: RunBudget
  /** What the runs of a day or a month may cost together. */
  readonly period?: PeriodBudget
  readonly builtInDir: string
  readonly cwd: string
  readonly patienceMs: number
  /** See `RunScope`. */
  readonly hasFormerRounds: boolean
  readonly dry: RunScope['dry']
  readonly sources: SourceRecorder
  readonly onEffect: EffectParts['onEffect']
  /** Further hooks on what effects change. */
  readonly hooks: readonly EffectHook[]
  readonly past: PreviousAttempts | undefined
  readonly onRepeat: EffectParts['onRepeat']
  /** An earlier process of the run has planned changes. */
  readonly onPlannedBefore: () => void
  readonly approver?: EffectParts['approver']
  readonly servers: RunServers
  /** Masks the variables of programs that are found during the run. */
  readonly programs: ProgramSecrets
  /** Masks a secret that is found during the run. */
  readonly onSecret: (name: string, value: string) => void
  readonly askPerson?: AskPerson
  readonly onWaiting?: EffectParts['onWaiting'] & {}
  /** See `Flags`. */
  readonly isRecordedTool?: ((name: string) => boolean) | undefined
  /** Set when a recorded run is replayed. */
  readonly replay: Replay | undefined
}

export interface WiredRun {
  /** The context to run the target with: a prompt file of a pack is restricted to the granted permissions. */
  readonly context: () => Promise<RunContext>
  /** Rejects if an agent or model that the file starts is unavailable, or has no price while dollars are limited. */
  readonly checkModels: () => Promise<void>
}

/** Masks the secrets of the environment and of the settings; `ofPacks`: MCP servers of packs, by full name. */
export async function maskFor(
  { settings }: Pick<Target, 'settings'>,
  env: RunParts['env'],
  ofPacks: NonNullable<Settings['mcp_servers']> = {},
): Promise<LiveMask> {
  const { mcp_servers: ofRun } = settings
  const all = ofRun === undefined && Object.keys(ofPacks).length === 0 ? undefined : { ...ofRun, ...ofPacks }
  return createMask(env, await secretsOf({ ...settings, mcp_servers: all }, env))
}

/** Creates the parts of a run and wires them: the only place that knows all of them. */
export function wireRun(target: Target, run: RunParts): WiredRun {
  const { journal, bus, env, cwd, dry, log, builtInDir, askPerson } = run
  const { workspace } = target
  const stops = run.signal === undefined ? [journal.failure] : [journal.failure, run.signal]
  const signal = manyListeners(AbortSignal.any(stops))
  const ofRun = createPlacedBudgets(run.budget, target.settings.budget)
  const budgets = run.period === undefined ? ofRun : { ...run.period.around(ofRun), limitsCost: () => true }
  let desk: Promise<BatchDesk> | undefined
  const batches = async (): Promise<BatchDesk> =>
    (desk ??= import('../agent/batches.ts').then(({ createBatchDesk }) =>
      createBatchDesk({ context, waitMs: target.settings.timeouts.batch_ms }),
    ))
  const sendsBatches = target.settings.batch === true && run.replay === undefined
  const parts = {
    ...agentParts(target, { ...run, signal, limitsCost: budgets.limitsCost }),
    ...(sendsBatches ? { batches } : {}),
  }
  const { packRoots, guard } = target
  const { dir: runs } = target.settings.runs
  const ownFolders = [...userFolders(run), ...(runs === undefined ? [] : [runs])]
  const closed = whyNoWorkspace(workspace, run.home)
  const { aipackBase = aipackBaseFolder(run) } = run
  const worktrees = run.folder === undefined ? {} : { worktrees: worktreesFolder(run.folder) }
  const placed = { workspace, closed, cwd, ...worktrees }
  const folders: RunFolders = { ...placed, packRoots, guard, aipackBase, ownFolders, builtInDir }
  const permissionOf = (rights: Rights): Permission => createPermission(rights, folders)
  const mode = target.kind === 'prompt' ? target.settings.write_mode : true
  const rights: Rights = {
    ...allRights,
    write: mode !== false,
    ...(mode === 'ask' ? { asks: true } : {}),
    rules: [toolRules(writtenRules(target.settings))],
    sandbox: { ...target.settings.sandbox, mode: sandboxMode(target.settings) },
  }
  const permission = permissionOf(rights)
  const noteUse: Parameters<typeof createSources>[1] = (at, { path, hash }) =>
    journal.note({ k: 'use', p: placeText(at), path, hash })
  const sources = createSources(executedFiles(target), noteUse, possibleFiles(target))
  for (const path of run.past?.madeFiles ?? []) sources.make(resolve(workspace, path))
  const hooks = [
    run.sources.hook(workspace),
    madeFilesHook(sources, workspace),
    ...(log === undefined ? [] : [log.hook(workspace)]),
    ...run.hooks,
  ]
  const asking = typeof run.approver === 'function' ? createOpenQuestions(run.approver) : undefined
  const recorded =
    run.replay?.effects.under(permission) ??
    createRunEffects({
      ...run,
      ...defined({ approver: asking?.approver }),
      approvalMs: target.settings.timeouts.approval_ms,
      ...(target.kind === 'prompt' ? { granted: target.granted } : {}),
      permission,
      budget: budgets,
      signal,
      events: bus.send,
      hooks,
    })
  const effects = dry === 'changes' ? withoutChanges(recorded, bus.send) : recorded
  const context: RunContext = {
    scope: rootScope({
      runId: run.id,
      version,
      folders,
      rights,
      options: inheritedOptions(target.agentSettings, target.configSettings),
      configOptions: {
        ...defined({ model: target.settings.model }),
        ...inheritedOptions(target.configSettings, target.configSettings),
      },
      ...defined({
        dry,
        openedChanges: target.settings.changes.allow,
        agentMs: target.settings.timeouts.agent_ms,
        compactAt: target.settings.compact_at,
        hasFormerRounds: run.hasFormerRounds ? (true as const) : undefined,
      }),
      modeOptions: { code: target.settings.code },
    }),
    services: {
      effects,
      agents: createAgentExecutor(parts),
      permission,
      permissionOf,
      limitCost: (at, limits) => budgets.limit(at, limits, run.past?.spentBelow(placeText(at))),
      leaseCost: (at, terms) => budgets.lease(at, terms, run.past?.spentBelow(placeText(at))),
      meter: run.meter,
      events: recordShown(journal, bus.send),
      portable: run.portable,
      now: () => new Date(),
      clock: run.replay === undefined ? systemClock : { ...systemClock, sleep: async () => {} },
      signal,
      env,
      ...defined({
        reads: log,
        texts: openTextStore(journal),
        ...(run.folder === undefined ? {} : { ownFiles: { folder: run.folder, ...journal.mask } }),
        questions: asking?.questions,
        mcp: run.servers.ofRun,
        isRecordedTool: run.isRecordedTool,
        askPerson,
        recordPrompt:
          run.replay === undefined
            ? (at: Place, ended: EndedPrompt) => void journal.note({ k: 'prompt', p: placeText(at), ...ended })
            : undefined,
      }),
      async sample(params, at) {
        const options = { ...at.scope.options, ...(target.kind === 'agent' && target.flagOptions) }
        return (await import('../agent/sampling.ts')).sample({ params, options }, parts, at)
      },
      ...(sendsBatches ? { batches: { open: async (...pieces) => (await batches()).open(...pieces) } } : {}),
      equip: async (...called) => (await import('../team/tools.ts')).equip(...called),
      sources,
      definitions: async () => (await target.definitions()).byName,
    },
  }
  async function checkTools(named: ToolFilter, file: string): Promise<void> {
    const [{ chosenTools }, { boxableTools }] = await Promise.all([
      import('../tool/toolbox/choose-tools.ts'),
      import('../tool/sandbox/needs-box.ts'),
    ])
    await boxableTools(chosenTools(named, context), named, context)
    // a resumed run and a replay take the tool lists of servers from their record
    if (run.past !== undefined || run.replay !== undefined) return
    const mcp = await run.servers.of(packOfFile(file, packRoots))
    if (mcp !== undefined) await (await import('../mcp/tools.ts')).checkServers(named, withServices(context, { mcp }))
  }
  return {
    async context() {
      const defaults = dry === 'changes' ? await withOverlay(context, run) : context
      const given = parts.plugins === undefined ? defaults : withTools(defaults, await parts.plugins())
      return target.kind === 'prompt' && target.spec.source === 'file'
        ? restrictToPack(target.spec, parts, given)
        : given
    },
    async checkModels() {
      if (dry === 'req') return
      if (rights.sandbox?.scripts === true) {
        await (await import('../tool/sandbox/needs-box.ts')).refuseWithoutBox(context)
      }
      if (target.kind === 'agent') return
      if (dry === undefined) await (await import('../run/check-writable.ts')).refuseUnwritable(target)
      await (await import('../load/check-starts.ts')).checkStarts(target, { ...parts, checkTools })
    },
  }
}

function withTools(context: RunContext, { tools, functions }: Plugins): RunContext {
  return withServices(context, { broughtTools: tools, programFunctions: functions })
}

/** In a run that changes no files, planned changes are visible to later parts. */
async function withOverlay(
  context: RunContext,
  { past, onPlannedBefore }: Pick<RunParts, 'past' | 'onPlannedBefore'>,
): Promise<RunContext> {
  const { createOverlay, notePlanned } = await import('../tool/changes/change-space.ts')
  const { services } = context
  const planned = createOverlay()
  const before = (await past?.planned()) ?? []
  if (before.length > 0) onPlannedBefore()
  notePlanned(before, new Map(), { ...services, planned })
  return withServices(context, { planned })
}

/** Tracks the files that the run creates: its answers may change them without having been shown them. */
function madeFilesHook(sources: RunSources, workspace: string): EffectHook {
  return {
    change(record, act) {
      act()
      if (makesFile(record, (path) => sources.made(resolve(workspace, path))))
        sources.make(resolve(workspace, record.path))
    },
  }
}

function executedFiles(target: Target): readonly string[] {
  const agents = target.agents.map(({ file }) => file)
  const { plugins = [] } = target.settings
  const files = [...agents, ...plugins]
  return target.kind === 'prompt' && target.spec.source === 'file' ? [target.spec.file, ...files] : files
}

/** Where the agents that a prompt file names are searched, whether the files exist or not. */
function possibleFiles(target: Target): readonly string[] {
  if (target.kind !== 'prompt') return []
  const { workspace, packRoots, starts, spec } = target
  return starts.flatMap(({ agent: { name } }) =>
    [workspace, spec.promptDir].flatMap((baseDir) => possibleAgentFiles(name, { packRoots, baseDir })),
  )
}

/**
 * The effects of a run that previews its file changes and makes none: each change is examined, reported in a warning,
 * and recorded as a read. The caller finds the files unchanged.
 */
function withoutChanges(effects: Effects, events: RunServices['events']): Effects {
  return decorate(effects, (inner) => ({
    changeFile(at, asked, plan, permit) {
      const look: typeof plan = (allow) => {
        if (plan(allow) !== undefined) {
          events(at, {
            type: 'warning',
            message: `not done in a dry run, and not previewed: ${asked.op} ${asked.path}`,
          })
        }
        return undefined
      }
      inner.changeFile(at, asked, look, permit)
      return false
    },
  }))
}

/** The slots of this process, for all of its runs. */
const ownSlots = createPool(mostModelRequests)

/** The parts that the agents of a run are built from. */
function agentParts(
  target: Target,
  run: RunParts & Pick<AgentParts, 'limitsCost'> & { readonly signal: AbortSignal },
): AgentParts {
  const { settings } = target
  const { bus, builtInDir, cwd, home, env, signal, past, journal, replay, limitsCost, servers, programs } = run
  const { isAttended = false } = run
  const clock = systemClock
  const reads = bothReads(run.log, run.sources.reads)
  const tableFile = join(builtInDir, 'models.toml')
  const priceFiles = { tableFile, updatedFile: userPricesFile({ env, home }) }
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
    tableFile,
    signal,
    isAttended,
    onKey: run.onSecret,
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
    modelPool: run.calling?.slots ?? ownSlots,
    retry: { policy: policyOf(settings), ...patienceOf(target, run), clock },
    reads,
    coolDown: replay === undefined ? (run.calling?.coolDown ?? createCoolDown({ clock })) : noCoolDown,
    prices: () => (prices ??= import('../model/prices.ts').then(({ loadPrices }) => loadPrices(priceFiles))),
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
const noCoolDown: CoolDown = { rest: () => undefined, isResting: () => false }

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
/** The same where nobody watches, and it was said that this is so: as long as a night. */
const unattendedMs = 8 * 3_600_000
const unattendedSpareMs = 10 * 60_000

/**
 * How long a call waits for a host: what `retry.patience` says, otherwise what the process offers. Explicit values for
 * the retries mean exactly these, so that there are no further ones for a host that fails, unless the run is to be left
 * alone.
 */
function patienceOf(
  target: Target,
  { patienceMs, isAttended, mostOutageMs = isAttended === true ? attendedOutageMs : Infinity }: RunParts,
): Pick<AgentParts['retry'], 'patienceMs' | 'outageMs' | 'spareOutageMs'> {
  const { retry, run } = target.settings
  const { patience_ms: own } = retry
  if (own !== undefined) return { patienceMs: own, outageMs: own }
  if (run?.unattended === true && isAttended !== true) {
    return { patienceMs: unattendedMs, outageMs: unattendedMs, spareOutageMs: unattendedSpareMs }
  }
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
