import { resolve } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { createAgentExecutor } from '../agent/executor.ts'
import { holdToPack } from '../agent/hold-to-pack.ts'
import type { Plugins } from '../agent/plugins/plugin.ts'
import { defined } from '../base/json.ts'
import { manyListeners } from '../base/concurrency.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import { aipackBaseFolder, userFolders, whyNoWorkspace } from '../config/locate.ts'
import { sandboxMode, type Settings } from '../config/settings.ts'
import type { Bus } from '../event/bus.ts'
import {
  rootScope,
  type RunContext,
  type RunFolders,
  type RunScope,
  type RunServices,
  withServices,
} from '../event/context.ts'
import { decorate, type Effects, makesFile } from '../event/effects.ts'
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
import { secretsOf } from '../model/choice.ts'
import { packOfFile } from '../pack/granted.ts'
import { possibleAgentFiles } from '../pack/resolve.ts'
import type { SourceRecorder } from '../run/stored-sources.ts'
import type { Target } from '../load/target.ts'
import type { ProgramSecrets } from './program-secrets.ts'
import { createPermission } from '../tool/permission.ts'
import { toolRules, writtenRules } from '../tool/rule-list.ts'
import { createRunEffects, type EffectParts, type Past, recordShown, type Replay } from './run-effects.ts'
import { version } from '../version.ts'
import type { RunServers } from './run-servers.ts'
import type { Surroundings } from './conduct.ts'
import { agentParts } from './agent-parts.ts'

export interface RunParts extends Pick<
  Surroundings,
  'home' | 'env' | 'signal' | 'log' | 'isAttended' | 'mostOutageMs' | 'aipackBase'
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
  readonly past: Past | undefined
  readonly onRepeat: EffectParts['onRepeat']
  readonly approver?: EffectParts['approver']
  readonly servers: RunServers
  /** Masks the variables of programs that are found during the run. */
  readonly programs: ProgramSecrets
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
  const budgets = createPlacedBudgets(run.budget, target.settings.budget)
  const parts = agentParts(target, { ...run, signal, limitsCost: budgets.limitsCost })
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
        texts: keptTexts(journal),
        ...(run.folder === undefined ? {} : { ownFiles: { folder: run.folder, ...journal.mask } }),
        questions: asking?.questions,
        mcp: run.servers.ofRun,
        isRecordedTool: run.isRecordedTool,
        askPerson,
      }),
      async sample(params, at) {
        const options = { ...at.scope.options, ...(target.kind === 'agent' && target.flagOptions) }
        return (await import('../agent/sampling.ts')).sample({ params, options }, parts, at)
      },
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
      await (await import('../load/check-starts.ts')).checkStarts(target, { ...parts, checkTools })
    },
  }
}

function withTools(context: RunContext, { tools, functions }: Plugins): RunContext {
  return withServices(context, { broughtTools: tools, programFunctions: functions })
}

/** In a run that changes no files, planned changes are visible to later parts. */
async function withOverlay(context: RunContext, past: Past | undefined): Promise<RunContext> {
  const { createOverlay, notePlanned } = await import('../tool/changes/overlay.ts')
  const { services } = context
  const planned = createOverlay()
  notePlanned((await past?.planned()) ?? [], new Map(), { ...services, planned })
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
