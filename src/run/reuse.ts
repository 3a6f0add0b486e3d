import { resolve } from 'node:path'
import { emit, type RunContext, withServices } from '../event/context.ts'
import type { EarlierParts, Part } from '../event/part.ts'
import { type Place, placeText } from '../event/place.ts'
import type { EffectHook } from '../journal/effects.ts'
import type { RunJournal } from '../journal/journal.ts'
import { boundaryKey } from '../journal/matching.ts'
import { indexRun, type RunIndex } from '../journal/run-index.ts'
import type { SigningKey } from '../journal/signing.ts'
import { openFileRecords, type RecordSource } from '../journal/source.ts'
import { createVerification, type FinishedPart, type Verification } from '../journal/verified-effects.ts'
import type { SourceLog } from './source-log.ts'
import { messageOf } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { manyListeners } from '../base/concurrency.ts'
import type { ReadLog } from '../base/reads.ts'
import { createMeter, type Meter } from '../event/meter.ts'
import type { RunSources } from '../event/sources.ts'
import { canonicalJson, isObject, type Json } from '../base/json.ts'
import type { CallRequest, FileChangeRecord, PlanChange } from '../event/effects.ts'
import { entryHash, startHash } from '../tool/file-hash.ts'
import { isFolder, statusAt } from '../watch/prints.ts'

/** What a watch session keeps of its runs, so that later ones do not pay for the same work again. */
interface ReuseSession {
  /** For the next run. `everything`: do it all again, and never reuse anything of the earlier runs. */
  readonly next: (options: { readonly log: SourceLog; readonly repeats: 'everything' | 'what changed' }) => Reuse
  readonly close: () => void
}

/** The session for a single run. */
export interface Reuse {
  readonly hook: (workspace: string) => EffectHook
  /** Wraps a context so that unchanged `pre` steps and tasks are reused. */
  readonly around: (context: RunContext, recorded: Recorded) => RunContext
  /** To be called when the run has ended and its journal is closed. */
  readonly end: () => Promise<ReuseCounts>
}

interface Recorded {
  readonly journal: RunJournal
  /** The folder of the record; undefined: not recorded. */
  readonly folder: string | undefined
}

/** The parts of a run by their fate. */
export interface ReuseCounts {
  readonly reused: number
  readonly rerun: number
}

interface EarlierRun {
  readonly parts: FinishedParts
  readonly uses: EarlierPart['uses']
  readonly left: FileStates
  readonly close: () => void
}

const mostRuns = 5

/** `openKey`: the signing key of this installation. Records that others added are not reused. */
export function createReuseSession({ openKey }: { readonly openKey: () => SigningKey }): ReuseSession {
  /** The newest first. */
  let runs: readonly EarlierRun[] = []
  const added = createAddedTexts()

  function forget(forgotten: readonly EarlierRun[]): void {
    for (const { close } of forgotten) close()
    runs = runs.filter((run) => !forgotten.includes(run))
  }

  function next({ log, repeats }: Parameters<ReuseSession['next']>[0]): Reuse {
    if (repeats === 'everything') forget(runs)
    const relied = new Map<string, FileState>()
    const counts = { reused: 0, rerun: 0 }
    let recorded: Recorded | undefined
    return {
      hook: added.hook,
      around(context, given) {
        recorded = given
        const { journal } = given
        return withServices(context, { earlier: createEarlierParts({ runs, journal, counts, relied, added }) })
      },
      async end() {
        const run = recorded && (await earlierRun(recorded, { log, relied, openKey }))
        if (run?.parts.identities.size === 0) run.close()
        else if (run !== undefined) {
          runs = [run, ...runs]
          forget(runs.slice(1).filter((older, index) => index + 1 >= mostRuns || isCovered(older, run)))
        }
        return counts
      },
    }
  }

  return { next, close: () => forget(runs) }
}

function isCovered({ parts }: EarlierRun, newer: EarlierRun): boolean {
  return [...parts.identities].every((identity) => newer.parts.identities.has(identity))
}

interface Earlier {
  readonly runs: readonly EarlierRun[]
  readonly journal: RunJournal
  readonly counts: { -readonly [name in keyof ReuseCounts]: number }
  /** Receives the files that reused parts rely on, in their final state. */
  readonly relied: Map<string, FileState>
  readonly added: AddedTexts
}

function createEarlierParts({ runs, journal, counts, relied, added }: Earlier): EarlierParts {
  return {
    async reuse<T>(part: Part<T>, context: RunContext) {
      if (!isPart(context.scope.at)) return undefined
      const found = findPart(runs, placeText(context.scope.at), boundaryKey(part.inputs ?? {}, journal.mask))
      if (found === undefined) return undefined
      const verified =
        found.changed.length > 0
          ? ({ kind: 'changed', reason: `its ${found.changed.join(' and ')} changed` } as const)
          : await verifyPart(part, { earlier: found.earlier, journal, added }, context)
      if (verified.kind === 'changed') {
        counts.rerun += 1
        emit(context, { type: 'again', label: part.label, reason: verified.reason })
        return undefined
      }
      counts.reused += 1
      for (const [path, left] of verified.relied) relied.set(path, left)
      emit(context, { type: 'read_back', label: part.label })
      verified.commit()
      return { value: verified.value }
    },
  }
}

/** The part in an earlier run, and the inputs that have changed since. */
function findPart(runs: readonly EarlierRun[], place: string, key: PartKey) {
  for (const { parts, uses, left } of runs) {
    const part = parts.find(place, key)
    if (part !== undefined) return { earlier: { ...part, uses, left }, changed: changedInputs(part.key, key) }
  }
  return undefined
}

/** Undefined for a run whose record cannot be read, so that nothing of it is reused. */
async function earlierRun(
  { journal, folder }: Recorded,
  {
    log,
    relied,
    openKey,
  }: { readonly log: SourceLog; readonly relied: FileStates; readonly openKey: () => SigningKey },
): Promise<EarlierRun | undefined> {
  if (folder === undefined) return undefined
  let source: RecordSource | undefined
  try {
    const opened = openFileRecords(folder, { mask: journal.mask, key: openKey() })
    source = opened
    const index = await indexRun(opened, { keeps: 'everything' })
    const left = new Map([...relied, ...fileStates(log.ownFiles())])
    return { parts: finishedParts(index), uses: usesOf(index), left, close: () => opened.close() }
  } catch {
    // the record is damaged, or was removed with an older run: the part is done again
    source?.close()
    return undefined
  }
}

function usesOf({ records }: RunIndex): EarlierPart['uses'] {
  const uses = new Map<string, Map<string, string>>()
  for (const record of records('use')) {
    const files = uses.get(record.p) ?? new Map<string, string>()
    uses.set(record.p, files.set(record.path, record.hash))
  }
  return uses
}

/** Maps the name of each input of a part to the hash of its value; see `boundaryKey`. */
type PartKey = Readonly<Record<string, string>>

interface KeyedPart extends FinishedPart {
  readonly key: PartKey
}

/** The `pre` steps and tasks that the first round of a run finished. */
interface FinishedParts {
  /** A task is identified by its subject, whatever its position; a step by its place. */
  readonly find: (place: string, key: PartKey) => KeyedPart | undefined
  /** The key that distinguishes the parts. */
  readonly identities: ReadonlySet<string>
}

/** Whether something is a part: a `pre` step or a task of the first round, not of a prompt file that runs as an agent. */
function isPart([first, second, ...others]: Place): boolean {
  if (others.length > 0) return false
  return second === undefined ? first?.kind === 'task' : first?.kind === 'stage' && first.stage === 'pre'
}

function finishedParts(index: RunIndex): FinishedParts {
  const parts = new Map<string, KeyedPart[]>()
  for (const stage of ['pre', 'task']) {
    for (const [name, node] of index.tree.find(stage)?.parts ?? []) {
      if (typeof node === 'number' || node.begin === undefined || node.done === undefined) continue
      const begin = index.source.at(node.begin)
      if (begin.k !== 'begin') continue
      const part = { index, place: `${stage}/${name}`, key: begin.key }
      const identity = identityOf(part.place, part.key)
      parts.set(identity, [...(parts.get(identity) ?? []), part])
    }
  }
  return {
    find(place, key) {
      const found = parts.get(identityOf(place, key)) ?? []
      return found.find((part) => part.place === place) ?? found[0]
    },
    identities: new Set(parts.keys()),
  }
}

function identityOf(place: string, key: PartKey): string {
  return place.startsWith('task/') ? `task ${key['plan'] ?? ''}` : place
}

/** Inputs that are compared in another way: an agent by its file, the position of a task by how the task uses it. */
const notCompared: ReadonlySet<string> = new Set(['agent', 'position'])

function changedInputs(then: PartKey, now: PartKey): readonly string[] {
  const names = [...new Set([...Object.keys(then), ...Object.keys(now)])]
  return names.filter((name) => !notCompared.has(name) && then[name] !== now[name])
}

/** A part of an earlier run, and the final files of that run. */
interface EarlierPart extends FinishedPart {
  /** The executed files: the hash of the text by place and path. */
  readonly uses: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly left: FileStates
}

interface VerifyPartOptions {
  readonly earlier: EarlierPart
  readonly journal: RunJournal
  /** The texts that the session has appended to files, including this run. */
  readonly added: AddedTexts
}

type Verified<T> =
  /** `commit` records the part as done now and emits its events. */
  | { readonly kind: 'unchanged'; readonly value: T; readonly commit: () => void; readonly relied: FileStates }
  | { readonly kind: 'changed'; readonly reason: string }

/**
 * Does a part tentatively: nothing is paid for, written or sent until it is known to be unchanged (see
 * `createVerification`).
 * @throws the reason of the context's signal
 */
async function verifyPart<T>(
  part: Part<T>,
  { earlier, journal, added }: VerifyPartOptions,
  context: RunContext,
): Promise<Verified<T>> {
  const stop = new AbortController()
  const own = createOwnFiles(earlier.left, { workspace: context.scope.folders.workspace, added })
  const { at } = context.scope
  const { isOwnRead, whyChangeAgain } = own
  const meter = createMeter()
  const verification: Verification = createVerification({
    earlier,
    at,
    journal,
    live: context.services.effects,
    permission: context.services.permission,
    isOwnRead,
    whyChangeAgain,
    onRecall(place, spent) {
      meter.recall(place, spent)
      verification.later(() => context.services.meter.recall(place, spent))
    },
    onDirty: (reason) => stop.abort(new DOMException(reason, 'AbortError')),
  })
  const inner = lookingContext(context, { verification, earlier, own, meter, stop: stop.signal })
  try {
    const value = await inner.services.effects.boundary(at, () => part.work(inner), part)
    if (part.isFinal?.(value) === false) return { kind: 'changed', reason: 'it ends differently' }
    return { kind: 'unchanged', value, commit: verification.commit, relied: own.found }
  } catch (error) {
    context.services.signal.throwIfAborted()
    return { kind: 'changed', reason: verification.reason() ?? `it ends differently: ${messageOf(error)}` }
  }
}

interface Looking {
  readonly verification: Verification
  readonly earlier: EarlierPart
  readonly own: OwnFiles
  /** Measures the part separately, because it may still turn out to be changed. */
  readonly meter: Meter
  readonly stop: AbortSignal
}

function lookingContext(context: RunContext, { verification, earlier, own, meter, stop }: Looking): RunContext {
  const { earlier: _, reads, ...services } = context.services
  return {
    scope: context.scope,
    services: {
      ...services,
      effects: verification.effects,
      meter,
      signal: manyListeners(AbortSignal.any([services.signal, stop])),
      events: (at, event) => verification.later(() => services.events(at, event)),
      sources: lookingSources(services.sources, { verification, earlier, context }),
      ...(reads === undefined ? {} : { reads: lookingReads(reads, own) }),
    },
  }
}

/** Refuses to execute files that have changed. */
function lookingSources(
  sources: RunSources,
  { verification, earlier, context }: Pick<Looking, 'verification' | 'earlier'> & { readonly context: RunContext },
): RunSources {
  return {
    execute(file, use) {
      sources.execute(file)
      if (use === undefined) return
      const hash = earlier.uses.get(verification.placeThen(use.at) ?? '')?.get(file)
      const shown = displayPath(context.scope.folders.workspace, file)
      if (hash === undefined) verification.refuse(`${shown} was not run before`)
      if (hash !== sha256(use.text)) verification.refuse(`${shown} changed`)
      verification.later(() => sources.execute(file, use))
    },
    change: (files) => verification.later(() => sources.change(files)),
    writing: sources.writing,
    make: (file) => verification.later(() => sources.make(file)),
    made: sources.made,
    inTurn: sources.inTurn,
    executed: sources.executed,
  }
}

/** For a file that the earlier run changed, its final state is watched, not the older text that is served. */
function lookingReads(reads: ReadLog, { isAsLeft }: OwnFiles): ReadLog {
  return {
    ...reads,
    file: (path, text) => (isAsLeft(path) ? reads.file(path) : reads.file(path, text)),
    data: (path, text) => (isAsLeft(path) ? reads.data?.(path) : reads.data?.(path, text)),
  }
}

/** The final content at a path after a run: its hash (see `entryHash`) and its size in bytes. */
interface FileState {
  readonly hash: string | null
  readonly size: number
}

/** The files that a run changed, with their state at its end. Absolute paths. */
type FileStates = ReadonlyMap<string, FileState>

/** The current state at these paths. */
function fileStates(paths: readonly string[]): FileStates {
  return new Map(paths.map((path) => [path, fileStateAt(path)]))
}

function fileStateAt(path: string): FileState {
  return { hash: hashAt(path), size: Number(statusAt(path)?.size ?? 0) }
}

/** The files that an earlier run changed itself; they count as unchanged as long as they are in its final state. */
interface OwnFiles {
  readonly isAsLeft: (path: string) => boolean
  /** See `VerifyOptions`. */
  readonly isOwnRead: (call: CallRequest, readings: { readonly before: unknown; readonly now: unknown }) => boolean
  readonly whyChangeAgain: (record: FileChangeRecord, plan: PlanChange) => string | undefined
  readonly found: FileStates
}

function createOwnFiles(
  left: FileStates,
  { workspace, added }: { readonly workspace: string; readonly added: Pick<AddedTexts, 'isAllBehind'> },
): OwnFiles {
  const found = new Map<string, FileState>()

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
    found.set(path, fileStateAt(path))
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
    { name, args }: CallRequest,
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
interface AddedTexts {
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

function createAddedTexts(): AddedTexts {
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
