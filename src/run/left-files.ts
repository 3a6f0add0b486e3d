import { resolve } from 'node:path'
import { canonicalJson, isObject, type Json } from '../base/json.ts'
import type { AskedCall, FileChangeRecord, PlanChange } from '../event/effects.ts'
import type { EffectHook } from '../journal/effects.ts'
import { entryHash, startHash } from '../tool/file-hash.ts'
import { isFolder, statusAt } from '../watch/prints.ts'

/** The final content at a path after a run: its hash (see `entryHash`) and its size in bytes. */
export interface LeftFile {
  readonly hash: string | null
  readonly size: number
}

/** The files that a run changed, with their state at its end. Absolute paths. */
export type LeftFiles = ReadonlyMap<string, LeftFile>

/** The current state at these paths. */
export function filesLeft(paths: readonly string[]): LeftFiles {
  return new Map(paths.map((path) => [path, leftAt(path)]))
}

function leftAt(path: string): LeftFile {
  return { hash: hashAt(path), size: Number(statusAt(path)?.size ?? 0) }
}

/** The files that an earlier run changed itself; they count as unchanged as long as they are in its final state. */
export interface OwnFiles {
  readonly isAsLeft: (path: string) => boolean
  /** See `VerifyOptions`. */
  readonly isOwnRead: (call: AskedCall, readings: { readonly before: unknown; readonly now: unknown }) => boolean
  readonly whyChangeAgain: (record: FileChangeRecord, plan: PlanChange) => string | undefined
  readonly found: LeftFiles
}

export function createOwnFiles(
  left: LeftFiles,
  { workspace, added }: { readonly workspace: string; readonly added: Pick<AddedTexts, 'isAllBehind'> },
): OwnFiles {
  const found = new Map<string, LeftFile>()

  function isAsLeft(path: string): boolean {
    const then = left.get(path)
    if (then === undefined || hashAt(path) !== then.hash) return false
    found.set(path, then)
    return true
  }

  /** Whether the written content still exists: other parts of the session may have appended to the file since. */
  function stillHolds(path: string): boolean {
    if (isAsLeft(path)) return true
    const then = left.get(path)
    if (
      then === undefined ||
      !added.isAllBehind(path, then.size) ||
      ifReadable(() => startHash(path, then.size)) !== then.hash
    )
      return false
    found.set(path, leftAt(path))
    return true
  }

  function whyChangeAgain(record: FileChangeRecord, plan: PlanChange): string | undefined {
    const { op, path } = record
    const from = isText(record['from']) ? record['from'] : path
    if (op === 'mkdir') return isFolder(resolve(workspace, path)) ? undefined : `${path} has been removed since`
    const changed = (op === 'move' ? [path, from] : [path]).find((one) => !stillHolds(resolve(workspace, one)))
    if (changed !== undefined) return `${changed} has changed since`
    switch (op) {
      case 'delete':
      case 'move':
        return undefined
      case 'copy': {
        const origin = resolve(workspace, from)
        return hashAt(origin) === record.after || isAsLeft(origin) ? undefined : `${from} changed`
      }
      default:
        return isSameChange(record, plan) ? undefined : `it would write different content to ${path}`
    }
  }

  function isOwnRead(
    { name, args }: AskedCall,
    { before, now }: { readonly before: unknown; readonly now: unknown },
  ): boolean {
    const [first, ...others] = Array.isArray(args) ? (args as readonly Json[]) : []
    const base = others.map((option) => (isObject(option) ? option['base_dir'] : undefined)).find(isText)
    const at = (path: string): string => resolve(workspace, base ?? '', path)
    if (lists.has(name)) {
      const rest = (list: unknown): readonly unknown[] =>
        filesIn(list).filter((file) => !(isObject(file) && isText(file['path']) && isAsLeft(at(file['path']))))
      return canonicalJson(rest(before) as Json) === canonicalJson(rest(now) as Json)
    }
    return isText(first) && readers.test(name) && isAsLeft(at(first))
  }

  return { isAsLeft, isOwnRead, whyChangeAgain, found }
}

/** Observations of a single file, which is their first argument. */
const readers = /^(file\.read$|attachment$|aip\.(?:path|pdf|zip)\.|aip\.file\.(?!list|first$|stats$))/
/** Observations whose value is a list of files with their paths. */
const lists: ReadonlySet<string> = new Set(['aip.file.list', 'aip.file.list_load'])

function filesIn(value: unknown): readonly unknown[] {
  const [list] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return Array.isArray(list) ? list : []
}

/** Whether the same would be written, regardless of the previous content. */
function isSameChange(record: FileChangeRecord, plan: PlanChange): boolean {
  try {
    const planned = plan(() => {})?.record
    return planned?.path === record.path && planned.after === record.after && planned['mode'] === record['mode']
  } catch {
    return false
  }
}

function hashAt(path: string): string | null {
  return ifReadable(() => entryHash(path))
}

/** Returns '' for unreadable files, which no hash equals. */
function ifReadable<T>(hash: () => T): T | '' {
  try {
    return hash()
  } catch {
    return ''
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** The texts that runs of a watch session have appended to files. */
export interface AddedTexts {
  /** Tracks the appends of effects. Paths in records are relative to the workspace. */
  readonly hook: (workspace: string) => EffectHook
  /** Whether everything after the first `size` bytes of a file (absolute) was appended by runs of the session. */
  readonly isAllBehind: (path: string, size: number) => boolean
}

/** The contiguous appended range at the end of a file, in bytes. */
interface Added {
  readonly from: number
  readonly to: number
}

export function createAddedTexts(): AddedTexts {
  const texts = new Map<string, Added>()

  function note(record: FileChangeRecord, path: string): void {
    const { op, offset, bytes } = record
    if (op !== 'append' || typeof offset !== 'number' || typeof bytes !== 'number') return void texts.delete(path)
    const before = texts.get(path)
    // if the size differs from that after the last append, something else has written to the file
    texts.set(path, { from: before?.to === offset ? before.from : offset, to: offset + bytes })
  }

  return {
    hook: (workspace) => ({
      change(record, act) {
        act()
        note(record, resolve(workspace, record.path))
      },
    }),
    isAllBehind(path, size) {
      const added = texts.get(path)
      return added !== undefined && added.from <= size && BigInt(added.to) === statusAt(path)?.size
    },
  }
}
