import { canonicalHash, sha256 } from '../base/hash.ts'
import { canonicalJson, isJsonObject, type Json, mapTexts } from '../base/json.ts'
import { differsOnlyInOwnTexts, hasOwnText } from '../base/model-text.ts'
import type { CallRequest, ChangeRequest, FileChangeRecord } from '../event/effects.ts'
import type { WorkResult } from './work-result.ts'
import { isBlobReference } from './blobs.ts'
import type { JournalRecord, Outcome } from './record.ts'
import { restoreError } from './recorded-error.ts'
import type { RunIndex } from './run-index.ts'
import { noMask, type SecretMask } from './secrets.ts'
import type { Location, PlaceNode } from './tree.ts'
import { encodeValue } from './value.ts'

/** A call for comparison and display: its name, or the kind of an effect, and its input. */
export interface ComparedCall {
  readonly name: string
  readonly request: Json
}

export type StartedRecord = Extract<JournalRecord, { readonly k: 'started' }>

/** What the record says about a call that is being made; see docs/design/matching.md. */
export type Match =
  /** Nothing that could be an answer is recorded at the place. */
  | { readonly kind: 'none' }
  /** The record has a different call there. */
  | { readonly kind: 'other'; readonly at: Location }
  /** The same call, and how it ended. `started`: for an effect. */
  | {
      readonly kind: 'ended'
      readonly outcome: Outcome<Json>
      readonly started?: StartedRecord
      readonly choice?: PlaceNode['choice']
    }
  /**
   * The same effect, started and without a recorded end. `choice`: what is known about it nevertheless. `waits`:
   * nothing of it has happened.
   */
  | {
      readonly kind: 'open'
      readonly started: StartedRecord
      readonly choice?: PlaceNode['choice']
      readonly waits: boolean
    }

/** How a current call is compared with a recorded one. */
export interface Comparison {
  /** Whether a value equals the value of a field. */
  readonly isSameValue: (value: unknown, field: Json) => boolean
  readonly isSameRequest: (request: Json, started: StartedRecord) => boolean
  readonly isSameChange: (asked: ChangeRequest, started: StartedRecord) => boolean
}

/**
 * Finds answers in the records of a run. Everything that answers from a record uses it; what is done with the match
 * differs.
 */
export interface Matcher {
  observation(node: PlaceNode | undefined, asked: CallRequest): Match
  /** A call of a script that acts, once it has returned. */
  returned(node: PlaceNode | undefined, asked: CallRequest): Match
  effect(node: PlaceNode | undefined, asked: { readonly kind: string; readonly request: Json }): Match
  /** A file change: one that changed nothing ended with a value. */
  change(node: PlaceNode | undefined, asked: ChangeRequest): Match
  /** The request of the effect that was started there. */
  requestAt(node: PlaceNode | undefined): Json | undefined
  /** The value or error of a match. */
  recall(outcome: Outcome<Json>): WorkResult<unknown>
  /** The call in a record, with secrets restored. */
  callAt(location: Location): ComparedCall | undefined
}

/** The observation name for file changes that change nothing, or fail before they start. */
export const changeName = 'file.change'

export function createMatcher(
  { source }: Pick<RunIndex, 'source'>,
  { isSameValue, isSameRequest, isSameChange }: Comparison,
): Matcher {
  /** Whether only texts of this program differ, which another version may have worded differently. */
  function isReworded(now: Json, then: Json): boolean {
    return textsIn(now).some(hasOwnText) && differsOnlyInOwnTexts(now, source.value(then) as Json)
  }

  function call(location: Location, { name, args }: CallRequest): Match {
    const record = source.at(location)
    if (record.k !== 'obs' && record.k !== 'call') return { kind: 'other', at: location }
    return record.name === name && (isSameValue(args, record.args) || isReworded(args, record.args))
      ? { kind: 'ended', outcome: record }
      : { kind: 'other', at: location }
  }

  function started(node: PlaceNode, location: Location, isSame: (record: StartedRecord) => boolean): Match {
    const record = source.at(location) as StartedRecord
    if (!isSame(record)) return { kind: 'other', at: location }
    const choice = node.choice === undefined ? {} : { choice: node.choice }
    const ended = node.ended === undefined ? undefined : source.at(node.ended)
    return ended?.k === 'ended'
      ? { kind: 'ended', outcome: ended, started: record, ...choice }
      : { kind: 'open', started: record, ...choice, waits: node.waits === true }
  }

  return {
    observation(node, asked) {
      if (node?.answer !== undefined) return call(node.answer, asked)
      const other = node?.started ?? node?.returned
      return other === undefined ? { kind: 'none' } : { kind: 'other', at: other }
    },
    returned: (node, asked) => (node?.returned === undefined ? { kind: 'none' } : call(node.returned, asked)),
    effect(node, { kind, request }) {
      if (node?.started !== undefined) {
        const isSame = (record: StartedRecord): boolean =>
          isSameRequest(request, record) || isReworded(request, record.request)
        return started(node, node.started, (record) => record.kind === kind && isSame(record))
      }
      return node?.answer === undefined ? { kind: 'none' } : { kind: 'other', at: node.answer }
    },
    change(node, asked) {
      if (node?.answer !== undefined) return call(node.answer, { name: changeName, args: asked })
      if (node?.started === undefined) return { kind: 'none' }
      return started(node, node.started, (record) => record.kind === 'file' && isSameChange(asked, record))
    },
    requestAt(node) {
      const record = node?.started === undefined ? undefined : source.at(node.started)
      return record?.k === 'started' ? (source.value(record.request) as Json) : undefined
    },
    recall: (outcome) =>
      outcome.status === 'ok'
        ? { status: 'ok', value: source.value(outcome.value) }
        : { status: 'failed', error: restoreError(source, outcome.error) },
    callAt(location) {
      const record = source.at(location)
      if (record.k === 'started') return { name: record.kind, request: source.value(record.request) as Json }
      if (record.k !== 'obs' && record.k !== 'call') return undefined
      return { name: record.name, request: source.value(record.args) as Json }
    },
  }
}

/** Compares the recorded forms, with secrets masked: for the run that wrote the record. */
export function maskedComparison({ source }: Pick<RunIndex, 'source'>, mask: SecretMask): Comparison {
  return {
    isSameValue(value, field) {
      const encoded = encodeValue(value, mask.mask)
      if (!isBlobReference(field)) return canonicalJson(encoded) === canonicalJson(field)
      // the hash is of the text as written, in which fields may be in a different order
      const isSameText = sha256(JSON.stringify(encoded)) === field.$blob
      return isSameText || canonicalJson(encoded) === canonicalJson(encodeValue(source.value(field), mask.mask))
    },
    isSameRequest: (request, { fp }) => fp === fingerprint(request, mask),
    isSameChange: (asked, { fp, request }) =>
      fp === fingerprint(asked, mask) || isRestored(asked, source.value(request) as Json),
  }
}

/**
 * Whether a file is restored from a state of its own. Earlier versions recorded only a fingerprint of this, in which was
 * the random name of a temporary folder.
 */
function isRestored({ op, path, source: from }: ChangeRequest, then: Json): boolean {
  return op === 'unpack' && from === path && isJsonObject(then) && then['op'] === op && then['path'] === path
}

/** Compares the decoded values, with the paths of this machine and secrets restored: for replays. */
export function decodedComparison({ source }: Pick<RunIndex, 'source'>, restore: (text: string) => string): Comparison {
  const isSame = (now: unknown, then: unknown): boolean =>
    canonicalJson(encodeValue(now, restore)) === canonicalJson(encodeValue(then, restore))
  return {
    isSameValue: (value, field) => isSame(value, source.value(field)),
    isSameRequest: (request, { request: field }) => isSame(request, source.value(field)),
    isSameChange(asked, { fp, request }) {
      if (fp === fingerprint(asked, noMask)) return true
      // paths inside the workspace are recorded relative to it
      const change = source.value(request) as FileChangeRecord
      return asked.op === change.op && asked.path === change.path && asked['from'] === change['from']
    },
  }
}

/** SHA-256 of a request in canonical form and without secrets: equal requests give equal text. */
export function fingerprint(request: Json, mask: SecretMask): string {
  return canonicalHash(encodeValue(request, mask.mask))
}

/**
 * The name of each input of a boundary with a short hash of its value: these are compared before a boundary is reused.
 */
export function boundaryKey(
  inputs: { readonly [name: string]: unknown },
  mask: SecretMask,
): Readonly<Record<string, string>> {
  const present = Object.entries(inputs).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present.map(([name, value]) => [name, inputHash(value, mask)]))
}

/** The hashes of frozen values, which many boundaries share. */
const hashes = new WeakMap<SecretMask, WeakMap<object, string>>()

function inputHash(value: unknown, mask: SecretMask): string {
  if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return hashed(value, mask)
  const known = hashes.get(mask) ?? new WeakMap<object, string>()
  hashes.set(mask, known)
  const hash = known.get(value) ?? hashed(value, mask)
  known.set(value, hash)
  return hash
}

function hashed(value: unknown, mask: SecretMask): string {
  return canonicalHash(encodeValue(value, mask.mask)).slice(0, 16)
}

/** Most ways of taking texts from requests that are tried for one input. */
const mostTried = 1000

/**
 * The key of a boundary with its texts of this program as they were recorded: those that the requests below it contain,
 * if with them an input has the recorded hash.
 * @param said the texts of these requests; called if an input with such a text differs
 */
export function keyAsRecorded(
  begin: JournalRecord | undefined,
  {
    inputs,
    key,
  }: { readonly inputs: { readonly [name: string]: unknown }; readonly key: Readonly<Record<string, string>> },
  { said, mask }: { readonly said: () => readonly string[]; readonly mask: SecretMask },
): Readonly<Record<string, string>> {
  if (begin?.k !== 'begin') return key
  let texts: readonly string[] | undefined
  const taken = Object.entries(key).map(([name, hash]) => {
    const recorded = begin.key[name]
    if (recorded === undefined || recorded === hash) return [name, hash]
    const own = textsIn(inputs[name]).filter(hasOwnText)
    if (own.length === 0) return [name, hash]
    texts ??= said()
    for (const choice of choices(own, texts)) {
      const value = mapTexts(inputs[name], (text) => choice.get(text) ?? text)
      if (hashed(value, mask) === recorded) return [name, recorded]
    }
    return [name, hash]
  })
  return Object.fromEntries(taken) as Readonly<Record<string, string>>
}

export function textsIn(value: unknown): readonly string[] {
  const texts: string[] = []
  mapTexts(value, (text) => {
    texts.push(text)
    return text
  })
  return texts
}

/** The ways of taking a recorded text for each of these. */
function choices(own: readonly string[], said: readonly string[]): readonly ReadonlyMap<string, string>[] {
  let all: ReadonlyMap<string, string>[] = [new Map()]
  for (const text of new Set(own)) {
    const found = [...new Set(said.flatMap(partsOfText))].filter((part) => differsOnlyInOwnTexts(text, part))
    all = all.flatMap((choice) => found.map((part) => new Map([...choice, [text, part]]))).slice(0, mostTried)
  }
  return all
}

/** A text as a whole, and from and up to each of its empty lines: texts are joined by these. */
function partsOfText(text: string): readonly string[] {
  const breaks = [...text.matchAll(/\n\n/g)].map(({ index }) => index)
  return [text, ...breaks.flatMap((at) => [text.slice(at + 2), text.slice(0, at)])]
}

/** Whether a boundary was started with these inputs, except the named ones. */
export function isSameKey(
  begin: JournalRecord,
  key: Readonly<Record<string, string>>,
  except: readonly string[] = [],
): boolean {
  if (begin.k !== 'begin') return false
  const names = new Set([...Object.keys(begin.key), ...Object.keys(key)])
  return [...names].every((name) => except.includes(name) || begin.key[name] === key[name])
}
