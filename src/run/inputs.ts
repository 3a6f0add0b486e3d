import { posix, relative } from 'node:path'
import { BatonError } from '../base/error.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { listFiles } from '../base/glob.ts'
import type { Json } from '../base/json.ts'
import { emit, type RunContext } from '../event/context.ts'
import { fileInfo } from '../script/host/file-info.ts'
import { luaToJson } from '../script/values.ts'
import { fileStatus } from '../tool/workspace-reads.ts'

/** What the command line gives a run to work on. */
export interface GivenInputs {
  /** `-i`: texts. */
  readonly texts: readonly string[]
  /** `-f`: globs, relative to `cwd`. */
  readonly globs: readonly string[]
  /** Absolute. */
  readonly cwd: string
}

/**
 * The inputs of an agent that is run by itself (spec/aipack.md 2.4, 5.2): the texts of `-i`, or a FileInfo for each
 * file of `-f`, with paths relative to the workspace; null when neither is given. Files are listed at each call, and a
 * warning says when there is none.
 * @throws BatonError USAGE when both are given, OUTSIDE_WORKSPACE for globs that lead out
 */
export function readInputs({ texts, globs, cwd }: GivenInputs, context: RunContext): readonly Json[] | null {
  refuseBoth({ texts, globs })
  if (texts.length > 0) return texts
  if (globs.length === 0) return null
  const folder = realPath(cwd)
  if (!isInside(context.workspace, folder)) {
    throw new BatonError('OUTSIDE_WORKSPACE', `${cwd} is outside the workspace ${context.workspace}`, {
      hint: 'Run -f from inside the workspace.',
    })
  }
  const found = listInputs({ globs, folder }, context)
  if (found.length === 0) {
    const message = `-f ${globs.join(', ')} matches no file`
    emit(context, { type: 'warning', message, hint: 'The agent runs as it does without inputs.' })
  }
  return found
}

function listInputs(
  { globs, folder }: { readonly globs: readonly string[]; readonly folder: string },
  context: RunContext,
): readonly Json[] {
  return context.effects.observe([...context.at, 'inputs'], { name: 'file.list', args: [...globs] }, () => {
    const where = { globs: globs.map(anywhere), baseDir: folder, root: context.workspace }
    const found = listFiles(where.globs, where).map(({ absolute }) => absolute)
    context.reads?.list({ ...where, found, reads: 'content' })
    return found.map((absolute) => {
      const path = displayPath(context.workspace, absolute)
      const info = luaToJson(fileInfo(path, fileStatus(absolute, context)))
      return { ...(info as { readonly [key: string]: Json }), _display: path }
    })
  })
}

/** `-i` and `-f` both say what the tasks are (DESIGN 2). */
export function refuseBoth({ texts, globs }: Pick<GivenInputs, 'texts' | 'globs'>): void {
  if (texts.length === 0 || globs.length === 0) return
  throw new BatonError('USAGE', '-i and -f both give inputs', { hint: 'Leave one of them out.' })
}

/** `-f` as the setting it stands for when the target is a prompt file: relative to `base_dir` (DESIGN 2). */
export function workingGlobs({ globs, cwd }: GivenInputs, baseDir: string): string {
  const prefix = relative(baseDir, realPath(cwd))
  const moved = globs.map((glob) => (prefix === '' ? anywhere(glob) : posix.join(prefix, anywhere(glob))))
  return `working_globs=${JSON.stringify(moved)}`
}

/** A bare name is looked for in every folder (spec/aipack.md 5.2). */
function anywhere(glob: string): string {
  return glob.includes('*') || /^(?:\.\.?)?\//.test(glob) ? glob : `**/${glob}`
}
