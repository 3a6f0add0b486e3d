import { part } from '../event/place.ts'
import { isAbsolute, posix, relative } from 'node:path'
import { BatonError } from '../base/error.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { listSteps } from '../base/glob.ts'
import { escapeGlob } from '../base/glob-pattern.ts'
import { literalGlob } from '../base/literal-glob.ts'
import type { Json } from '../base/json.ts'
import { finishInTurns } from '../base/concurrency.ts'
import { emit, type RunStore } from '../event/context.ts'
import { fileInfo } from '../script/host/file-info.ts'
import { luaToJson } from '../script/values.ts'
import type { FileContext } from '../tool/workspace-files.ts'
import { allowedPath } from '../tool/guard.ts'
import { statusAt } from '../tool/workspace-reads.ts'
import { namedProblems } from './named-files.ts'
import type { StrategyLoader } from './strategy.ts'

/** The inputs of a run from the command line. */
export interface InputOptions {
  /** `-i`: texts. Through the API, also other values. */
  readonly texts: readonly Json[]
  /** `-f`: globs, relative to `cwd`. */
  readonly globs: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** Standard input: the only input of an agent. For prompts it is context of all tasks; see `PromptTarget`. */
  readonly stdin?: string
  /** For runs of a version that ignored inputs that nothing reads: they are still ignored. */
  readonly ignoresUnread?: boolean
}

type InputsContext = FileContext & { readonly services: Pick<RunStore, 'reads'> }

/**
 * The inputs of an agent that is run directly: the texts of `-i`, or a FileInfo for each file of `-f`, with paths
 * relative to the workspace; null if neither is given. Files are listed at each call, and no match is a warning.
 * @throws BatonError USAGE if both are given, OUTSIDE_WORKSPACE for globs that lead out, FILE_UNREADABLE for a path that
 * is no file
 */
export async function readInputs(
  { texts, globs, cwd, stdin }: InputOptions,
  context: InputsContext,
): Promise<readonly Json[] | null> {
  refuseBoth({ texts, globs })
  if (stdin !== undefined) {
    if (texts.length === 0 && globs.length === 0) return [stdin]
    throw new BatonError('USAGE', '--stdin cannot be combined with -i or -f', { hint: 'Leave one of them out.' })
  }
  if (texts.length > 0) return texts
  if (globs.length === 0) return null
  const folder = realPath(cwd)
  if (!isInside(context.scope.folders.workspace, folder)) {
    throw new BatonError('OUTSIDE_WORKSPACE', `${cwd} is outside the workspace ${context.scope.folders.workspace}`, {
      hint: 'Run -f from inside the workspace.',
    })
  }
  const found = await listInputs({ globs, folder }, context)
  if (found.length === 0) {
    const message = `-f ${globs.join(', ')} matches no file`
    emit(context, { type: 'warning', message, hint: 'The agent runs without inputs.' })
  }
  return found
}

function listInputs(
  { globs, folder }: { readonly globs: readonly string[]; readonly folder: string },
  context: InputsContext,
): Promise<readonly Json[]> {
  const { scope, services } = context
  const { workspace } = scope.folders
  const at = [...scope.at, part('inputs')]
  return services.effects.observeAsync(at, { name: 'file.list', args: [...globs] }, async (allow) => {
    const where = { globs: globs.map((glob) => anywhere(glob, folder)), baseDir: folder, root: workspace }
    services.reads?.ready?.()
    const files = await finishInTurns(listSteps(where.globs, where), services.signal)
    const found = files.map(({ absolute }) => absolute)
    const [problem] = namedProblems(where.globs, { baseDir: folder, found, isGiven: true })
    if (problem !== undefined) throw new BatonError('FILE_UNREADABLE', problem.message, { hint: problem.hint })
    services.reads?.list({ ...where, found, reads: 'content' })
    return found.map((absolute) => {
      const path = displayPath(workspace, absolute)
      return luaToJson(fileInfo(path, statusAt(allowedPath('read', absolute, { context, allow }))))
    })
  })
}

/** For `-i` and `-f` together, because each defines the tasks. */
export function refuseBoth({ texts, globs }: Pick<InputOptions, 'texts' | 'globs'>): void {
  if (texts.length === 0 || globs.length === 0) return
  throw new BatonError('USAGE', '-i and -f cannot be combined', { hint: 'Leave one of them out.' })
}

/** The setting for `-f` if the target is a prompt file: globs relative to `base_dir`. */
export function workingGlobs({ globs, cwd }: InputOptions, baseDir: string): string {
  const folder = realPath(cwd)
  const prefix = escapeGlob(relative(baseDir, folder))
  const moved = globs
    .map((glob) => anywhere(glob, folder))
    .map((glob) => (prefix === '' || isAbsolute(glob) ? glob : posix.join(prefix, glob)))
  return `working_globs=${JSON.stringify(moved)}`
}

/** A path of special characters is the file in the folder if it exists; else a bare name matches in every folder. */
function anywhere(glob: string, folder: string): string {
  const literal = literalGlob(glob, folder)
  if (literal !== glob) return literal
  return glob.includes('*') || /^(?:\.\.?)?\//.test(glob) ? glob : `**/${glob}`
}

/** What may define the tasks of a file. */
interface TaskSources {
  readonly file: string
  readonly strategy: Pick<StrategyLoader, 'key' | 'ownTasks'> | undefined
  readonly hasInputs: boolean
  /** What names the files, if anything does. */
  readonly groups?: 'working_globs' | '-f'
}

/** @throws BatonError USAGE for more than one source of tasks */
export function checkSources({ file, hasInputs, groups, strategy }: TaskSources): void {
  const source = hasInputs ? '-i' : groups
  if (strategy?.ownTasks !== undefined && source !== undefined) {
    const { reason, hint } = strategy.ownTasks
    const message = `${source} and [${strategy.key}] cannot be combined: ${reason}`
    throw new BatonError('USAGE', message, { place: { file }, hint })
  }
  if (hasInputs && groups !== undefined) {
    throw new BatonError('USAGE', '-i and working_globs cannot be combined: both define the tasks', {
      place: { file },
      hint: 'Omit -i, or remove working_globs from the file.',
    })
  }
}
