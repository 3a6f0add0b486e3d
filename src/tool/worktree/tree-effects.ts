import type { RunFolders } from '../../event/context.ts'
import type { AskedChange, Effects, Kept, PathState, PlannedChange } from '../../event/effects.ts'
import { recordedPath } from './tree-paths.ts'

type TreeFolders = Pick<RunFolders, 'workspace' | 'standsFor'>

/**
 * The effects of work in a work tree. File changes are recorded with their real path, as seen from the workspace of the
 * run, so that readers of the record find the files and do not mistake them for changes of the workspace. They are not
 * undone.
 */
export function treeEffects(effects: Effects, folders: TreeFolders, assertThere: () => void): Effects {
  const named = <T extends object>(given: T): T => renamed(given, folders)
  return {
    ...effects,
    changeFile(at, asked, plan, permit) {
      const planned: typeof plan = (allow) => {
        assertThere()
        const change = plan(allow)
        return change && inTree(change, folders)
      }
      return effects.changeFile(at, named<AskedChange>(asked), planned, permit)
    },
    perform(at, effect, act, permit) {
      const acting: typeof act = (signal, granted) => {
        assertThere()
        return act(signal, granted)
      }
      return effects.perform(at, effect, acting, permit)
    },
    under: (permission) => treeEffects(effects.under(permission), folders, assertThere),
  }
}

function inTree({ record, act, keep }: PlannedChange, folders: TreeFolders): PlannedChange {
  const keepHere = (isFirst: (path: string) => boolean): Kept => {
    const { before, after, contents } = (keep as NonNullable<typeof keep>)(isFirst)
    const states = (all: readonly PathState[]): readonly PathState[] => all.map((state) => renamed(state, folders))
    return { before: states(before), after: states(after), contents, worktree: folders.workspace }
  }
  return { record: renamed(record, folders), act, ...(keep === undefined ? {} : { keep: keepHere }) }
}

const pathKeys = ['path', 'from', 'source'] as const

function renamed<T extends object>(given: T, folders: TreeFolders): T {
  const paths = pathKeys.flatMap((key) => {
    const value: unknown = Reflect.get(given, key)
    return typeof value === 'string' ? [[key, recordedPath(folders, value)] as const] : []
  })
  return { ...given, ...Object.fromEntries(paths) }
}
