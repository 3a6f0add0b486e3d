import { crc32 } from 'node:zlib'
import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { Cost, EffectKind, EffectRepeat, Estimate } from '../event/effects.ts'
import type { Owner } from './owner.ts'

/** Version of the line and record format. Additive changes keep it: readers ignore unknown fields. */
export const formatVersion = 2

/** A thrown error, as far as it can be thrown again. `baton`: a BatonError with its code. */
export interface RecordedError {
  readonly type: 'baton' | 'system' | 'other'
  readonly code?: string
  readonly reason?: string
  readonly message: string
  readonly hint?: string
  readonly place?: { readonly file: string; readonly line?: number; readonly column?: number }
}

/**
 * How something ended. An omitted `value` is undefined. `cost` is that of an effect, including its failed tries;
 * omitted parts are unknown.
 */
export type Outcome<Value> =
  | { readonly status: 'ok'; readonly value?: Value; readonly cost?: Cost }
  | { readonly status: 'error'; readonly error: RecordedError; readonly cost?: Cost }
  | { readonly status: 'cancelled'; readonly error: RecordedError; readonly cost?: Cost }

/** What is known of an effect without a recorded end. From the disk: it was done (`found`), or not (`missing`). */
export type KnownEnd = 'found' | 'missing' | UncertainChoice

/**
 * What the user says about an effect that may have happened: repeat it, it was done, it failed, or the model whose tool
 * it is decides what to do about it.
 */
export type UncertainChoice = 'redo' | 'done' | 'fail' | 'tell'

/**
 * The kinds of records (docs/design/journal.md) and their fields. `p` is the place as text. `Value` is any recordable
 * value when writing, and encoded JSON or a blob reference in a record that was read.
 */
type RecordBody<Value> =
  /** First record of a file: who writes it. */
  | ({
      readonly k: 'seg'
      readonly v: number
      /** Bytes of complete lines in the previous epoch's file when this one was started. */
      readonly before?: number | undefined
    } & Owner)
  | {
      readonly k: 'run.start'
      readonly run: string
      readonly file: string
      readonly hash: string
      readonly version: string
      /** Everything else that characterizes this run, without command line arguments. */
      readonly facts?: Value
      /** The name of each source the run executes, mapped to the hash of its content. */
      readonly pins?: Value
    }
  /** Resumes the run. `overrides`: settings from now on, added to the existing ones; `-c key=value` each. */
  | { readonly k: 'run.resume'; readonly overrides: Value }
  | {
      readonly k: 'source'
      readonly name: string
      readonly path: string
      readonly hash: string
      readonly value: Value
    }
  /** Something that was read from outside. */
  | ({
      readonly k: 'obs'
      readonly p: string
      readonly name: string
      readonly args: Value
      /** The single file that was read, as displayed. */
      readonly reads?: Value
    } & Outcome<Value>)
  /** A script's call that acted has returned; what it did is recorded below its place. */
  | ({ readonly k: 'call'; readonly p: string; readonly name: string; readonly args: Value } & Outcome<Value>)
  | {
      readonly k: 'started'
      readonly p: string
      readonly kind: EffectKind
      readonly repeat: EffectRepeat
      /** SHA-256 of the canonical request without secrets. */
      readonly fp: string
      readonly request: Value
      readonly estimate?: Estimate
      /** For a file change: `ChangeStates`. The contents are blobs, by the hashes in it. */
      readonly kept?: Value
      /** In a cassette: the text that a file change writes, if no other record contains it. */
      readonly text?: Value
      /**
       * For an approval, in milliseconds since 1970: when the question was first asked, and until when an answer
       * counts.
       */
      readonly asked?: number
      readonly until?: number
      /** For an approval: what the question also says. See `ActionAbout`. */
      readonly about?: Value
    }
  /**
   * A group of processes that the effect of the `started` record `s`, of the same epoch, has started. Its leader is
   * identified by pid and start time. `stays`: it keeps running when the effect has ended.
   */
  | {
      readonly k: 'process'
      readonly p: string
      readonly s: number
      readonly pid: number
      readonly start: string
      readonly stays?: true
    }
  /** `s` is the number of the `started` record, in the same epoch. */
  | ({
      readonly k: 'ended'
      readonly p: string
      readonly s: number
      readonly kind: EffectKind
      /**
       * For a model call, or a program that is an agent: the usage of each of its tries, for the total of the run
       * (`Spent`).
       */
      readonly spent?: Value
    } & Outcome<Value>)
  /**
   * The outcome of an effect, `[epoch, number]`, without a recorded end. `found`: the disk shows that it was done; the
   * other values are the user's choice, unless `by` says that the disk shows it.
   */
  | {
      readonly k: 'choice'
      readonly p: string
      readonly of: readonly [epoch: number, number: number]
      readonly choice: UncertainChoice | 'found'
      readonly by?: 'disk'
    }
  /**
   * A boundary starts from nothing: all older records at and below its place are void, and so is the `done` of every
   * boundary around it. `key`: the name of each input, mapped to the hash of its value. `label`: what it is about, for
   * display. `below`: older records below its place are kept, because only what the boundaries there compare has
   * changed.
   */
  | {
      readonly k: 'begin'
      readonly p: string
      readonly key: Readonly<Record<string, string>>
      readonly label?: Value
      readonly below?: 'kept'
    }
  /**
   * What was done at and below a place is being undone, because some of it failed: the work continues after that error.
   */
  | { readonly k: 'undo'; readonly p: string }
  /** It was undone by a process that is gone, and is repeated: all older records at and below its place are void. */
  | { readonly k: 'again'; readonly p: string }
  /** A boundary is finished. `below`: a resumed run still repeats its work, using the records below its place. */
  | { readonly k: 'done'; readonly p: string; readonly value?: Value; readonly below?: 'kept' }
  /** A boundary failed. For display: a resumed run repeats its work, with or without this record. */
  | { readonly k: 'failed'; readonly p: string; readonly error: RecordedError }
  /** A boundary waits, or an effect: `s` is then the number of its start, and nothing of it has happened. */
  | { readonly k: 'suspended'; readonly p: string; readonly s?: number; readonly error: RecordedError }
  /** A file is executed at a place: an agent, or a module that it requires. */
  | { readonly k: 'use'; readonly p: string; readonly path: string; readonly hash: string }
  /**
   * A prompt of a chat has ended, in its last turn or before the first: the prompt with its outputs, and the messages
   * after it that no request has. For readers; a resumed run does not look for it.
   */
  | { readonly k: 'prompt'; readonly p: string; readonly prompt: Value; readonly rest: Value }
  /** An event that is shown again when its boundary is reused. */
  | { readonly k: 'show'; readonly p: string; readonly event: Value }
  /**
   * This many milliseconds have just passed without work: the process was stopped, the machine slept, or its clock was
   * set. Negative: it was set back.
   */
  | { readonly k: 'gap'; readonly ms: number }
  | {
      readonly k: 'run.end'
      readonly exit: number
      readonly stop: string
      readonly facts?: Value
      readonly error?: RecordedError
      /** The work time of the process, in milliseconds. Older records do not have it. */
      readonly worked_ms?: number
      /** How long it was stopped or the machine slept, as far as it was noticed; omitted if not at all. */
      readonly asleep_ms?: number
      /** The sum of the gaps in earlier processes that ended without such a record. Omitted: none. */
      readonly gaps_before_ms?: number
      /** What of them was sleep: clocks that were set back are not. */
      readonly asleep_before_ms?: number
    }

/** What a writer receives. Number, epoch and time are added by the journal. */
export type Entry = RecordBody<unknown>

/**
 * `e` epoch, `n` counts from 0 in each epoch without gaps, `t` wall time in ms, for display only: never order by it.
 */
export interface RecordHead {
  readonly e: number
  readonly n: number
  readonly t: number
}

/** A record as in the file; fields are decoded by `readValue`. */
export type JournalRecord = RecordHead & RecordBody<Json>

export type RecordOf<K extends JournalRecord['k']> = Extract<JournalRecord, { readonly k: K }>

/** More than the highest record number of an epoch. */
const numberSpan = 2 ** 40

/** A record as a single number, from its epoch and its number. */
export function recordKey(epoch: number, number: number): number {
  return epoch * numberSpan + number
}

/** A record of a kind this version does not know. */
export type UnknownRecord = RecordHead & { readonly k: string; readonly [field: string]: Json }

/**
 * The required fields of each kind, with their `typeof`. A record without them is damaged, whatever its checksum says.
 */
const kinds: Readonly<Record<Entry['k'], Readonly<Record<string, 'string' | 'number' | 'object'>>>> = {
  seg: { v: 'number' },
  'run.start': { run: 'string', file: 'string', hash: 'string', version: 'string' },
  'run.resume': {},
  source: { name: 'string', path: 'string', hash: 'string' },
  obs: { p: 'string', name: 'string', status: 'string' },
  started: { p: 'string', kind: 'string', repeat: 'string', fp: 'string' },
  process: { p: 'string', s: 'number', pid: 'number', start: 'string' },
  ended: { p: 'string', s: 'number', kind: 'string', status: 'string' },
  call: { p: 'string', name: 'string', status: 'string' },
  choice: { p: 'string', of: 'object', choice: 'string' },
  begin: { p: 'string', key: 'object' },
  undo: { p: 'string' },
  again: { p: 'string' },
  done: { p: 'string' },
  failed: { p: 'string', error: 'object' },
  suspended: { p: 'string', error: 'object' },
  use: { p: 'string', path: 'string', hash: 'string' },
  prompt: { p: 'string' },
  show: { p: 'string' },
  gap: { ms: 'number' },
  'run.end': { exit: 'number', stop: 'string' },
}

/** The same as lists, which are read for each record of a run. */
const fieldsOf: ReadonlyMap<string, readonly (readonly [field: string, type: string])[]> = new Map(
  Object.entries(kinds).map(([kind, fields]) => [kind, Object.entries(fields)]),
)

export function isKnownRecord(record: JournalRecord | UnknownRecord): record is JournalRecord {
  return fieldsOf.has(record.k)
}

/**
 * Refuses a file whose header has a different format than this version writes.
 * @throws BatonError JOURNAL_FAILED
 */
export function assertReadable(record: JournalRecord, file: string): void {
  if (record.k !== 'seg' || record.v === formatVersion) return
  throw new BatonError('JOURNAL_FAILED', `${file} has format ${record.v}; this version reads format ${formatVersion}`, {
    hint:
      record.v > formatVersion
        ? 'It was written by a newer version of baton: use that one.'
        : 'It was written by an earlier version of baton: run or record it again.',
    place: { file },
  })
}

/** One line of a journal file: CRC-32 of the JSON bytes as 8 hex digits, a space, the JSON, a line feed. */
export function encodeLine(json: string): string {
  return `${checksum(json)} ${json}\n`
}

/** The record in a line without its line feed; undefined if a single bit has changed. */
export function decodeLine(line: Buffer): JournalRecord | UnknownRecord | undefined {
  if (!hasChecksum(line)) return undefined
  try {
    const record: unknown = JSON.parse(line.toString('utf8', 9))
    return isRecord(record) ? record : undefined
  } catch {
    return undefined
  }
}

/** Whether a line begins with the checksum of its JSON. Compared without texts, because a run may have a million lines. */
function hasChecksum(line: Buffer): boolean {
  if (line.length < 9 || line[8] !== space) return false
  const sum = crc32(line.subarray(9))
  for (let index = 0; index < 8; index += 1) {
    const digit = (sum >>> (28 - 4 * index)) & 15
    if (line[index] !== digit + (digit < 10 ? zero : letterA - 10)) return false
  }
  return true
}

const [space, zero, letterA] = [0x20, 0x30, 0x61]

/** CRC-32 as 8 hex digits. */
function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, '0')
}

function isRecord(value: unknown): value is UnknownRecord {
  if (typeof value !== 'object' || value === null) return false
  if (!('e' in value && 'n' in value && 't' in value && 'k' in value)) return false
  const { e, n, t, k } = value
  if (!(Number.isSafeInteger(e) && Number.isSafeInteger(n) && typeof t === 'number' && typeof k === 'string'))
    return false
  return hasFields(value as Readonly<Record<string, unknown>>, k)
}

function hasFields(record: Readonly<Record<string, unknown>>, kind: string): boolean {
  for (const [field, type] of fieldsOf.get(kind) ?? []) {
    const value = record[field]
    if (typeof value !== type || value === null) return false
  }
  return true
}
