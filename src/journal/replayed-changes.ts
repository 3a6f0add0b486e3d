import { messageOf } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { AskedChange, Disk, Effects, FileChangeRecord, Place } from '../event/effects.ts'
import { attempt, passOn } from './attempt.ts'
import { fingerprint } from './fingerprint.ts'
import type { ReplayIndex } from './replay-index.ts'
import type { ReplayRecord } from './replay-record.ts'
import { noMask } from './secrets.ts'
import type { StartedRecord } from './uncertain.ts'

/** Where the file changes of a replayed run are done. */
export interface ScratchFiles {
  /**
   * Does a change that was recorded. `write` writes what a script gives, to the path that it is told; undefined: what is
   * there comes from other files.
   */
  change(record: FileChangeRecord, write: ((disk: Disk) => void) | undefined): void
}

export interface ChangeOptions {
  readonly index: ReplayIndex
  readonly record: ReplayRecord
  readonly scratch: ScratchFiles
}

/** Changes whose content comes from the caller, and not from the disk. */
const givesContent: ReadonlySet<string> = new Set(['write', 'append', 'link'])

/**
 * File changes that are compared with the recorded ones and done in a scratch folder. What the disk holds does not
 * matter: of a change that moves, copies or removes only the paths are compared.
 */
export function createReplayedChanges({ index, record, scratch }: ChangeOptions): Effects['changeFile'] {
  const { source } = index

  /** A change that did nothing, or was refused. */
  function unchanged(at: Place, asked: AskedChange): false {
    const entry = record.entryAt(at)
    if (entry?.observed === undefined) return record.differ(at, { name: 'file', request: asked }, entry)
    passOn(record.answerOf(at, { name: 'file.change', args: asked }, entry.observed))
    return false
  }

  return (at, asked, plan) => {
    const entry = record.entryAt(at)
    if (entry?.started === undefined) return unchanged(at, asked)
    const differ = (request: Json): never => record.differ(at, { name: 'file', request }, entry)

    const started = source.at(entry.started) as StartedRecord
    const change = source.value(started.request) as FileChangeRecord
    if (started.kind !== 'file' || !isSameChange(asked, { started, change })) return differ(asked)
    record.count('file', entry.started)
    const ended = entry.ended === undefined ? undefined : source.at(entry.ended)
    if (ended?.k === 'ended' && ended.status !== 'ok') throw record.errorOf(ended.error)
    if (!givesContent.has(change.op)) {
      scratch.change(change, undefined)
      return true
    }
    const planned = attempt(plan)
    if (planned.status === 'failed') return differ({ ...asked, refused: messageOf(planned.error) })
    if (planned.value?.record.after !== change.after) return differ(planned.value?.record ?? asked)
    scratch.change(change, planned.value.act)
    return true
  }
}

/** Paths inside the workspace are written relative to it, so the fingerprint holds wherever that is. */
function isSameChange(
  asked: AskedChange,
  { started, change }: { readonly started: StartedRecord; readonly change: FileChangeRecord },
): boolean {
  if (started.fp === fingerprint(asked, noMask)) return true
  return asked.op === change.op && asked.path === change.path && asked['from'] === change['from']
}
