import { basename, resolve } from 'node:path'
import { displayPath } from '../../base/files.ts'
import { compileGlobs } from '../../base/glob.ts'
import type { ListOptions } from '../../history/run-list.ts'
import type { RunsContext, RunsFlags } from './runs.ts'

/** The runs that `--file` and `--status` let through. A file is meant by its name, its path or a glob. */
export function fitsFlags(
  { file, status }: Pick<RunsFlags, 'file' | 'status'>,
  { workspace, cwd }: Pick<RunsContext, 'workspace' | 'cwd'>,
): ListOptions['fits'] {
  const glob = file === undefined ? undefined : compileGlobs([file])
  return (run) => {
    if (status !== undefined && run.status !== status) return false
    if (file === undefined || glob === undefined) return true
    const shown = displayPath(workspace, run.file)
    return (
      run.file === resolve(cwd, file) || [shown, basename(run.file)].some((name) => name === file || glob.matches(name))
    )
  }
}
