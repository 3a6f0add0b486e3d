import { join } from 'node:path'
import { messageOf } from './base/error.ts'
import { defined, type Json, type JsonObject } from './base/json.ts'
import type { Listener } from './event/bus.ts'
import { defaultRounds } from './event/limits.ts'
import { capture, unwrap } from './journal/work-result.ts'
import type { ChatPlace } from './journal/chat-place.ts'
import { isForbidden } from './journal/failure.ts'
import { createMemoryJournal } from './journal/memory.ts'
import { isOnNetwork } from './journal/network.ts'
import { newRunId, runsFolder } from './journal/run-id.ts'
import { openSigningKey } from './journal/signing.ts'
import { openRun } from './journal/store.ts'
import { checkWritable } from './journal/writable.ts'
import {
  conduct,
  type OpenedRun,
  type OpenParts,
  type RunPlan,
  type RunReport,
  type Surroundings,
} from './wiring/conduct.ts'
import { decidingVariables, factsOf, type Invocation, recordStart } from './run/record.ts'
import { createStoredSources } from './run/stored-sources.ts'
import { runFolders } from './wiring/load-run.ts'
import { version } from './version.ts'

export interface StartOptions extends Surroundings {
  readonly cwd: string
  /** `-i` values: one task for each. For a prompt file they are texts. */
  readonly inputs?: readonly Json[]
  /** `-f` globs, relative to `cwd`: one task for each file. */
  readonly onFiles?: readonly string[]
  /** `--dry`: `req` calls no model, `res` skips Output sections, `changes` shows file changes without making them. */
  readonly dry?: 'req' | 'res' | 'changes'
  /** `-m`: model of the main agent. */
  readonly model?: string
  /** `-c key=value`. */
  readonly overrides?: readonly string[]
  /** `-p`: the prompt itself; the file name is then only used in messages. */
  readonly text?: string
  /** Replaces the text of the file below its front matter. */
  readonly instruction?: string
  /** The chat that this run is a message of: its model gets the earlier messages. */
  readonly chat?: ChatPlace
  /** The content of standard input: context of the prompt, or the input of an agent. */
  readonly stdin?: string
  /** `--var name=value`: values of the variables of `[input]`. */
  readonly vars?: readonly string[]
  /**
   * The JSON Schema of the answer, or a file with it (`--output-schema`), relative to `cwd`; takes precedence over
   * `[output]`.
   */
  readonly outputSchema?: string | JsonObject
  /** Files that the caller writes the result, the record and a report to: a resume does the same. Absolute. */
  readonly output?: string
  readonly record?: string
  readonly report?: string
  /** How approvals are answered if nobody can be asked: a resume does the same. */
  readonly onAsk?: 'suspend'
  /** How long a call may wait for an overloaded host if no file sets it, in milliseconds; default: 0. */
  readonly patienceMs?: number
  /** Called with the folder of the run's record, once the run has started. */
  readonly onRecord?: (folder: string) => void
  /** Changes the loaded target before it runs. */
  readonly prepare?: RunPlan['prepare']
  /** The id of the run; default: a new one. */
  readonly id?: string
  /** Replaces the work of the target: the run is a conversation. */
  readonly work?: RunPlan['work']
  /** The folder for the run's record, instead of the one in the settings. */
  readonly runs?: string
  /** Opens the record instead of the usual one, with replacements for everything outside. */
  readonly open?: RunPlan['open']
}

/** Runs a prompt file or an agent to its end; see `conduct`. */
export function startRun(file: string, options: StartOptions, listener: Listener): Promise<RunReport> {
  const { id = newRunId(new Date()) } = options
  const invocation = invocationOf(file, options)
  const sources = createStoredSources()
  const { env, home, runs, open, prepare, work } = options
  return conduct(
    {
      id,
      invocation,
      sources,
      isResumed: false,
      ...defined({ prepare, work }),
      async open(target, parts) {
        if (open !== undefined) return open(target, parts)
        const { workspace, settings } = target
        const folder = join(runs ?? runsFolder({ env, home, workspace, runsDir: settings.runs.dir }), id)
        const opened = await openJournal(folder, { ...parts, env, home })
        const folders = runFolders({ workspace, home })
        recordStart(opened.journal, target, { id, version, facts: { ...factsOf(invocation), folders }, sources })
        if (opened.folder !== undefined && options.onRecord !== undefined) {
          opened.journal.push()
          options.onRecord(folder)
        }
        return opened
      },
    },
    options,
    listener,
  )
}

function invocationOf(file: string, options: StartOptions): Invocation {
  const { cwd, env, inputs = [], onFiles = [], overrides = [], vars = [], patienceMs = 0 } = options
  const { dry, model, text, instruction, chat, stdin, outputSchema, output, record, report, onAsk } = options
  return {
    file,
    cwd,
    inputs,
    ...(inputs.length === 0 ? {} : { readsInputs: true as const }),
    onFiles,
    overrides,
    vars,
    patienceMs,
    rounds: defaultRounds,
    env: decidingVariables(env),
    ...(options.work === undefined ? {} : { conversation: true as const }),
    ...defined({ dry, model, text, instruction, chat, stdin, outputSchema, output, record, report, onAsk }),
  }
}

/**
 * The record of a run in its folder, or in memory if the folder is of a kind in which runs are not recorded.
 * @throws BatonError JOURNAL_FAILED if a disk or a limit fails: nothing is paid without a record
 */
async function openJournal(
  folder: string,
  { bus, mask, ...around }: OpenParts & Pick<Surroundings, 'env' | 'home'>,
): Promise<OpenedRun> {
  const now = (): Date => new Date()
  const key = capture(() => {
    checkWritable(folder)
    return openSigningKey(around)
  })
  if (key.status === 'failed' && !isForbidden(key.error)) throw key.error
  const why = isOnNetwork(folder)
    ? `${folder} is on a network file system`
    : key.status === 'failed'
      ? messageOf(key.error)
      : undefined
  if (why === undefined) return { journal: await openRun({ folder, now, mask, key: unwrap(key) }), folder }
  bus.send([], {
    type: 'warning',
    message: `${why}: this run is not recorded and cannot be resumed`,
    hint: 'Set [runs] dir in your config file to a local folder that you can write to.',
    urgent: true,
  })
  return { journal: createMemoryJournal({ now, mask }) }
}
