import { resolve } from 'node:path'
import { isInside, realPath } from '../base/files.ts'
import type { JsonObject } from '../base/json.ts'
import type { EffectKind, Effects } from '../event/effects.ts'
import { statusAt } from '../watch/status.ts'
import { aroundChanges } from './around-changes.ts'

export interface OwnChanges {
  /** Whether an effect of the run has changed the file, or made or removed it. */
  readonly has: (path: string) => boolean
  readonly add: (path: string) => void
  /** Every file that is such a one, and those that file effects have written as they were. Absolute. */
  readonly paths: () => readonly string[]
  readonly around: (effects: Effects, workspace: string) => Effects
}

export interface OwnChangesOptions {
  /** All that is watched so far, as it is now. */
  readonly look: () => ReadonlyMap<string, string | null>
  /** What counts of a prompt file as it is now; undefined for other files. */
  readonly promptPrint: (path: string) => string | null | undefined
}

/** Effects that may change files without saying which. */
const changing: ReadonlySet<EffectKind> = new Set(['command', 'tool', 'mcp', 'git', 'agent'])

/**
 * Notes what a run changes itself, so that watching does not run again because of it: what a file effect names, and what
 * differs between start and end of a command, tool or agent (DESIGN 13 "Watch"). A prompt file counts only when the part
 * above its `====` line changes: writing answers below hides no edit of a person.
 */
export function createOwnChanges({ look, promptPrint }: OwnChangesOptions): OwnChanges {
  const paths = new Set<string>()
  const folders = new Set<string>()
  const rewritten = new Set<string>()

  function add(path: string): void {
    paths.add(path)
    paths.add(realPath(path))
  }

  function noteFile<T>(request: JsonObject, workspace: string, act: () => T): T {
    for (const named of namedBy(request)) rewritten.add(resolve(workspace, named))
    const before = changedBy(request).map((named) => {
      const path = resolve(workspace, named)
      return { path, print: promptPrint(path), isFolder: isFolder(path) }
    })
    try {
      return act()
    } finally {
      for (const { path, print, isFolder: wasFolder } of before) {
        if (print === undefined || print !== promptPrint(path)) add(path)
        if (request['op'] !== 'mkdir' && (wasFolder || isFolder(path))) folders.add(path)
      }
    }
  }

  async function noteAll<T>(act: () => Promise<T>): Promise<T> {
    const before = look()
    try {
      return await act()
    } finally {
      const after = look()
      for (const path of new Set([...before.keys(), ...after.keys()])) {
        if ((before.get(path) ?? null) !== (after.get(path) ?? null)) add(path)
      }
    }
  }

  return {
    has: (path) =>
      paths.has(path) ||
      (paths.size > 0 && paths.has(realPath(path))) ||
      [...folders].some((one) => isInside(one, path)),
    add,
    paths: () => [...new Set([...paths, ...rewritten])],
    around: (effects, workspace) => ({
      ...aroundChanges(effects, ({ record, act }) => ({
        record,
        act: (disk) => noteFile(record, workspace, () => act(disk)),
      })),
      perform(at, effect, act) {
        if (!changing.has(effect.kind)) return effects.perform(at, effect, act)
        return effects.perform(at, effect, (signal, grant) => noteAll(() => act(signal, grant)))
      },
    }),
  }
}

/** What a file effect changes, if anything; of what is added to a file the hash before is not recorded. */
function changedBy(request: JsonObject): readonly string[] {
  const { op, before, after } = request
  return op !== 'append' && before === after ? [] : namedBy(request)
}

function namedBy({ op, path, from }: JsonObject): readonly string[] {
  return [path, op === 'move' ? from : undefined].filter((name) => typeof name === 'string')
}

function isFolder(path: string): boolean {
  return statusAt(path)?.isDirectory() === true
}
