import { relative } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { isInside, realPath } from '../../base/files.ts'
import type { ProcessResult } from '../../base/process.ts'
import type { HostCall } from './call.ts'

const timeLimitMs = 5 * 60_000
const maxOutputBytes = 16 * 1024 * 1024

/** Git in the workspace, for a call of a script. */
export interface WorkspaceGit {
  /** Returns what git prints; with `cut`, the output may be truncated. @throws BatonError SCRIPT_FAILED, LIMIT */
  run(args: readonly string[], printed?: 'cut'): Promise<string>
  /** The path of the workspace within the repository; empty for its top folder. */
  readonly prefix: string
  /**
   * Rejects files (relative to the workspace) that the repository's own config passes through a filter program, which
   * is not run.
   */
  refuseFiltered(paths: readonly string[]): Promise<void>
}

/**
 * Opens the repository of the workspace without running the programs that its config names: hooks, filters and others.
 */
export async function openGit(call: HostCall, signal: AbortSignal): Promise<WorkspaceGit> {
  const { scope, services } = call.context
  const { workspace } = scope.folders
  const { repositoryFilters, runGit } = await import('../../base/git.ts')
  const place = { cwd: workspace, env: services.env, timeLimitMs, maxOutputBytes }
  const printed = outputOf(await runGit({ ...place, args: ['rev-parse', '--show-toplevel'] }, signal), call)
  const [top, own] = [realPath(printed.replace(/\n$/, '')), realPath(workspace)]
  // `core.worktree` of a repository could name any folder, and git would restore there
  if (!isInside(top, own)) throw call.error('the repository of the workspace has its work tree elsewhere')
  const filters = await repositoryFilters(place, signal)
  if (filters === undefined) {
    throw call.error('the filters that the config of the repository names cannot be disabled')
  }
  const settings = [...filters.settings, ['core.safecrlf', 'false']] as const
  const run: WorkspaceGit['run'] = async (args, cut) =>
    outputOf(await runGit({ ...place, settings, args }, signal), call, cut)
  return { run, prefix: relative(top, own), refuseFiltered: (paths) => refuseFiltered(paths, filters.names, run, call) }
}

/** The most paths on one command line, whose length is limited. */
export const pathsAtOnce = 500

/** Without its filter, a file would be restored with the wrong contents, so it is not restored at all. */
async function refuseFiltered(
  paths: readonly string[],
  filters: readonly string[],
  run: WorkspaceGit['run'],
  call: HostCall,
): Promise<void> {
  if (filters.length === 0) return
  const own = new Set(filters)
  for (let from = 0; from < paths.length; from += pathsAtOnce) {
    // each entry is the file, "filter" and its value
    const listed = await run(['check-attr', '-z', 'filter', '--', ...paths.slice(from, from + pathsAtOnce)])
    const fields = listed.split('\0')
    const at = fields.findIndex((value, index) => index % 3 === 2 && own.has(value))
    if (at === -1) continue
    const filter = `the filter "${fields[at]}" of the repository's own config`
    throw new BatonError('SCRIPT_FAILED', `${call.name}: ${fields[at - 2]} goes through ${filter}, which is not run`, {
      hint: 'If you trust the filter, set it in your own config: git config --global.',
    })
  }
}

function outputOf({ end, stdout, stderr }: ProcessResult, call: HostCall, cut?: 'cut'): string {
  const { name } = call
  const shown = call.path(0)
  switch (end.kind) {
    case 'not_started':
      throw new BatonError('SCRIPT_FAILED', `${name}: git cannot be run: ${end.reason}`, { hint: 'Install git.' })
    case 'timed_out':
      throw new BatonError('LIMIT', `${name}: git was stopped because it took longer than ${timeLimitMs / 1000} s`)
    case 'killed':
      throw call.error(`git was killed by ${end.signal}`)
    case 'exited':
      if (stdout.lost > 0 && cut === undefined) throw call.error(`too many files below ${shown} have changed`)
      if (end.code === 0 && stderr.text === '') return stdout.text
      // outside a repository, git takes this for another form of the command and prints a hundred lines of help
      if (/^(?:fatal|warning): not a git repository/im.test(stderr.text)) {
        throw call.error(`${shown} cannot be restored: the workspace is not a git repository`)
      }
      throw call.error(`${shown} cannot be restored: ${stderr.text.trim() || `git exited with code ${end.code}`}`)
  }
}
