import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { isInside, realPath } from '../../base/files.ts'
import type { ProcessResult } from '../../base/process.ts'
import { emit } from '../../event/context.ts'
import { allowedEntry, allowedPath, allowOf } from '../../tool/guard.ts'
import type { ActCall, HostCall } from './call.ts'
import { acting, type HostModule } from './module.ts'

const timeLimitMs = 5 * 60_000
const maxOutputBytes = 16 * 1024 * 1024

/**
 * `aip.git`. Git runs without a shell and without input, and takes a path as it is written, not as
 * a pattern. Since it throws edits away, every file it would change is asked for first, and it is never repeated unasked.
 */
export const gitModule: HostModule = {
  name: 'aip.git',
  functions: {
    /**
     * `aip.git.restore(path) → string` Runs `git restore` for a file or a folder of the workspace: edits that are not
     * staged are lost. Gives what git prints. It is an error when git fails or prints an error or warning, and nothing
     * is restored when one of the files lies outside the workspace or is protected. Programs that the config of the
     * repository names (hooks, filters and others) are not run; a file that needs such a filter is an error.
     */
    restore: acting(restore),
  },
}

async function restore(call: ActCall): Promise<string> {
  const { context, name } = call
  const { workspace } = context.scope.folders
  const target = restorable(call)
  allowOf(context)({ kind: 'command', program: 'git', caller: name })
  const path = resolve(workspace, target)
  const request = { command: 'restore', path: target }
  const action = { kind: path === workspace ? 'read' : 'delete', path, named: path } as const
  const { files, stdout } = await context.services.effects.perform(
    call.at,
    { kind: 'git', request, action, repeat: 'unsafe', assumed: noOutput },
    async (stop, { allow }) => {
      const git = await openGit(call, AbortSignal.any([stop, context.services.signal]))
      const paths = pathsOf(await git.run([...listChanged, target]))
      for (const changed of paths) allowedEntry(resolve(workspace, changed), { context, allow })
      await refuseFiltered(git, paths, call)
      return { files: paths, stdout: await git.run(['restore', '--', target]) }
    },
  )
  for (const file of files) emit(context, { type: 'file.changed', op: 'restore', path: file })
  return stdout
}

/**
 * What is restored, relative to the workspace. A link is restored itself, not what it leads to. All of the workspace may
 * be named, because it is not removed.
 */
function restorable(call: HostCall): string {
  const file = call.file(0)
  const asking = { context: call.context, allow: allowOf(call.context) }
  return allowedPath('read', file, asking) === call.context.scope.folders.workspace
    ? '.'
    : call.shown(allowedEntry(file, asking))
}

const listChanged = [
  'diff',
  '--name-only',
  '--no-ext-diff',
  '--no-textconv',
  '--ignore-submodules',
  '--relative',
  '-z',
  '--',
]
const noOutput: { readonly files: readonly string[]; readonly stdout: string } = { files: [], stdout: '' }

const pathsOf = (list: string): readonly string[] => list.split('\0').filter((path) => path !== '')

interface Git {
  /** Gives what it prints. @throws BatonError SCRIPT_FAILED, LIMIT; Error for what git says */
  run(args: readonly string[]): Promise<string>
  /** The filters that the repository defines itself, which are turned off. */
  readonly filters: readonly string[]
}

/** Git in the workspace, with nothing of what the config of its repository names. */
async function openGit(call: ActCall, signal: AbortSignal): Promise<Git> {
  const { scope, services } = call.context
  const { repositoryFilters, runGit } = await import('../../base/git.ts')
  const place = { cwd: scope.folders.workspace, env: services.env, timeLimitMs, maxOutputBytes }
  const folder = outputOf(await runGit({ ...place, args: ['rev-parse', '--show-toplevel'] }, signal), call)
  // `core.worktree` of a repository could name any folder, and git would restore there
  if (!isInside(realPath(folder.replace(/\n$/, '')), realPath(scope.folders.workspace))) {
    throw call.error('the repository of the workspace keeps its files elsewhere')
  }
  const filters = await repositoryFilters(place, signal)
  if (filters === undefined) {
    throw call.error('the filters that the config of the repository names cannot be turned off')
  }
  const settings = [...filters.settings, ['core.safecrlf', 'false']] as const
  return {
    filters: filters.names,
    run: async (args) => outputOf(await runGit({ ...place, settings, args }, signal), call),
  }
}

const atOnce = 500

/** Without its filter a file would get other contents than it should have: better none. */
async function refuseFiltered(git: Git, paths: readonly string[], call: ActCall): Promise<void> {
  if (git.filters.length === 0 || paths.length === 0) return
  const own = new Set(git.filters)
  for (let from = 0; from < paths.length; from += atOnce) {
    // file, "filter" and its value for each; not all at once, because a command line has a limit
    const listed = await git.run(['check-attr', '-z', 'filter', '--', ...paths.slice(from, from + atOnce)])
    const fields = listed.split('\0')
    const at = fields.findIndex((value, index) => index % 3 === 2 && own.has(value))
    if (at === -1) continue
    const filter = `the filter "${fields[at]}" of the repository's own config`
    throw new BatonError('SCRIPT_FAILED', `${call.name}: ${fields[at - 2]} goes through ${filter}, which is not run`, {
      hint: 'If you trust the filter, set it in your own config: git config --global.',
    })
  }
}

function outputOf({ end, stdout, stderr }: ProcessResult, call: HostCall): string {
  const { name } = call
  const shown = call.path(0)
  switch (end.kind) {
    case 'not_started':
      throw new BatonError('SCRIPT_FAILED', `${name}: git cannot be run: ${end.reason}`, { hint: 'Install git.' })
    case 'timed_out':
      throw new BatonError('LIMIT', `${name}: git was stopped, because it took longer than ${timeLimitMs / 1000} s`)
    case 'killed':
      throw call.error(`git was ended by ${end.signal}`)
    case 'exited':
      if (stdout.lost > 0) throw call.error(`too many files below ${shown} have changed`)
      if (end.code === 0 && stderr.text === '') return stdout.text
      // outside of one git takes the call for another, and explains itself on a hundred lines
      if (/^(?:fatal|warning): not a git repository/im.test(stderr.text)) {
        throw call.error(`${shown} cannot be restored: the workspace is not a git repository`)
      }
      throw call.error(`${shown} cannot be restored: ${stderr.text.trim() || `git ended with ${end.code}`}`)
  }
}
