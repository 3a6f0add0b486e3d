import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { commandEnvironment } from '../../base/process-environment.ts'
import type { ProcessResult } from '../../base/process.ts'
import { emit } from '../../event/context.ts'
import type { Place } from '../../event/effects.ts'
import { guard, guardEntry } from '../../tool/guard.ts'
import { argumentError, pathText } from './arguments.ts'
import type { HostModule, Section } from './module.ts'
import { sectionPath } from './section-path.ts'

const name = 'aip.git.restore'
const timeLimitMs = 5 * 60_000
const maxOutputBytes = 16 * 1024 * 1024

/**
 * `aip.git` (spec/aipack.md 6.2). Git runs without a shell and without input, and takes a path as it is written, not as
 * a pattern. Since it throws edits away, every file it would change is asked for first, and it is never repeated unasked.
 */
export const gitModule: HostModule = {
  name: 'aip.git',
  functions: {
    /**
     * `aip.git.restore(path) → string`
     * Runs `git restore` for a file or a folder of the workspace: edits that are not staged are lost. Gives what git prints.
     * It is an error when git fails or prints an error or warning, and nothing is restored when one of the files lies
     * outside the workspace or is protected.
     */
    restore: {
      effect: 'act',
      call: async ([path], section, at) => {
        const file = sectionPath(path, { name }, section)
        return [await restore({ shown: pathText(path, name), path: restorable(file, section) }, section, at)]
      },
    },
  },
}

interface Restored {
  /** As the script wrote it. */
  readonly shown: string
  /** Relative to the workspace. */
  readonly path: string
}

/** A link is restored itself, not what it leads to. All of the workspace may be named, because it is not removed. */
function restorable(file: string, { context }: Section): string {
  const { workspace } = context
  if (guard('read', file, context) === workspace) return '.'
  return displayPath(workspace, guardEntry(file, context))
}

async function restore(target: Restored, section: Section, at: Place): Promise<string> {
  const { context } = section
  const { files, stdout } = await context.effects.perform(
    at,
    { kind: 'git', request: { command: 'restore', path: target.path }, repeat: 'unsafe', assumed: noOutput },
    async (stop) => {
      const signal = AbortSignal.any([stop, context.signal])
      const git = (args: readonly string[]): Promise<string> => runGit(args, target, { section, signal })
      const changed = await git([...listChanged, target.path])
      const paths = changed.split('\0').filter((path) => path !== '')
      for (const path of paths) guardEntry(resolve(context.workspace, path), context)
      return { files: paths, stdout: await git(['restore', '--', target.path]) }
    },
  )
  for (const path of files) emit(context, { type: 'file.changed', op: 'restore', path })
  return stdout
}

const listChanged = ['diff', '--name-only', '--no-ext-diff', '--ignore-submodules', '--relative', '-z', '--']
const noOutput: { readonly files: readonly string[]; readonly stdout: string } = { files: [], stdout: '' }

interface GitCall {
  readonly section: Section
  readonly signal: AbortSignal
}

async function runGit(args: readonly string[], { shown }: Restored, { section, signal }: GitCall): Promise<string> {
  const { workspace: cwd, surroundings } = section.context
  const { runProcess } = await import('../../base/process.ts')
  const environment = { ...commandEnvironment(surroundings?.env ?? {}), GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' }
  const options = ['--literal-pathspecs', '--no-pager', '-c', 'submodule.recurse=false', '-c', 'core.safecrlf=false']
  const result = await runProcess(
    { command: 'git', args: [...options, ...args], cwd, environment, timeLimitMs, maxOutputBytes },
    signal,
  )
  return outputOf(result, shown)
}

function outputOf({ end, stdout, stderr }: ProcessResult, shown: string): string {
  switch (end.kind) {
    case 'not_started':
      throw new BatonError('SCRIPT_FAILED', `${name}: git cannot be run: ${end.reason}`, { hint: 'Install git.' })
    case 'timed_out':
      throw new BatonError('LIMIT', `${name}: git was stopped, because it took longer than ${timeLimitMs / 1000} s`)
    case 'killed':
      throw argumentError(name, `git was ended by ${end.signal}`)
    case 'exited':
      if (stdout.lost > 0) throw argumentError(name, `too many files below ${shown} have changed`)
      if (end.code === 0 && stderr.text === '') return stdout.text
      // outside of one git takes the call for another, and explains itself on a hundred lines
      if (/^(?:fatal|warning): not a git repository/im.test(stderr.text)) {
        throw argumentError(name, `${shown} cannot be restored: the workspace is not a git repository`)
      }
      throw argumentError(name, `${shown} cannot be restored: ${stderr.text.trim() || `git ended with ${end.code}`}`)
  }
}
