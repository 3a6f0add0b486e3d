import { join } from 'node:path'
import { realPath } from '../base/files.ts'
import { defined } from '../base/json.ts'
import { bothReads } from '../base/reads.ts'
import type { Bus } from '../event/bus.ts'
import type { NamedFolders } from '../journal/portable.ts'
import { foreignMarks, locateWorkspace } from '../config/locate.ts'
import { packageRoot } from '../package-root.ts'
import type { InputOptions } from '../load/inputs.ts'
import { hashOf, type Invocation } from '../run/record.ts'
import { loadTargetFor, type Target, warningsOf } from '../load/target.ts'
import { version } from '../version.ts'
import type { RunPlan, Surroundings } from './conduct.ts'
import { strategies } from '../strategies/strategies.ts'

/**
 * Loads and checks what is to be run.
 * @throws BatonError for everything that prevents the run from starting
 */
export async function loadRun(
  { invocation, sources, overrides = [], recordedServers, recordedOfPack, isRecordedTool, prepare }: RunPlan,
  { env, home, log }: Surroundings,
  builtInDir: string,
): Promise<Target> {
  const { file, cwd, text, instruction, stdin, vars, model, outputSchema } = invocation
  const loaded = await loadTargetFor(inputsOf(invocation), {
    file,
    cwd,
    env,
    home,
    builtInDir,
    strategies,
    reads: bothReads(log, sources.reads),
    ...defined({ text, instruction, stdin }),
    flags: {
      overrides: [...invocation.overrides, ...overrides],
      vars,
      ...defined({ model, outputSchema, recordedServers, recordedOfPack, isRecordedTool }),
    },
  })
  return prepare?.(loaded) ?? loaded
}

/** Sends the first event; `target` is undefined if it could not be loaded. */
export async function sendStart(
  { invocation, isResumed }: RunPlan,
  target: Target | undefined,
  { bus, env, home }: Pick<Surroundings, 'env' | 'home'> & { readonly bus: Bus },
): Promise<void> {
  const { cwd } = invocation
  const warnings =
    target === undefined ? [] : [...(await warningsOf(target)), ...foreignMarks(locateWorkspace({ cwd, env, home }))]
  const workspace = target === undefined || target.workspace === realPath(cwd) ? undefined : target.workspace
  bus.send([], {
    type: 'run.started',
    schema: 1,
    file: invocation.file,
    target: target?.kind ?? 'prompt',
    file_hash: target === undefined ? null : hashOf(target),
    version,
    config_warnings: warnings,
    ...defined({ workspace }),
    ...(isResumed ? { resumed: true } : {}),
  })
}

/** The inputs given by `-i` and `-f`. */
export function inputsOf({ inputs, readsInputs, onFiles, cwd, stdin }: Invocation): InputOptions {
  return { texts: inputs, ignoresUnread: readsInputs !== true, globs: onFiles, cwd, ...defined({ stdin }) }
}

/**
 * The folders of this machine that may appear in a run's records; see `createPathTokens`. `run`: the run folder, if it
 * has one.
 */
export function runFolders({ workspace, home, run }: OwnFolders): NamedFolders {
  return { workspace, home: realPath(home), builtin: join(packageRoot(), 'agents'), ...defined({ run }) }
}

interface OwnFolders {
  readonly workspace: string
  readonly home: string
  readonly run?: string | undefined
}
