import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { hasSystemCode } from '../base/error.ts'
import { existingAbove } from '../base/entries.ts'
import { isInside, realPath } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { isRunning } from '../base/process-group.ts'
import type { EffectKind, FileChangeRecord } from '../event/effects.ts'
import type { EffectHook } from '../journal/effects.ts'
import type { Environment } from '../journal/secrets.ts'
import { stateFolder } from '../journal/run-id.ts'
import { entryHash } from './file-hash.ts'

/*
 * What an undo or a resumed run changes is noted in a file of the installation, because a watch session in another
 * process must not start a run for it. While triggers of a workspace are followed, what any of its runs changes is noted
 * for them, too. A note has the content that was left, so that it never hides what somebody saves
 * afterwards. Without the file everything works: a watch session may then start a run too many.
 */

interface Around {
  readonly env: Environment
  readonly home: string
}

/** Effects that may change files without naming them. */
const changing: ReadonlySet<EffectKind> = new Set(['command', 'tool', 'mcp', 'git', 'agent'])

/** Above this size the file is set aside, and the one that was set aside before is dropped. */
const mostBytes = 4 * 1024 * 1024

function notesFile({ env, home }: Around): string {
  return join(stateFolder({ env, home }), 'own-changes.jsonl')
}

/** A change in progress (no `to`), or one that is over, with what it left. Times are milliseconds since 1970. */
interface OwnChange {
  readonly id: string
  readonly pid: number
  readonly from: number
  readonly to?: number
  /** The hashes (see `entryHash`) of the files that it named; omitted if it may have changed any file. */
  readonly left?: Readonly<Record<string, string | null>>
  /** Of any other run: only triggers count it as Baton's own. */
  readonly isOfRun?: true
}

/**
 * Notes every change of the effects that it is around. Paths in requests are relative to the workspace.
 * `isOfRun`: for triggers alone.
 */
export function ownChangesHook(
  workspace: string,
  around: Around,
  { isOfRun }: { readonly isOfRun: boolean } = { isOfRun: false },
): EffectHook {
  const file = notesFile(around)
  let count = 0

  function begin(): Pick<OwnChange, 'id' | 'pid' | 'from' | 'isOfRun'> {
    const { pid } = process
    const of = isOfRun ? ({ isOfRun } as const) : {}
    const begun = { id: `${pid}-${Date.now()}-${(count += 1)}`, pid, from: Date.now(), ...of }
    note(file, begun)
    return begun
  }

  return {
    change(record, act) {
      const begun = begin()
      try {
        act()
      } finally {
        note(file, { ...begun, to: Date.now(), left: hashesAt(record, workspace) })
      }
    },
    async effect(kind, act) {
      if (!changing.has(kind)) return act()
      const begun = begin()
      try {
        return await act()
      } finally {
        note(file, { ...begun, to: Date.now() })
      }
    },
  }
}

function hashesAt({ path, from }: FileChangeRecord, workspace: string): Readonly<Record<string, string | null>> {
  const named = [path, from].flatMap((one) => (typeof one === 'string' ? [realPath(resolve(workspace, one))] : []))
  return Object.fromEntries(named.map((one) => [one, hashAt(one)]))
}

/** A file that cannot be read has no hash that could be found again. */
function hashAt(path: string): string | null {
  try {
    return entryHash(path)
  } catch {
    return ''
  }
}

function note(file: string, change: OwnChange): void {
  const line = `${JSON.stringify(change)}\n`
  try {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > mostBytes) renameSync(file, `${file}.old`)
    appendFileSync(file, line, { mode: 0o600 })
  } catch (error) {
    // a note is not worth failing the work for
    if (!hasSystemCode(error, 'ENOENT')) return
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    note(file, change)
  }
}

export interface OwnChanges {
  readonly own: ReadonlySet<string>
  /** One of the paths may be changed by a process that is not done yet. */
  readonly isPending: boolean
}

/**
 * Which of these paths (absolute) are as an undo or a resumed run has left them since then, and with `ofRuns` also any
 * other run.
 */
export function findOwnChanges(
  paths: readonly string[],
  since: number,
  around: Around,
  { ofRuns }: { readonly ofRuns: boolean } = { ofRuns: false },
): OwnChanges {
  const changes = changesSince(since, notesFile(around)).filter(({ isOfRun }) => ofRuns || isOfRun !== true)
  if (changes.length === 0) return { own: new Set(), isPending: false }
  const open = changes.filter(({ pid, to }) => to === undefined && isRunning(pid))
  const over = changes.filter(({ to }) => to !== undefined)
  const own = paths.filter((path) => over.some((change) => isLeftBy(change, path)))
  const others = paths.filter((path) => !own.includes(path))
  return {
    own: new Set(own),
    isPending: others.some((path) => open.some((change) => isWithin(change, path))),
  }
}

function isLeftBy(change: OwnChange, path: string): boolean {
  if (change.left === undefined) return isWithin(change, path)
  const real = realPath(path)
  const hash = change.left[real]
  if (hash !== undefined) return hash !== '' && hashAt(real) === hash
  // a folder that was removed or moved, with everything in it
  const folder = Object.keys(change.left).find((one) => isInside(one, real))
  return folder !== undefined && isWithin(change, path)
}

/** File systems record times with less precision than clocks have. */
const timeStepMs = 20

/** Whether the last change at a path, or its removal, was in the time of this one. */
function isWithin({ from, to = Infinity }: OwnChange, path: string): boolean {
  const status = statSync(existingAbove(path), { throwIfNoEntry: false })
  return status !== undefined && status.ctimeMs >= from - timeStepMs && status.ctimeMs <= to + timeStepMs
}

function changesSince(since: number, file: string): readonly OwnChange[] {
  const found = new Map<string, OwnChange>()
  for (const one of [`${file}.old`, file]) {
    for (const line of textOf(one).split('\n')) {
      const change = changeIn(line)
      if (change !== undefined && (change.to ?? Infinity) >= since) found.set(change.id, change)
      else if (change !== undefined) found.delete(change.id)
    }
  }
  return [...found.values()]
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Undefined for a line that was cut by the end of its process. */
function changeIn(line: string): OwnChange | undefined {
  let data: Json
  try {
    data = JSON.parse(line) as Json
  } catch {
    return undefined
  }
  return isJsonObject(data) && isChange(data) ? data : undefined
}

function isChange(data: JsonObject): data is JsonObject & OwnChange {
  const { id, pid, from, to, left } = data
  return (
    typeof id === 'string' &&
    typeof pid === 'number' &&
    typeof from === 'number' &&
    (to === undefined || typeof to === 'number') &&
    (left === undefined || isJsonObject(left))
  )
}
