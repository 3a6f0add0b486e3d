import { isDeepStrictEqual } from 'node:util'
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { defined, type Json, type JsonObject } from '../../base/json.ts'
import type { WorkItem, WorkItems } from './items.ts'
import type { ListedItem, ListForm } from './list-form.ts'
import { type Conflict, mergeItems } from './merge.ts'
import { isInWorkspace } from '../../settings/strategies/delegate.ts'
import { hasSystemCode } from '../../base/error.ts'
import { displayPath, writeFileAtomic } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { readRegularFile } from '../../base/regular-file.ts'
import { below, type RunContext } from '../../event/context.ts'
import { item, part, type Place, placeText } from '../../event/place.ts'
import { readablePath } from '../../tool/guard.ts'
import { saveFileOver } from '../../tool/workspace-files.ts'

/** The file that holds the state. `write` returns after the text is durable. */
interface StateFile {
  readonly read: () => string | undefined
  readonly write: (text: string) => void
}

/** The list that users read and edit. */
interface ListFile {
  /** Undefined if it does not exist. */
  readonly read: () => string | undefined
  /**
   * Replaces the content `over` (undefined: no file); `number` is unique per write. Returns false if the content has
   * changed meanwhile.
   */
  readonly write: (text: string, over: string | undefined, number: number) => boolean
}

/** Callbacks for changes of a team. */
interface TeamWatch {
  readonly onItem: (item: WorkItem) => void
  /** Conflicts with edits of the list file. */
  readonly onConflicts: (conflicts: readonly Conflict[]) => void
  /** The list file is not parseable at the moment and is left alone; called once. */
  readonly onUnreadable: () => void
}

export interface StoreOptions {
  /** The id of the team. */
  readonly team: string
  /** Its name, for the heading of the list. */
  readonly name: string
  readonly file: StateFile
  readonly list: ListFile
  readonly form: ListForm
  readonly watch: TeamWatch
  /** Waits a moment, so that an editor can finish writing a file. */
  readonly pause: () => Promise<void>
}

interface Operation {
  /** Of the calling tool; undefined if the operation is never repeated. */
  readonly place?: string
  readonly name: string
  readonly args: JsonObject
}

/** The new state after an operation, and its result. */
export interface Change<Result extends Json> {
  readonly state: TeamState
  readonly result: Result
}

/** The shared state of a team, in a file of the run. Operations run one after another. */
export interface TeamStore {
  readonly state: () => TeamState
  /**
   * Runs an operation once per place; a repeated one returns the recorded result. User edits of the list file are
   * merged in first, and the file is written afterwards. Operations are atomic: the new state is durable before it
   * returns, or nothing has changed.
   */
  readonly act: <Result extends Json>(
    operation: Operation,
    change: (state: TeamState) => Change<Result>,
  ) => Promise<Result>
}

interface Edited {
  readonly edited: TeamState
  readonly unnamed?: readonly string[]
  /** The content of the file. */
  readonly read?: readonly ListedItem[]
}

/** How often a list with missing items is read again. */
const mostLooks = 5

/** Opens the state of a team, or creates it. */
export function openStore(options: StoreOptions): TeamStore {
  const { team, name, file, list, form, watch } = options
  const text = file.read()
  let state = (text === undefined ? undefined : readTeam(text, team)) ?? newTeam(team)
  let last: Promise<unknown> = Promise.resolve()
  let isUnreadable = false

  /** Reads the list file, again while items are missing: an editor may still be writing it. */
  async function readList(): Promise<string | undefined> {
    const listed = (read: string | undefined): number => (read === undefined ? 0 : (form.read(read)?.length ?? 0))
    const before = state.written[0]?.length ?? 0
    let found = list.read()
    for (let look = 0; look < mostLooks && listed(found) < before; look += 1) {
      await options.pause()
      const again = list.read()
      if (again === found) break
      found = again
    }
    return found
  }

  function tellChanges(before: TeamState): void {
    const known = new Map(before.items.map((item) => [item.id, item]))
    for (const item of state.items) if (!isDeepStrictEqual(known.get(item.id), item)) watch.onItem(item)
  }

  /** The state with the user's edits; `unnamed` is undefined if the file must be left alone. */
  function withEdits(found: string | undefined): Edited {
    if (found === undefined) return { edited: state, unnamed: [] }
    const theirs = form.read(found)
    if (theirs === undefined) {
      if (!isUnreadable) watch.onUnreadable()
      isUnreadable = true
      return { edited: state }
    }
    isUnreadable = false
    // the first text may never have been written
    const written = state.writes <= 1 ? [...state.written, []] : state.written
    const { items, next, unnamed, read, conflicts } = mergeItems({ ...state, written, theirs, ours: state.items })
    if (conflicts.length > 0) watch.onConflicts(conflicts)
    return { edited: { ...state, items, next }, unnamed, read }
  }

  async function carryOut<Result extends Json>(
    { place, name: kind, args }: Operation,
    change: (state: TeamState) => Change<Result>,
  ): Promise<Result> {
    const asked = askedText(kind, args)
    const known = place === undefined ? undefined : state.done[place]
    if (known?.asked === asked) return known.result as Result
    const found = await readList()
    const { edited, unnamed, read } = withEdits(found)
    const { state: changed, result } = change(edited)
    const operations = state.operations + 1
    const done =
      place === undefined ? changed.done : { ...changed.done, [place]: { operation: operations, asked, result } }
    const written = unnamed === undefined ? undefined : form.write(found, changed.items, { unnamed, team: name })
    const isWritten = written !== undefined && written !== found
    const next = withWritten({ ...changed, operations, done, writes: state.writes + (isWritten ? 1 : 0) }, read)
    const before = state
    file.write(JSON.stringify(next))
    state = next
    // if the file was changed meanwhile, the next operation merges it
    if (isWritten) list.write(written, found, next.writes)
    tellChanges(before)
    return result
  }

  return {
    state: () => state,
    act(operation, change) {
      const work = last.then(() => carryOut(operation, change))
      last = work.catch(() => undefined)
      return work
    },
  }
}

/** A message between members of a team. Plain JSON. */
type TeamMessage = {
  /** Its number, from 1. */
  readonly id: number
  readonly from: string
  readonly to: string
  readonly text: string
  readonly isRead: boolean
}

/** A worker. Plain JSON. */
type Member = {
  /** The id of its agent. */
  readonly id: string
  /** Its name in the team: its role and a number. */
  readonly handle: string
}

/** The shared state of a team. Plain JSON: it is kept in a file of the run. */
export type TeamState = {
  readonly v: 1
  /** The id of the team, to reject the state of another one. */
  readonly team: string
  /** The number of operations so far. */
  readonly operations: number
  /** The result of each operation, by the place of its call: a repeated call gets the same result. */
  readonly done: {
    readonly [place: string]: { readonly operation: number; readonly asked: string; readonly result: Json }
  }
  readonly items: WorkItems
  /** The number for the next new item. */
  readonly next: number
  readonly messages: readonly TeamMessage[]
  readonly members: readonly Member[]
  /** The leader has left delegate mode. */
  readonly hasLeft: boolean
  /** Contents of the list file that were written or read, newest first; the newest may not have been written yet. */
  readonly written: readonly (readonly ListedItem[])[]
  /** How often the list file was written. */
  readonly writes: number
}

function newTeam(team: string): TeamState {
  return {
    v: 1,
    team,
    operations: 0,
    done: {},
    items: [],
    next: 1,
    messages: [],
    members: [],
    hasLeft: false,
    written: [],
    writes: 0,
  }
}

/** Parses the state of a team; undefined if the text is not the state of this team. */
function readTeam(text: string, team: string): TeamState | undefined {
  try {
    const state = JSON.parse(text) as TeamState
    return state.v === 1 && state.team === team ? state : undefined
  } catch {
    return undefined
  }
}

/** Adds a message, with the next number. */
export function withMessage(state: TeamState, message: Omit<TeamMessage, 'id' | 'isRead'>): TeamState {
  const id = (state.messages.at(-1)?.id ?? 0) + 1
  return { ...state, messages: [...state.messages, { ...message, id, isRead: false }] }
}

/** Assigns a handle to a worker, unless it has one. */
export function withMember(
  state: TeamState,
  { id, role }: { readonly id: string; readonly role: string },
): { readonly state: TeamState; readonly handle: string } {
  const known = state.members.find((one) => one.id === id)
  if (known !== undefined) return { state, handle: known.handle }
  const taken = new Set(state.members.map((one) => one.handle))
  let number = 1
  while (taken.has(`${role}-${number}`)) number += 1
  const handle = `${role}-${number}`
  return { state: { ...state, members: [...state.members, { id, handle }] }, handle }
}

/** Returns the unread messages of a member and marks them as read. */
export function takeUnread(
  state: TeamState,
  handle: string,
): { readonly state: TeamState; readonly messages: readonly TeamMessage[] } {
  const messages = unreadOf(state, handle)
  const read = new Set(messages.map(({ id }) => id))
  const all = state.messages.map((one) => (read.has(one.id) ? { ...one, isRead: true } : one))
  return { state: { ...state, messages: all }, messages }
}

/** The unread messages of a member, oldest first. */
export function unreadOf({ messages }: TeamState, handle: string): readonly TeamMessage[] {
  return messages.filter(({ to, isRead }) => to === handle && !isRead)
}

/** How many list contents are kept: an editor may hold an outdated one. */
const mostWritten = 12
/** Limit of items in all of them together. */
const mostListed = 3000

/** Remembers what was read from the list file and what is written next. */
function withWritten(state: TeamState, read: readonly ListedItem[] | undefined): TeamState {
  const listed = state.items.map(listedOf)
  const known = new Set(state.written.map((one) => JSON.stringify(one)))
  const isKnown = read === undefined || known.has(JSON.stringify(read.map(listedOf)))
  const all = isKnown ? state.written : [read.map(listedOf), ...state.written]
  const count = Math.max(3, Math.min(mostWritten, Math.floor(mostListed / Math.max(1, listed.length))))
  const isLast = JSON.stringify(listed) === JSON.stringify(all[0])
  return { ...state, written: (isLast ? all : [listed, ...all]).slice(0, count) }
}

function listedOf({ id, subject, status, owner, blocked_by }: ListedItem): ListedItem {
  return { id, subject, status, ...defined({ owner }), blocked_by }
}

/** Distinguishes operations at the same place. */
function askedText(name: string, args: JsonObject): string {
  return `${name} ${JSON.stringify(args)}`
}

/** The files that hold a team's state and its list. */
interface TeamFiles {
  readonly state: StateFile
  readonly list: ListFile
  /** The path of the list as shown to users. */
  readonly shown: string
}

/**
 * The files of the team at the place of the context: the state in the run's folder, the list next to it or in the
 * workspace. In memory for a run that keeps no record; a dry run writes no list to the workspace.
 */
export function teamFiles(list: string, context: RunContext): TeamFiles {
  const { scope, services } = context
  const { workspace } = scope.folders
  const { ownFiles } = services
  const isOurs = !isInWorkspace(list) || scope.dry !== undefined
  if (ownFiles === undefined)
    return { state: inMemory(), list: isOurs ? inMemory() : ofWorkspace(list, context), shown: list }
  const folder = join(ownFiles.folder, 'team', ...folderOf(scope.at))
  const own = (name: string): StateFile => ownFile(join(folder, name), ownFiles)
  if (!isOurs) return { state: own('items.json'), list: ofWorkspace(list, context), shown: list.replace(/^\.\//, '') }
  const name = list.slice(list.lastIndexOf('/') + 1)
  const file = ownFile(join(folder, name), ownFiles)
  return { state: own('items.json'), list: replacing(file), shown: displayPath(workspace, join(folder, name)) }
}

/** The default team of a run needs no folder of its own. */
function folderOf(at: Place): readonly string[] {
  const text = placeText(at)
  return text === 'task/0' ? [] : [sha256(text).slice(0, 12)]
}

function ownFile(
  file: string,
  { mask, unmask }: { readonly mask: (text: string) => string; readonly unmask: (text: string) => string },
): StateFile {
  return {
    read() {
      const text = readText(file)
      return text === undefined ? undefined : unmask(text)
    },
    write(text) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      writeFileAtomic(file, mask(text))
      // others act on this state, so it must survive a power failure
      for (const path of [file, dirname(file)]) sync(path)
    },
  }
}

function replacing({ read, write }: StateFile): ListFile {
  return {
    read,
    write(text, over) {
      if (read() !== over) return false
      write(text)
      return true
    },
  }
}

/** Reads and writes as a change by the model would: within the rights of the run, recorded, and undoable. */
function ofWorkspace(list: string, context: RunContext): ListFile {
  const path = resolve(context.scope.folders.workspace, list)
  return {
    read: () => readText(readablePath(path, context)),
    write(text, over, number) {
      const at = below(context, part('list'), item(number))
      const call = { context: at, at: at.scope.at }
      return saveFileOver(path, { content: text, over: over === undefined ? null : sha256(over) }, call)
    },
  }
}

function inMemory(): StateFile & ListFile {
  let kept: string | undefined
  return {
    read: () => kept,
    write(text: string) {
      kept = text
      return true
    },
  }
}

function readText(file: string): string | undefined {
  try {
    return readRegularFile(file).toString('utf8')
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
