import { join } from 'node:path'
import { defined } from './base/json.ts'
import type { Listener } from './event/bus.ts'
import type { RunJournal } from './journal/journal.ts'
import { createMemoryJournal } from './journal/memory.ts'
import { isOnNetwork } from './journal/network.ts'
import { newRunId, runsFolder } from './journal/run-id.ts'
import { openRun } from './journal/store.ts'
import { conduct, type OpenParts, type RunPlan, type RunReport, type Surroundings } from './wiring/conduct.ts'
import { decidingVariables, factsOf, type Invocation, recordStart } from './run/record.ts'
import { createStoredSources } from './run/stored-sources.ts'
import { runFolders } from './wiring/load-run.ts'
import { version } from './version.ts'

export interface StartOptions extends Surroundings {
  readonly cwd: string
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
  /** Told the folder of the run's record, once it has begun. */
  readonly onRecord?: (folder: string) => void
  /** Changes what was loaded before it is run. */
  readonly prepare?: RunPlan['prepare']
  /** The folder that gets the run's record in place of the one that the settings say. */
  readonly runs?: string
  /** Opens the record in place of the usual one, with what stands in for everything outside. */
  readonly open?: RunPlan['open']
}

/** Runs a prompt file or an agent to its end; see `conduct`. */
export function startRun(file: string, options: StartOptions, listener: Listener): Promise<RunReport> {
  const id = newRunId(new Date())
  const invocation = invocationOf(file, options)
  const sources = createStoredSources()
  const { env, home, runs, open, prepare } = options
  return conduct(
    {
      id,
      invocation,
      sources,
      isResumed: false,
      ...defined({ prepare }),
      async open(target, parts) {
        if (open !== undefined) return open(target, parts)
        const { workspace, settings } = target
        const folder = join(runs ?? runsFolder({ env, home, workspace, runsDir: settings.runs.dir }), id)
        const journal = await openJournal(folder, parts)
        const folders = runFolders({ workspace, home })
        recordStart(journal, target, { id, version, facts: { ...factsOf(invocation), folders }, sources })
        options.onRecord?.(folder)
        return { journal, folder }
      },
    },
    options,
    listener,
  )
}

function invocationOf(file: string, options: StartOptions): Invocation {
  const { cwd, env, inputs = [], onFiles = [], overrides = [], vars = [], patienceMs = 0 } = options
  const { dry, model, text, outputSchema } = options
  return {
    file,
    cwd,
    inputs,
    onFiles,
    overrides,
    vars,
    patienceMs,
    env: decidingVariables(env),
    ...defined({ dry, model, text, outputSchema }),
  }
}

async function openJournal(folder: string, { bus, mask }: OpenParts): Promise<RunJournal> {
  const now = (): Date => new Date()
  if (!isOnNetwork(folder)) return openRun({ folder, now, mask })
  bus.send([], {
    type: 'warning',
    message: `${folder} is on a network file system: this run is not recorded and cannot be resumed`,
    hint: 'Set [runs] dir in your config file to a local folder.',
  })
  return createMemoryJournal({ now, mask })
}
