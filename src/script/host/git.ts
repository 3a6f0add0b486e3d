import { lstatSync, readlinkSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { entryStatus } from '../../base/entries.ts'
import { defined } from '../../base/json.ts'
import { makeTemporaryFolder } from '../../base/temporary-folder.ts'
import { item, part } from '../../event/place.ts'
import { type WorkResult, captureAsync, unwrap } from '../../journal/work-result.ts'
import { allowedEntry, allowedPath, allowOf, type FileWriter } from '../../tool/guard.ts'
import { deleteEntry, makeLink, saveMadeFile, setMode } from '../../tool/workspace-files.ts'
import { argumentsToJson } from '../values.ts'
import type { ActCall, HostCall } from './call.ts'
import { type HostModule, waiting } from './module.ts'
import { BatonError } from '../../base/error.ts'
import { isInside, realPath } from '../../base/files.ts'
import type { ProcessResult } from '../../base/process.ts'

/**
 * `aip.git`. Git runs without a shell and without input, and treats a path literally, not as a pattern. Git only
 * determines which files to restore and supplies their contents; each file is then changed like any other file that a
 * script changes: with permission, recorded, saved for undo, and written atomically.
 */
export const gitModule: HostModule = {
  name: 'aip.git',
  functions: {
    /**
     * `aip.git.restore(path) → string` Restores a file or folder of the workspace like `git restore`: unstaged edits
     * are reverted; `baton undo` brings them back. Returns an empty string, because git prints nothing. It is an error
     * if git fails or prints an error or warning; nothing is restored if one of the files is outside the workspace or
     * protected. Programs that the repository's config names (hooks, filters and others) are not run; a file that needs
     * such a filter is an error.
     */
    restore: waiting(restore),
  },
}

async function restore(call: ActCall): Promise<string> {
  const { context, name, args } = call
  const { effects, signal } = context.services
  const target = restorable(call)
  allowOf(context)({ kind: 'command', program: 'git', caller: name })
  let opened: Promise<WorkspaceGit> | undefined
  const open = (): Promise<WorkspaceGit> => (opened ??= openGit(call, signal))

  const asked = { name, args: argumentsToJson(args) }
  const found = await effects.observeAsync([...call.at, part('read')], asked, async (allow) =>
    findChanged(await open(), target, { call, asking: { context, allow } }),
  )
  for (let from = 0; from < found.length; from += pathsAtOnce) {
    const some = found.slice(from, from + pathsAtOnce).map((one, index) => ({ ...one, number: from + index }))
    const missing = some.filter(
      ({ to, number }) => to === undefined && !effects.answers(stepOf(call, number, 'put').at),
    )
    const taken = await captureAsync(() => takeOut(missing, open))
    signal.throwIfAborted()
    try {
      for (const one of some) {
        await nextTurn(undefined, { signal })
        putBack(one, taken, call)
      }
    } finally {
      if (taken.status === 'ok') taken.value.remove()
    }
  }
  if (opened !== undefined && found.length > 0) await refreshIndex(await opened)
  return ''
}

/**
 * The path to restore, relative to the workspace. A link is restored itself, not its target. The whole workspace may be
 * named, because it is not removed.
 */
function restorable(call: HostCall): string {
  const file = call.file(0)
  const asking = { context: call.context, allow: allowOf(call.context) }
  return allowedPath('read', file, asking) === call.context.scope.folders.workspace
    ? '.'
    : call.shown(allowedEntry(file, asking))
}

/** A file or link that differs from what git has staged. Paths are relative to the workspace. */
interface Changed {
  readonly path: string
  /** The target, if it is a link. */
  readonly to?: string
  /** Whether it is to be executable, if that has to change. */
  readonly isExecutable?: boolean
  /** The entry in its way, which is removed: a folder at its path, or a file or link where its folder should be. */
  readonly inWay?: string
}

interface Looking {
  readonly call: HostCall
  readonly asking: FileWriter
}

const listChanged = [
  'diff',
  '--raw',
  '--no-renames',
  '--no-ext-diff',
  '--no-textconv',
  '--ignore-submodules',
  '--relative',
  '-z',
  '--',
]

/**
 * Everything to restore, after checking that it is allowed. @throws BatonError if part of it cannot be restored; then
 * nothing is
 */
async function findChanged(git: WorkspaceGit, target: string, { call, asking }: Looking): Promise<readonly Changed[]> {
  const { workspace } = call.context.scope.folders
  const rows = rowsOf(await git.run([...listChanged, target]))
  // fails if git knows nothing at the path
  if (rows.length === 0) await git.run(['ls-files', '--error-unmatch', '-z', '--', target], 'cut')
  const unmerged = rows.find(({ status }) => status === 'U')
  if (unmerged !== undefined) throw call.error(`${call.path(0)} cannot be restored: ${unmerged.path} is unmerged`)
  const links = await linksTo(rows, git)
  const cleared = new Set<string>()
  const found = rows.map(({ path, was, is }): Changed => {
    const to = links.get(path)
    const isExecutable = to === undefined && canRun(was) !== canRun(is) ? canRun(was) : undefined
    const entry = entryInWay(workspace, resolve(workspace, path))
    // several files may be blocked by the same entry
    const inWay = entry === undefined || cleared.has(entry) ? undefined : call.shown(entry)
    if (entry !== undefined) cleared.add(entry)
    return { path, ...defined({ to, isExecutable, inWay }) }
  })
  for (const { path, inWay } of found) {
    const absolute = resolve(workspace, path)
    if (inWay !== undefined) allowedEntry(resolve(workspace, inWay), asking)
    allowedEntry(absolute, asking)
    asking.allow({ kind: 'write', path: absolute, named: absolute })
  }
  await git.refuseFiltered(found.map(({ path }) => path))
  return found
}

/** A row of `git diff --raw`: the modes in the index and in the workspace, 0 if missing. */
interface Row {
  readonly path: string
  readonly was: number
  readonly is: number
  readonly status: string
}

function rowsOf(list: string): readonly Row[] {
  const fields = list.split('\0')
  return fields.flatMap((field, index) => {
    const [, was = '', is = '', status = ''] = /^:(\d+) (\d+) \S+ \S+ (\w)/.exec(index % 2 === 0 ? field : '') ?? []
    const path = fields[index + 1]
    const isSubmodule = was === '160000'
    return path === undefined || status === '' || isSubmodule
      ? []
      : [{ path, was: parseInt(was, 8), is: parseInt(is, 8), status }]
  })
}

const canRun = (mode: number): boolean => (mode & 0o100) !== 0
const isLink = (mode: number): boolean => (mode & 0o170000) === 0o120000

/** The targets of staged links, by path; without those that git checks out as files. */
async function linksTo(rows: readonly Row[], git: WorkspaceGit): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const links = rows.filter(({ was }) => isLink(was))
  for (let from = 0; from < links.length; from += pathsAtOnce) {
    const some = links.slice(from, from + pathsAtOnce)
    const { at, remove } = await takeOut(some, () => Promise.resolve(git))
    try {
      for (const { path } of some) if (lstatSync(at(path)).isSymbolicLink()) found.set(path, readlinkSync(at(path)))
    } finally {
      remove()
    }
  }
  return found
}

/** The entry to remove before a file or link can be created at a path (absolute); undefined if there is none. */
function entryInWay(workspace: string, path: string): string | undefined {
  const names = relative(workspace, path).split(sep)
  for (const count of names.keys()) {
    if (count === 0) continue
    const folder = join(workspace, ...names.slice(0, count))
    const status = entryStatus(folder)
    if (status === undefined) return undefined
    if (!status.isDirectory()) return folder
  }
  const status = entryStatus(path)
  return status === undefined || status.isFile() || status.isSymbolicLink() ? undefined : path
}

/** Files as git would write them, in a separate folder. */
interface Taken {
  /** The path of a file's copy there, by the file's path. */
  readonly at: (path: string) => string
  readonly remove: () => void
}

async function takeOut(files: readonly { readonly path: string }[], open: () => Promise<WorkspaceGit>): Promise<Taken> {
  if (files.length === 0) return { at: (path) => path, remove: () => undefined }
  const git = await open()
  const paths = files.map(({ path }) => path)
  await git.refuseFiltered(paths)
  const folder = makeTemporaryFolder('baton-restore-')
  try {
    await git.run(['checkout-index', `--prefix=${folder.path}/`, '--', ...paths])
  } catch (error) {
    folder.remove()
    throw error
  }
  return { at: (path) => join(folder.path, git.prefix, path), remove: folder.remove }
}

const steps = ['clear', 'put', 'mode'] as const

/** The call, at the place of one step for one file. */
function stepOf(call: ActCall, number: number, step: (typeof steps)[number]): ActCall {
  return call.below(item(number * steps.length + steps.indexOf(step)))
}

function putBack(
  { path, to, isExecutable, inWay, number }: Changed & { readonly number: number },
  taken: WorkResult<Taken>,
  call: ActCall,
): void {
  const { workspace } = call.context.scope.folders
  const absolute = resolve(workspace, path)
  const step = (name: (typeof steps)[number]): ActCall => stepOf(call, number, name)
  if (inWay !== undefined) deleteEntry(resolve(workspace, inWay), step('clear'))
  if (to !== undefined) return makeLink(absolute, to, step('put'))
  saveMadeFile(
    absolute,
    { op: 'restore', source: workspace, make: () => ({ file: unwrap(taken).at(path) }) },
    step('put'),
  )
  if (isExecutable === undefined) return
  const mode = (entryStatus(absolute)?.mode ?? 0o644) & 0o7777
  // whoever may read it may run it
  setMode(absolute, isExecutable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111, step('mode'))
}

/**
 * Git compares times and sizes first: without a refresh, its plumbing commands would report restored files as changed.
 */
async function refreshIndex(git: WorkspaceGit): Promise<void> {
  await captureAsync(() => git.run(['update-index', '-q', '--refresh'], 'cut'))
}

const timeLimitMs = 5 * 60_000
const maxOutputBytes = 16 * 1024 * 1024

interface WorkspaceGit {
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
async function openGit(call: HostCall, signal: AbortSignal): Promise<WorkspaceGit> {
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
const pathsAtOnce = 500

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
