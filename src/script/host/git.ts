import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { commandEnvironment } from '../../base/command.ts'
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
     * is restored when one of the files lies outside the workspace or is protected.
     */
    restore: acting(restore),
  },
}

async function restore(call: ActCall): Promise<string> {
  const { context } = call
  const { workspace } = context.scope.folders
  const target = restorable(call)
  const path = resolve(workspace, target)
  const request = { command: 'restore', path: target }
  const action = { kind: path === workspace ? 'read' : 'delete', path, named: path } as const
  const { files, stdout } = await context.services.effects.perform(
    call.at,
    { kind: 'git', request, action, repeat: 'unsafe', assumed: noOutput },
    async (stop, { allow }) => {
      const signal = AbortSignal.any([stop, context.services.signal])
      const listed = await runGit([...listChanged, target], call, signal)
      const paths = listed.split('\0').filter((file) => file !== '')
      for (const changed of paths) allowedEntry(resolve(workspace, changed), { context, allow })
      return { files: paths, stdout: await runGit(['restore', '--', target], call, signal) }
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

const listChanged = ['diff', '--name-only', '--no-ext-diff', '--ignore-submodules', '--relative', '-z', '--']
const noOutput: { readonly files: readonly string[]; readonly stdout: string } = { files: [], stdout: '' }

async function runGit(args: readonly string[], call: HostCall, signal: AbortSignal): Promise<string> {
  const { scope, services } = call.context
  const cwd = scope.folders.workspace
  const { runProcess } = await import('../../base/process.ts')
  const environment = { ...commandEnvironment(services.env), GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' }
  const options = ['--literal-pathspecs', '--no-pager', '-c', 'submodule.recurse=false', '-c', 'core.safecrlf=false']
  const command = { command: 'git', args: [...options, ...args], cwd, environment, timeLimitMs, maxOutputBytes }
  return outputOf(await runProcess(command, signal), call)
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
