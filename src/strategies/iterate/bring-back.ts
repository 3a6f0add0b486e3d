import { readFileSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { shellWord } from '../../base/command.ts'
import { entryStatus } from '../../base/entries.ts'
import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import { makeTemporaryFolder } from '../../base/temporary-folder.ts'
import type { RunContext } from '../../event/context.ts'
import { callPlace, part } from '../../event/place.ts'
import {
  deleteEntry,
  type FileCall,
  makeLink,
  removeEmptyFolder,
  saveMadeFile,
  setMode,
} from '../../tool/workspace-files.ts'
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
    const steps = found.map((one, index) => ({ ...one, index }))
    // a file can be where a folder has to be, and the other way round
    const [removed, others] = [true, false].map((isRemoved) =>
      steps.filter(({ kind }) => (kind === 'absent') === isRemoved),
    )
    for (const { index, path, ...to } of [...(removed ?? []), ...(others ?? [])]) {
      signal.throwIfAborted()
      try {
        const call = { context, at: callPlace(at, index) }
        if (to.over === 'folder') removeFolders(path, removed ?? [], call)
        putBack(resolve(workspace, path), { ...to, source: join(folder, path) }, call)
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

interface EntryState {
  readonly kind: 'absent' | 'link' | 'file'
  /** The target of a link. */
  readonly to?: string
  /** Permission bits of a file, if they have to be changed; git stores only whether it is executable. */
  readonly mode?: number
  /** What is in its place. */
  readonly over?: 'folder' | 'link'
}

function stateOf(path: string, present: string): EntryState {
  const status = entryStatus(path)
  const before = entryStatus(present)
  const state: Pick<EntryState, 'over'> =
    before?.isDirectory() === true ? { over: 'folder' } : before?.isSymbolicLink() === true ? { over: 'link' } : {}
  if (status === undefined || status.isDirectory()) return { ...state, kind: 'absent' } as const
  if (status.isSymbolicLink()) return { ...state, kind: 'link', to: readlinkSync(path) } as const
  const isSame = (((before?.mode ?? 0o644) ^ status.mode) & 0o111) === 0
  return { ...state, kind: 'file', ...(isSame ? {} : { mode: status.mode & 0o777 }) } as const
}

/** Removes a folder, and those in it that become empty when these files are removed. A folder with other files stays. */
function removeFolders(path: string, removed: readonly { readonly path: string }[], call: FileCall): void {
  const folders = new Set([path])
  for (const { path: file } of removed) {
    for (let above = dirname(file); above.startsWith(`${path}/`); above = dirname(above)) folders.add(above)
  }
  const { workspace } = call.context.scope.folders
  for (const [index, folder] of [...folders].toSorted().toReversed().entries()) {
    removeEmptyFolder(resolve(workspace, folder), { ...call, at: callPlace([...call.at, part('before')], index) })
  }
}

function putBack(
  path: string,
  { kind, to = '', mode, over, source }: EntryState & { readonly source: string },
  call: FileCall,
): void {
  const step = (name: 'after' | 'before'): FileCall => ({ ...call, at: [...call.at, part(name)] })
  switch (kind) {
    case 'absent':
      return over === 'folder' ? undefined : void deleteEntry(path, call)
    case 'link':
      if (over !== 'folder') deleteEntry(path, step('before'))
      return makeLink(path, to, call)
    case 'file':
      // otherwise the file that the link leads to would be written
      if (over === 'link') deleteEntry(path, step('before'))
      // the folder with the contents has another name in each process: a resumed run compares what is asked
      saveMadeFile(path, { op: 'unpack', source: path, make: () => readFileSync(source) }, call)
      if (mode !== undefined) setMode(path, mode, step('after'))
  }
}
