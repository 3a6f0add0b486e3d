import { join, resolve } from 'node:path'
import { createAgentExecutor } from '../agent/executor.ts'
import { holdToPack } from '../agent/hold-to-pack.ts'
import { createModelChooser } from '../agent/models.ts'
import type { AgentParts } from '../agent/parts.ts'
import type { Plugins } from '../agent/plugins/plugin.ts'
import { defined } from '../base/json.ts'
import { bothReads } from '../base/reads.ts'
import { systemClock } from '../base/clock.ts'
import { createPool, manyListeners } from '../base/concurrency.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import { aipackBaseFolder, userFolders, whyNoWorkspace } from '../config/locate.ts'
import { sandboxMode, type Settings } from '../config/settings.ts'
import type { Bus } from '../event/bus.ts'
import { rootScope, withServices, type RunContext, type RunFolders, type RunScope } from '../event/context.ts'
import { makesFile } from '../event/effects.ts'
import type { AskPerson } from '../event/mcp.ts'
import type { Meter } from '../event/meter.ts'
import { placeText } from '../event/place.ts'
import type { RunBudget } from '../journal/budget.ts'
import { allRights, type Permission, type Rights, type ToolFilter } from '../event/permission.ts'
import { createSources, type RunSources } from '../event/sources.ts'
import type { EffectHook } from '../journal/effects.ts'
import { keptTexts } from '../journal/kept-texts.ts'
import { createOpenQuestions } from '../journal/open-questions.ts'
import { createPlacedBudgets } from '../journal/placed-budgets.ts'
import type { RunJournal } from '../journal/journal.ts'
import { worktreesFolder } from '../journal/worktrees.ts'
import { createMask, type LiveMask } from '../journal/secrets.ts'
import type { ModelTimeouts } from '../model/call.ts'
import { type CoolDown, createCoolDown } from '../model/cool-down.ts'
import type { PriceList } from '../model/prices.ts'
import { secretsOf } from '../model/choice.ts'
import { packOfFile } from '../pack/granted.ts'
import type { createChangeFinder } from '../pack/pack-status.ts'
import { possibleAgentFiles } from '../pack/resolve.ts'
import { resolveNamed } from '../run/definitions.ts'
import { pluginsOf } from '../run/check-mode.ts'
import { recordChoices } from '../run/model-choices.ts'
import type { SourceRecorder } from '../run/stored-sources.ts'
import { isSet, type Target } from '../run/target.ts'
import type { ProgramSecrets } from './program-secrets.ts'
import { createScriptLoader } from '../agent/script-loader.ts'
import { createPermission } from '../tool/permission.ts'
import { toolRules, writtenRules } from '../tool/rule-list.ts'
import { withoutChanges } from './without-changes.ts'
import { createRunEffects, type EffectParts, type Past, recordShown, type Replay } from './run-effects.ts'
import { version } from '../version.ts'
import type { RunServers } from './run-servers.ts'
import type { Surroundings } from './conduct.ts'

/** Model requests of this process that may be under way at once, over all runs. */
const modelPool = createPool(1024)

export interface RunParts extends Pick<Surroundings, 'home' | 'env' | 'signal' | 'log' | 'isAttended'> {
  readonly id: string
  /** Where it is recorded; left out: not on the disk. */
  readonly folder?: string
  readonly bus: Bus
  readonly journal: RunJournal
  readonly meter: Meter
  readonly budget: RunBudget
  readonly builtInDir: string
  readonly cwd: string
  readonly patienceMs: number
  readonly dry: RunScope['dry']
  readonly sources: SourceRecorder
  readonly onEffect: EffectParts['onEffect']
  /** Who else watches what effects change. */
  readonly hooks: readonly EffectHook[]
  readonly past: Past | undefined
  readonly onRepeat: EffectParts['onRepeat']
  readonly approver?: EffectParts['approver']
  readonly servers: RunServers
  /** Hides the variables of programs that are found on the way. */
  readonly programs: ProgramSecrets
  readonly askPerson?: AskPerson
  readonly onWaiting?: EffectParts['onWaiting'] & {}
  /** Set when a recorded run is run again without anything outside. */
  readonly replay: Replay | undefined
}

export interface WiredRun {
  /** What the target is run with: a prompt file of a pack is held to what that was granted. */
  readonly context: () => Promise<RunContext>
  /** Rejects when what the file starts cannot be asked or started, or has no price where dollars are limited. */
  readonly checkModels: () => Promise<void>
}

/** Hides the secrets of the environment and of the settings; `ofPacks`: of MCP servers of packs, by their full names. */
export async function maskFor(
  { settings }: Pick<Target, 'settings'>,
  env: RunParts['env'],
  ofPacks: NonNullable<Settings['mcp_servers']> = {},
): Promise<LiveMask> {
  const { mcp_servers: ofRun } = settings
  const all = ofRun === undefined && Object.keys(ofPacks).length === 0 ? undefined : { ...ofRun, ...ofPacks }
  return createMask(env, await secretsOf({ ...settings, mcp_servers: all }, env))
}

/** Makes the parts of a run and puts them together: the only place that knows all of them. */
export function wireRun(target: Target, run: RunParts): WiredRun {
  const { journal, bus, env, cwd, dry, log, builtInDir, askPerson } = run
  const { workspace } = target
  const stops = run.signal === undefined ? [journal.failure] : [journal.failure, run.signal]
  const signal = manyListeners(AbortSignal.any(stops))
  const budgets = createPlacedBudgets(run.budget, target.settings.budget)
  const parts = agentParts(target, { ...run, signal, limitsCost: budgets.limitsCost })
  const { packRoots, guard } = target
  const { dir: runs } = target.settings.runs
  const ownFolders = [...userFolders(run), ...(runs === undefined ? [] : [runs])]
  const closed = whyNoWorkspace(workspace, run.home)
  const aipackBase = aipackBaseFolder(run)
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
      now: () => new Date(),
      signal,
      env,
      ...defined({
        reads: log,
        texts: keptTexts(journal),
        ...(run.folder === undefined ? {} : { ownFiles: { folder: run.folder, ...journal.mask } }),
        questions: asking?.questions,
        mcp: run.servers.ofRun,
        askPerson,
      }),
      async sample(params, at) {
        const options = { ...at.scope.options, ...(target.kind === 'agent' && target.flagOptions) }
        return (await import('../agent/sampling.ts')).sample({ params, options }, parts, at)
      },
      sources,
      definitions: async () => (await target.definitions()).byName,
    },
  }
  async function checkTools(named: ToolFilter, file: string): Promise<void> {
    const [{ chosenTools }, { boxableTools }] = await Promise.all([
      import('../tool/toolbox/chosen.ts'),
      import('../tool/sandbox/needs-box.ts'),
    ])
    await boxableTools(chosenTools(named, context), named, context)
    // a resumed run and a replay have the lists of servers from their record
    if (run.past !== undefined || run.replay !== undefined) return
    const mcp = await run.servers.of(packOfFile(file, packRoots))
    if (mcp !== undefined) await (await import('../mcp/tools.ts')).checkServers(named, withServices(context, { mcp }))
  }
  return {
    async context() {
      const usual = dry === 'changes' ? await withOverlay(context, run.past) : context
      const given = parts.plugins === undefined ? usual : withTools(usual, await parts.plugins())
      return target.kind === 'prompt' && target.spec.source === 'file' ? holdToPack(target.spec, parts, given) : given
    },
    async checkModels() {
      if (dry === 'req') return
      if (rights.sandbox?.scripts === true) {
        await (await import('../tool/sandbox/needs-box.ts')).refuseWithoutBox(context)
      }
      if (target.kind === 'agent') return
      await (await import('../run/check-starts.ts')).checkStarts(target, { ...parts, checkTools })
    },
  }
}

function withTools(context: RunContext, { tools, functions }: Plugins): RunContext {
  return withServices(context, { broughtTools: tools, programFunctions: functions })
}

/** What is planned is seen by later parts of a run that changes no file. */
async function withOverlay(context: RunContext, past: Past | undefined): Promise<RunContext> {
  const { createOverlay, notePlanned } = await import('../tool/changes/overlay.ts')
  const { services } = context
  const planned = createOverlay()
  notePlanned((await past?.planned()) ?? [], new Map(), { ...services, planned })
  return withServices(context, { planned })
}

/** Notes which files the run makes: its answers may change them without having been shown them. */
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

/** Where the agents that a prompt file names are looked for, whether anything is there or not. */
function possibleFiles(target: Target): readonly string[] {
  if (target.kind !== 'prompt') return []
  const { workspace, packRoots, starts, spec } = target
  return starts.flatMap(({ agent: { name } }) =>
    [workspace, spec.promptDir].flatMap((baseDir) => possibleAgentFiles(name, { packRoots, baseDir })),
  )
}

function agentParts(
  target: Target,
  run: RunParts & Pick<AgentParts, 'limitsCost'> & { readonly signal: AbortSignal },
): AgentParts {
  const { settings } = target
  const { bus, builtInDir, cwd, home, env, patienceMs, signal, past, journal, replay, limitsCost, servers, programs } =
    run
  const { isAttended = false } = run
  const clock = systemClock
  const reads = bothReads(run.log, run.sources.reads)
  let prices: Promise<PriceList> | undefined
  let changed: Promise<ReturnType<typeof createChangeFinder>> | undefined
  let plugins: ReturnType<typeof pluginsOf> | undefined
  const recordedServers = replay?.mcp?.servers.map(({ name }) => name)
  const recordedOfPack = replay && ((pack: string) => replay.mcpOfPack?.(pack)?.servers.map(({ name }) => name))
  const flags = { overrides: target.overrides, ...defined({ recordedServers, recordedOfPack }) }
  const around = { cwd, home, env, builtInDir, reads, flags, onLoad: programs.addFrom }
  let promptRunner: Promise<AgentParts['runPromptFile']> | undefined
  let fileConverser: Promise<NonNullable<AgentParts['converseWithFile']>> | undefined
  const choose = createModelChooser({
    sources: { env, providers: settings.providers, gateway: settings.gateway, aliases: settings.model_aliases },
    prices: settings.prices,
    timeouts: timeoutsOf(settings),
    files: settings.model_files,
    tableFile: join(builtInDir, 'models.toml'),
    signal,
    isAttended,
    onNotice: (message) => bus.send([], { type: 'warning', message }),
  })
  return {
    async isChangedPack(pack) {
      // runs without packs do not load it
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
    retry: { policy: policyOf(settings), patienceMs, clock },
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

/** In a replay models are tried as they are written: the record says which of them was not asked. */
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
