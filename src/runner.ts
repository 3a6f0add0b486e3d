import { join } from 'node:path'
import { type Bus, createBus, type Listener } from './event/bus.ts'
import type { RunTotal } from './event/context.ts'
import { createMeter, type Meter } from './event/meter.ts'
import type { RunJournal } from './journal/journal.ts'
import { createMemoryJournal } from './journal/memory.ts'
import { isOnNetwork } from './journal/network.ts'
import { type BudgetLimits, createBudget, type RunBudget } from './journal/run-budget.ts'
import { newRunId, runFolder } from './journal/run-id.ts'
import { createMask, type SecretMask } from './journal/secrets.ts'
import { openRun } from './journal/store.ts'
import { packageRoot } from './package-root.ts'
import { type Ending, endingEvent, exitCodeFor, failedEnding } from './run/ending.ts'
import { execute } from './run/execute.ts'
import { type GivenInputs, refuseBoth, workingGlobs } from './run/inputs.ts'
import { hashOf, recordEnd, recordStart } from './run/record.ts'
import type { SourceLog } from './run/source-log.ts'
import { loadTarget, type Target, type TargetOptions, warningsOf } from './run/target.ts'
import type { TaskOutcome } from './run/task.ts'
import { maskFor, type RunParts, wireRun } from './run-context.ts'
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
  /** `-p`: the prompt itself; the name of the file then only names it in messages. */
  readonly text?: string
  /** `--var name=value`: values of the variables of `[input]`. */
  readonly vars?: readonly string[]
  /** `--output-schema`: a file with the JSON Schema of the answer, relative to `cwd`; wins over `[output]`. */
  readonly outputSchema?: string
  /** How long a call may wait for an overloaded host when no file says so, in milliseconds; 0 when left out. */
  readonly patienceMs?: number
  readonly signal?: AbortSignal
  /** Keeps what the run reads and changes, for who watches it. */
  readonly log?: SourceLog
  /** Makes the budget of the run from its limits; left out: what was spent before does not count. */
  readonly openBudget?: (limits: BudgetLimits) => RunBudget
}

/** `usage`, `costUsd` and `unpriced` are over all model calls of the run. */
export interface RunReport extends Ending, RunTotal {
  readonly runId: string
  /** DESIGN 12. */
  readonly exitCode: number
  /** Hides the secrets of this run's environment in a text. */
  readonly mask: (text: string) => string
}

interface Run {
  readonly options: StartOptions
  readonly id: string
  readonly bus: Bus
  readonly mask: SecretMask
  readonly builtInDir: string
  readonly meter: Meter
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
  const bus = createBus({
    runId: id,
    now: () => new Date(),
    hide: (text) => mask.hide(text),
    begun: (text) => mask.begun(text),
  })
  bus.subscribe(listener)
  const builtInDir = join(packageRoot(), 'agents')
  const meter = createMeter()
  let ending: Ending
  const finished: TaskOutcome[] = []
  try {
    const inputs = inputsOf(options)
    refuseBoth(inputs)
    const target = await loadWithFiles(
      { ...options, file, flags: flagsOf(options), builtInDir, reads: options.log },
      inputs,
    )
    mask = maskFor(target, options.env)
    sendStart(file, target, bus)
    ending = await runTargetWithJournal(target, { options, id, bus, mask, builtInDir, meter, finished })
  } catch (error) {
    if (!bus.hasSent()) sendStart(file, undefined, bus)
    ending = failedEnding(error, options.signal, finished)
  }
  const total = meter.total()
  bus.send([], endingEvent(ending, total))
  return { ...ending, runId: id, exitCode: exitCodeFor(ending), ...total, mask: mask.hide }
}

function flagsOf({ overrides = [], vars = [], model, outputSchema }: StartOptions): TargetOptions['flags'] {
  return {
    overrides,
    vars,
    ...(model === undefined ? {} : { model }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
  }
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
    config_warnings: target === undefined ? [] : warningsOf(target),
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
    const { context, checkModels, limitBudget } = wireRun(target, partsOf(target, journal, run))
    await checkModels()
    const ending = await execute(target, inputsOf(run.options), {
      context,
      finished: run.finished,
      hide: (text) => run.mask.hide(text),
      limitBudget,
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

function partsOf(target: Target, journal: RunJournal, { options, ...run }: Run): RunParts {
  const { cwd, env, home, dry, signal, patienceMs = 0, log, openBudget = createBudget } = options
  const { budget, retry } = target.settings
  return {
    ...run,
    journal,
    budget: openBudget(budget),
    cwd,
    home,
    env,
    dry,
    signal,
    log,
    patienceMs: retry.patience_ms ?? patienceMs,
  }
}

function inputsOf({ inputs = [], onFiles = [], cwd }: StartOptions): GivenInputs {
  return { texts: inputs, globs: onFiles, cwd }
}
