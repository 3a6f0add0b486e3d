import { dirname, join } from 'node:path'
import { createAgentExecutor } from './agent/executor.ts'
import { createModelChooser } from './agent/models.ts'
import { createPool, manyListeners } from './base/limit.ts'
import { pickAgentOptions } from './config/agent-options.ts'
import { aipackBaseFolder } from './config/locate.ts'
import { type Bus, createBus, type Listener } from './event/bus.ts'
import type { RunContext } from './event/context.ts'
import { addUsage, noUsage, type Usage } from './event/message.ts'
import { createEffects } from './journal/effects.ts'
import type { RunJournal } from './journal/journal.ts'
import { createMemoryJournal } from './journal/memory.ts'
import { isOnNetwork } from './journal/network.ts'
import { newRunId, runFolder } from './journal/run-id.ts'
import { createMask, type SecretMask } from './journal/secrets.ts'
import { openRun } from './journal/store.ts'
import { listPacks } from './pack/find-pack.ts'
import { resolveAgent } from './pack/resolve.ts'
import { packageRoot } from './package-root.ts'
import { type Ending, endingEvent, exitCodeFor, failedEnding } from './run/ending.ts'
import { execute } from './run/execute.ts'
import { type GivenInputs, refuseBoth, workingGlobs } from './run/inputs.ts'
import { hashOf, recordEnd, recordStart } from './run/record.ts'
import { loadTarget, type Target, type TargetOptions } from './run/target.ts'
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
  /** `-f` globs, relative to `cwd`: one task for each file. */
  readonly onFiles?: readonly string[]
  /** `--dry`: `req` calls no model, `res` leaves Output sections out. */
  readonly dry?: 'req' | 'res'
  /** `-m`: model of the main agent. */
  readonly model?: string
  /** `-c key=value`. */
  readonly overrides?: readonly string[]
  readonly signal?: AbortSignal
}

export interface RunReport extends Ending {
  readonly runId: string
  /** DESIGN 12. */
  readonly exitCode: number
  readonly usage: Usage
  /** Hides the secrets of this run's environment in a text. */
  readonly mask: (text: string) => string
}

/** Model requests of this process that may be under way at once, over all runs. */
const modelPool = createPool(256)

interface Run {
  readonly options: StartOptions
  readonly id: string
  readonly bus: Bus
  readonly mask: SecretMask
  readonly builtInDir: string
  readonly meter: (call: Usage) => Usage
  readonly finished: TaskOutcome[]
}

/**
 * Runs a prompt file or an agent to its end: loads and checks everything, opens the journal, runs, and closes.
 * `listener` gets every event synchronously; the last one is `run.completed` or `run.failed`. Never rejects for what
 * goes wrong with the run: the report says it.
 */
export async function startRun(file: string, options: StartOptions, listener: Listener): Promise<RunReport> {
  const id = newRunId(new Date())
  let mask = createMask(options.env)
  const bus = createBus({ runId: id, now: () => new Date(), hide: (text) => mask.hide(text) })
  bus.subscribe(listener)
  const builtInDir = join(packageRoot(), 'agents')
  let usage = noUsage
  let ending: Ending
  const finished: TaskOutcome[] = []
  try {
    const inputs = inputsOf(options)
    refuseBoth(inputs)
    const flags = {
      overrides: options.overrides ?? [],
      ...(options.model === undefined ? {} : { model: options.model }),
    }
    const target = await loadWithFiles({ ...options, file, flags, builtInDir }, inputs)
    mask = createMask(options.env, target.settings.secrets)
    sendStart(file, target, bus)
    const meter = (call: Usage): Usage => (usage = addUsage(usage, call))
    ending = await runTargetWithJournal(target, { options, id, bus, mask, builtInDir, meter, finished })
  } catch (error) {
    if (!bus.hasSent()) sendStart(file, undefined, bus)
    ending = failedEnding(error, options.signal, finished)
  }
  bus.send([], endingEvent(ending, usage))
  return { ...ending, runId: id, exitCode: exitCodeFor(ending), usage, mask: mask.hide }
}

/** `-f` is `working_globs` of a prompt file, and says where they start only once its `base_dir` is known. */
async function loadWithFiles(options: TargetOptions, inputs: GivenInputs): Promise<Target> {
  const target = await loadTarget(options)
  if (target.kind === 'agent' || inputs.globs.length === 0) return target
  const overrides = [...options.flags.overrides, workingGlobs(inputs, target.settings.base_dir)]
  return loadTarget({ ...options, flags: { ...options.flags, overrides } })
}

function sendStart(file: string, target: Target | undefined, bus: Bus): void {
  bus.send([], {
    type: 'run.started',
    schema: 1,
    file,
    target: target?.kind ?? 'prompt',
    file_hash: target === undefined ? null : hashOf(target),
    version,
    config_warnings: target?.kind === 'prompt' ? target.spec.warnings : [],
  })
}

async function runTargetWithJournal(target: Target, run: Run): Promise<Ending> {
  const { env, home, signal } = run.options
  const runsDir = target.settings.runs.dir
  const folder = runFolder({
    env,
    home,
    workspace: target.workspace,
    runId: run.id,
    ...(runsDir === undefined ? {} : { runsDir }),
  })
  const journal = await openJournal(folder, run)
  try {
    recordStart(journal, target, { id: run.id, version })
    const ending = await execute(target, inputsOf(run.options), {
      context: createContext(target, journal, run),
      finished: run.finished,
    })
    recordEnd(journal, ending)
    return ending
  } catch (error) {
    // a run that its journal stopped failed for that reason, whatever noticed it first
    const reason: unknown = journal.failure.aborted ? journal.failure.reason : error
    recordEnd(journal, failedEnding(reason, signal))
    throw reason
  } finally {
    await journal.close()
  }
}

async function openJournal(folder: string, { bus, mask }: Run): Promise<RunJournal> {
  const now = (): Date => new Date()
  if (!isOnNetwork(folder)) return openRun({ folder, now, mask })
  bus.send([], {
    type: 'warning',
    message: `${folder} is on a network file system: this run is not recorded and cannot be resumed`,
    hint: 'Set [runs] dir in your config file to a local folder.',
  })
  return createMemoryJournal({ now, mask })
}

/** Makes the parts and puts them together: the only place that knows all of them. */
function createContext(target: Target, journal: RunJournal, { options, id, bus, builtInDir, meter }: Run): RunContext {
  const { workspace, settings } = target
  const { env, signal: stop } = options
  const signal = manyListeners(AbortSignal.any([journal.failure, ...(stop === undefined ? [] : [stop])]))
  const executor = createAgentExecutor({
    scripts: createScriptLoader(settings.lua),
    chooseModel: createModelChooser({
      sources: { env, providers: settings.providers, gateway: settings.gateway, aliases: settings.model_aliases },
      onNotice: (message) => bus.send([], { type: 'warning', message }),
    }),
    modelPool,
    findAgent: (name, baseDir) => resolveAgent(name, { baseDir, builtInDir, packRoots: target.packRoots }),
  })
  const places = { packRoots: target.packRoots, aipackBase: aipackBaseFolder(options), builtInDir }
  const agentFolders = target.agents.map(({ file }) => dirname(file))
  const promptFolder = target.kind === 'prompt' ? [target.spec.promptDir] : []
  return {
    runId: id,
    at: [],
    signal,
    workspace,
    effects: createEffects({ journal, signal }),
    policy: createPathPolicy({
      workspace,
      readable: [builtInDir, ...promptFolder, ...agentFolders],
      protectedPaths: [],
      aipackBase: places.aipackBase,
      packFolders: () => listPacks(places).map(({ dir }) => dir),
    }),
    agents: executor,
    ancestors: [],
    options: pickAgentOptions(target.agentSettings),
    configOptions: pickAgentOptions(target.configSettings),
    places,
    meter,
    events: bus.send,
    now: () => new Date(),
    version,
    surroundings: { cwd: options.cwd, env },
    ...(options.dry === undefined ? {} : { dry: options.dry }),
  }
}

function inputsOf({ inputs = [], onFiles = [], cwd }: StartOptions): GivenInputs {
  return { texts: inputs, globs: onFiles, cwd }
}
