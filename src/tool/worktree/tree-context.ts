import { join, relative } from 'node:path'
import { createPool } from '../../base/concurrency.ts'
import { isInside } from '../../base/files.ts'
import { listFiles } from '../../base/glob.ts'
import type { ReadLog } from '../../base/reads.ts'
import type { RunContext, RunFolders, RunServices } from '../../event/context.ts'
import type { EventBody } from '../../event/event.ts'
import type { Permission, Rights } from '../../event/permission.ts'
import type { RunSources } from '../../event/sources.ts'
import { createPermission } from '../permission.ts'
import { pathHere, recordedPath } from './tree-paths.ts'
import {
  type AskedChange,
  checkedBefore,
  decorate,
  type Effects,
  type Kept,
  type PathState,
  type PlannedChange,
} from '../../event/effects.ts'

/**
 * The same context with a folder (absolute, links resolved) in a work tree as workspace: files, programs, answers and
 * agents work there. What is protected in the workspace is protected in the work tree too. Agents and settings are
 * still read from the workspace. `models` says which of its files models have changed. `assertThere` is called before an
 * effect in it is done, and throws if the work tree is gone.
 */
export function treeContext(
  outer: RunContext,
  workspace: string,
  assertThere: () => void,
): { readonly context: RunContext; readonly models: ModelChanges } {
  const { scope, services } = outer
  const { folders: around } = scope
  const folders: RunFolders = {
    ...around,
    workspace,
    standsFor: [around.workspace, ...(around.standsFor ?? [])],
    cwd: isInside(around.workspace, around.cwd)
      ? join(workspace, relative(around.workspace, around.cwd))
      : pathHere(around, around.cwd),
  }
  const copiesOf = (paths: readonly string[]): readonly string[] => [
    ...new Set([...paths, ...paths.map((path) => pathHere(folders, path))]),
  ]
  const permissionOf = (rights: Rights): Permission => createPermission(rights, folders)
  const rights = rightsIn(scope.rights, copiesOf)
  const permission = permissionOf(rights)
  const { sources, models } = treeSources(services.sources, { workspace, outside: around.workspace, copiesOf })
  const { earlier: _, reads, ...others } = services
  const own: RunServices = {
    ...others,
    permission,
    permissionOf,
    effects: treeEffects(services.effects, folders, assertThere).under(permission),
    events: (at, event) => services.events(at, isOfFiles(event) ? { ...event, isolated: true } : event),
    sources,
    ...(reads === undefined ? {} : { reads: readsOutside(reads, { workspace, outside: around.workspace }) }),
  }
  return { context: { scope: { ...scope, rights, folders }, services: own }, models }
}

function isOfFiles(event: EventBody): event is Extract<EventBody, { readonly isolated?: true }> {
  return event.type === 'file.changed' || event.type === 'changes.applied'
}

/** Paths that are protected in the workspace are also protected in the work tree. */
function rightsIn(rights: Rights, copiesOf: (paths: readonly string[]) => readonly string[]): Rights {
  return {
    ...rights,
    packs: rights.packs.map((pack) => ({
      ...pack,
      executed: copiesOf(pack.executed),
      ownFolders: copiesOf(pack.ownFolders),
      keptFolders: copiesOf(pack.keptFolders),
    })),
    protections: rights.protections.map((protection) => ({ ...protection, paths: copiesOf(protection.paths) })),
  }
}

/**
 * The files of a work tree that models have changed: those changed by answers, and all files once programs run by
 * models could write.
 */
export interface ModelChanges {
  readonly has: (path: string) => boolean
}

interface Sides {
  readonly workspace: string
  /** The workspace that the work tree was made for. */
  readonly outside: string
}

function treeSources(
  outer: RunSources,
  { copiesOf }: Sides & { readonly copiesOf: (paths: readonly string[]) => readonly string[] },
): { readonly sources: RunSources; readonly models: ModelChanges } {
  const changed = new Set<string>()
  let hasPrograms = false
  const sources: RunSources = {
    ...outer,
    change(files) {
      for (const file of files) changed.add(file)
      outer.change(files)
    },
    writing(folder) {
      hasPrograms = true
      return outer.writing(folder)
    },
    inTurn: createPool(1),
    executed: () => copiesOf(outer.executed()),
  }
  return { sources, models: { has: (path) => hasPrograms || changed.has(path) } }
}

/**
 * Reads in a work tree are logged as reads of the same path in the workspace, because watch mode watches the user's
 * files in their current state.
 */
function readsOutside(outer: ReadLog, { workspace, outside }: Sides): ReadLog {
  const moved = (path: string): string => (isInside(workspace, path) ? join(outside, relative(workspace, path)) : path)
  const isHere = (path: string): boolean => isInside(workspace, path)
  return {
    ...outer,
    file: (path, text) => (isHere(path) ? outer.file(moved(path)) : outer.file(path, text)),
    prompt: (path, text) => (isHere(path) ? outer.prompt(moved(path)) : outer.prompt(path, text)),
    list(list) {
      if (!isHere(list.baseDir)) return outer.list(list)
      const there = { ...list, baseDir: moved(list.baseDir), root: moved(list.root) }
      outer.list({ ...there, found: listFiles(list.globs, there).map(({ absolute }) => absolute) })
    },
  }
}

type TreeFolders = Pick<RunFolders, 'workspace' | 'standsFor'>

/**
 * The effects of work in a work tree. File changes are recorded with their real path, as seen from the workspace of the
 * run, so that readers of the record find the files and do not mistake them for changes of the workspace. They are not
 * undone.
 */
function treeEffects(effects: Effects, folders: TreeFolders, assertThere: () => void): Effects {
  return decorate(checkedBefore(effects, assertThere), (inner) => ({
    changeFile(at, asked, plan, permit) {
      const planned: typeof plan = (allow) => {
        const change = plan(allow)
        return change && inTree(change, folders)
      }
      return inner.changeFile(at, renamed<AskedChange>(asked, folders), planned, permit)
    },
  }))
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
