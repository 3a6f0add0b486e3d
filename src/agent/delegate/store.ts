import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../base/json.ts'
import type { WorkItem } from './items.ts'
import type { ListedItem, ListForm } from './list-form.ts'
import { type Conflict, mergeItems } from './merge.ts'
import { askedText, newTeam, readTeam, type TeamState, withWritten } from './state.ts'

/** The file that holds the state. `write` returns after the text is durable. */
export interface StateFile {
  readonly read: () => string | undefined
  readonly write: (text: string) => void
}

/** The list that users read and edit. */
export interface ListFile {
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
