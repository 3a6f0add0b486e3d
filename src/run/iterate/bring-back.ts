import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import { makeTemporaryFolder } from '../../base/temporary-folder.ts'
import type { RunContext } from '../../event/context.ts'
import { callPlace, part } from '../../event/place.ts'
import { deleteEntry, type FileCall, makeLink, saveMadeFile, setMode } from '../../tool/workspace-files.ts'
import type { Repository } from './repository.ts'

interface BringBack {
  readonly best: string
  readonly now: string
  readonly excluded: readonly string[]
  /** When the last iteration ended, in milliseconds since 1970. */
  readonly ended: number
}

export interface BroughtBack {
  readonly files: readonly string[]
  /** Why not all of them were restored, and a command that does it. */
  readonly problem?: { readonly why: string; readonly command: string }
}

/**
 * Restores the files of tree `best` that differ in tree `now`, except `excluded` (paths from the top of the
 * repository). Each file is changed like any other file of a run, so the change is recorded and can be undone. Returns
 * their paths relative to the workspace. If someone has changed one of them since the last iteration, all are left alone.
 */
export async function bringBack(
  { best, now, excluded, ended }: BringBack,
  repository: () => Promise<Repository>,
  context: RunContext,
): Promise<BroughtBack> {
  const { scope, services } = context
  const { signal, effects } = services
  const { workspace } = scope.folders
  const { path: folder, remove } = makeTemporaryFolder('baton-best-')
  let extracted = false
  async function extract(paths: readonly string[]): Promise<void> {
    if (!extracted) await (await repository()).extract(best, paths, folder, signal)
    extracted = true
  }
  try {
    const at = [...scope.at, part('changes')]
    const asked = { name: 'iterate.difference', args: [now, best] }
    // if it fails, a resumed run looks again
    const found = await effects.observeAsync(at, asked, async () => {
      let paths: readonly string[] = []
      try {
        const git = await repository()
        paths = await git.difference(now, best, excluded, signal)
        const present = await git.snapshot(signal)
        const [fromNow, fromBest] = await Promise.all(
          [now, best].map((tree) => git.difference(tree, present, excluded, signal)),
        )
        const isNew = (path: string): boolean => fromNow?.includes(path) === true && fromBest?.includes(path) === true
        // commands of the run may have changed files after the last commit
        const isLater = (path: string): boolean => (entryStatus(resolve(workspace, path))?.mtimeMs ?? 0) > ended
        const changed = paths.filter((path) => isNew(path) && isLater(path))
        if (changed.length > 0) throw new Error(`${changed.join(', ')} changed after the last iteration`)
        await extract(paths)
      } catch (error) {
        signal.throwIfAborted()
        if (isBatonError(error) || error instanceof TypeError) throw error
        throw new BatonError('CHANGES_FAILED', messageOf(error), { hint: commandFor(best, paths) })
      }
      return paths.map((path) => ({ path, ...stateOf(join(folder, path), resolve(workspace, path)) }))
    })
    const files = found.map(({ path }) => path)
    // a replay does not need the contents, and may have no repository
    if (!extracted) await extract(files).catch(() => signal.throwIfAborted())
    for (const [index, { path, ...to }] of found.entries()) {
      signal.throwIfAborted()
      try {
        putBack(resolve(workspace, path), { ...to, source: join(folder, path) }, { context, at: callPlace(at, index) })
      } catch (error) {
        if (!isBatonError(error) || (error.code !== 'FILE_FAILED' && error.code !== 'OUTSIDE_WORKSPACE')) throw error
        return { files, problem: { why: messageOf(error), command: commandFor(best, files) } }
      }
    }
    return { files }
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'CHANGES_FAILED') throw error
    return { files: [], problem: { why: error.message, command: error.hint ?? '' } }
  } finally {
    remove()
  }
}

const mostNamed = 10

function commandFor(tree: string, paths: readonly string[]): string {
  const named = paths.length === 0 || paths.length > mostNamed ? ['.'] : paths.map(shellWord)
  return `git restore --source=${tree.slice(0, 12)} -- ${named.join(' ')}`
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

interface EntryState {
  readonly kind: 'absent' | 'link' | 'file'
  /** The target of a link. */
  readonly to?: string
  /** Permission bits of a file, if they have to be changed; git stores only whether it is executable. */
  readonly mode?: number
}

function stateOf(path: string, present: string): EntryState {
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return { kind: 'absent' }
  if (status.isSymbolicLink()) return { kind: 'link', to: readlinkSync(path) }
  const before = lstatSync(present, { throwIfNoEntry: false })?.mode ?? 0o644
  return ((before ^ status.mode) & 0o111) === 0 ? { kind: 'file' } : { kind: 'file', mode: status.mode & 0o777 }
}

function putBack(
  path: string,
  { kind, to = '', mode, source }: EntryState & { readonly source: string },
  call: FileCall,
): void {
  const step = (name: 'after' | 'before'): FileCall => ({ ...call, at: [...call.at, part(name)] })
  switch (kind) {
    case 'absent':
      return void deleteEntry(path, call)
    case 'link':
      deleteEntry(path, step('before'))
      return makeLink(path, to, call)
    case 'file':
      // the folder with the contents has another name in each process: a resumed run compares what is asked
      saveMadeFile(path, { op: 'unpack', source: path, make: () => readFileSync(source) }, call)
      if (mode !== undefined) setMode(path, mode, step('after'))
  }
}
