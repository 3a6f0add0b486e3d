import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeTemporaryFolder } from '../../base/temporary-folder.ts'
import type { RunContext } from '../../event/context.ts'
import { callPlace, part } from '../../event/place.ts'
import { deleteEntry, type FileCall, makeLink, saveMadeFile, setMode } from '../../tool/workspace-files.ts'
import type { Repository } from './repository.ts'

/**
 * Restores the files of tree `best` that differ in tree `now`, except `excluded` (paths from the top of the
 * repository). Each file is changed like any other file of a run, so the change is recorded and can be undone. Returns
 * their paths relative to the workspace.
 */
export async function bringBack(
  { best, now, excluded }: { readonly best: string; readonly now: string; readonly excluded: readonly string[] },
  repository: () => Promise<Repository>,
  context: RunContext,
): Promise<readonly string[]> {
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
    const entries = await effects.observeAsync(at, asked, async () => {
      const paths = await (await repository()).difference(now, best, excluded, signal)
      await extract(paths)
      return paths.map((path) => ({ path, ...stateOf(join(folder, path), resolve(workspace, path)) }))
    })
    const paths = entries.map(({ path }) => path)
    // a replay does not need the contents, and may have no repository
    if (!extracted) await extract(paths).catch(() => signal.throwIfAborted())
    for (const [index, { path, ...to }] of entries.entries()) {
      signal.throwIfAborted()
      putBack(resolve(workspace, path), { ...to, source: join(folder, path) }, { context, at: callPlace(at, index) })
    }
    return paths
  } finally {
    remove()
  }
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
