import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import { sha256 } from '../../base/hash.ts'
import { canonicalJson } from '../../base/json.ts'
import { emit } from '../../event/context.ts'
import { part } from '../../event/place.ts'
import type { Keeper } from './keeper.ts'

/** The keeper without git: knows only what the run itself has changed. */
export function createRecordKeeper(): Keeper {
  const touched = new Set<string>()
  return {
    commits: false,
    start: async () => ({}),
    async begin(records) {
      for (const { changed_files: files } of records) for (const path of files) touched.add(path)
    },
    changed: async (known) => [...new Set(known)].toSorted(),
    async keep({ changed_files }, { scope, services }) {
      for (const path of changed_files) touched.add(path)
      const { workspace } = scope.folders
      const state = services.effects.observe([...scope.at, part('commit')], { name: 'iterate.state', args: [] }, () =>
        sha256(canonicalJson([...touched].toSorted().map((path) => [path, contentName(resolve(workspace, path))]))),
      )
      return { changed_files, state }
    },
    async restore({ iteration, score }, records, context) {
      if (iteration === records.at(-1)?.iteration) return undefined
      const which = iteration < 0 ? 'before the first iteration' : `after iteration ${iteration}`
      emit(context, {
        type: 'warning',
        message: `the best score was ${score}, ${which}, and the files are those of the last iteration`,
        hint: 'In a git repository the best state would be restored.',
      })
      return undefined
    },
  }
}

function contentName(path: string): string | null {
  try {
    const status = lstatSync(path)
    if (status.isSymbolicLink()) return `-> ${readlinkSync(path)}`
    return status.isFile() ? sha256(readFileSync(path)) : 'folder'
  } catch {
    return null
  }
}
