import { join } from 'node:path'
import type { RunContext } from '../../src/event/context.ts'
import { allRights } from '../../src/event/permission.ts'
import { item, part } from '../../src/event/place.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { newRunId } from '../../src/journal/run-id.ts'
import { createMask, type LiveMask } from '../../src/journal/secrets.ts'
import { type Owner, processOwners } from '../../src/journal/owner.ts'
import { openRun } from '../../src/journal/store.ts'
import { createPermission } from '../../src/tool/permission.ts'
import type { AnswerCall } from '../../src/tool/changes/plan-transaction.ts'
import { type UndoOptions, type UndoReport, undoRun } from '../../src/undo/run.ts'
import { type SeveralUndone, undoRuns } from '../../src/undo/several.ts'
import { testContext } from '../helpers/context.ts'
import { lookBelow } from '../helpers/look.ts'
import { tempTree } from '../helpers/temp.ts'

export type Change = (at: (path: string) => string, call: () => AnswerCall) => void | Promise<void>

/** A workspace whose changes are recorded in run folders, as commands do. */
export interface UndoWorld {
  readonly root: string
  readonly runs: string
  readonly at: (path: string) => string
  /** Makes changes as one run; returns its folder. `end`: without one, the run was killed. */
  readonly run: (change: Change, end?: 'done' | 'none' | 'killed') => Promise<string>
  readonly undo: (folder: string, options?: Partial<UndoOptions>) => Promise<UndoReport>
  /** Undoes several, newest first, or none. */
  readonly undoAll: (folders: readonly string[]) => Promise<SeveralUndone>
  /** Everything below the workspace: content, permission bits, links. */
  readonly look: () => Readonly<Record<string, string>>
}

export function undoWorld(
  files: { readonly [path: string]: string | Uint8Array } = {},
  mask: LiveMask = createMask({}),
): UndoWorld {
  const root = tempTree(files)
  const [runs, home] = [tempTree(), tempTree()]
  const at = (path: string): string => join(root, path)
  const signal = new AbortController().signal
  const env = { PATH: process.env['PATH'] }
  const key = Buffer.alloc(32, 'key')
  // a process that is no longer running
  const gone = (): Owner => ({ ...processOwners.self(), pid: 999_999_999 })
  let started = 0

  async function run(change: Change, end: 'done' | 'none' | 'killed' = 'done'): Promise<string> {
    const id = newRunId(new Date(Date.UTC(2026, 0, 1, 0, 0, (started += 1))))
    const owners = end === 'killed' ? { ...processOwners, self: gone } : processOwners
    const journal = await openRun({ folder: join(runs, id), now: () => new Date(), mask, key, owners })
    journal.note({ k: 'run.start', run: id, file: at('ask.md'), hash: '', version: '0', facts: { workspace: root } })
    const permission = createPermission(allRights, { workspace: root })
    const effects = createEffects({ journal, signal, permission, onSpent: () => undefined })
    const context: RunContext = testContext({ workspace: root, services: { effects, permission } })
    let number = 0
    await change(at, () => ({ context, at: [part('changes'), item(number++)] }))
    if (end === 'done') journal.note({ k: 'run.end', exit: 0, stop: 'done' })
    await journal.close()
    return join(runs, id)
  }

  return {
    root,
    runs,
    at,
    run,
    undoAll: (folders) => undoRuns(folders, { workspace: root, env, home, mask, key, signal }),
    undo: (folder, options = {}) =>
      undoRun({
        folder,
        workspace: root,
        env,
        home,
        mask,
        key,
        signal,
        files: [],
        merges: false,
        dry: false,
        ...options,
      }),
    look: () => lookBelow(root),
  }
}
