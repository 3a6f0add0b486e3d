import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../base/json.ts'
import type { WorkItem } from './items.ts'
import type { ListedItem, ListForm } from './list-form.ts'
import { type Conflict, mergeItems } from './merge.ts'
import { askedText, newTeam, readTeam, type TeamState, withWritten } from './state.ts'

/** The file that holds the state. What was written is there for good when `write` returns. */
export interface StateFile {
  readonly read: () => string | undefined
  readonly write: (text: string) => void
}

/** The list that people read and edit. */
export interface ListFile {
  /** Undefined: there is none. */
  readonly read: () => string | undefined
  /** Writes it in place of `over` (undefined: of nothing); `number` is another one each time. False when something else stands there by now. */
  readonly write: (text: string, over: string | undefined, number: number) => boolean
}

/** Told of what happens to a team. */
interface TeamWatch {
  readonly onItem: (item: WorkItem) => void
  /** By somebody who edited the list file. */
  readonly onConflicts: (conflicts: readonly Conflict[]) => void
  /** The list file cannot be read just now, and is left as it is; told once. */
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
  /** Waits some time: an editor that has written half of a file writes the rest. */
  readonly pause: () => Promise<void>
}

interface Operation {
  /** Of the call that asks for it; undefined: nobody asks for it again. */
  readonly place?: string
  readonly name: string
  readonly args: JsonObject
}

/** What an operation makes of the state, and what it gives. */
export interface Change<Result extends Json> {
  readonly state: TeamState
  readonly result: Result
}

/** What a team knows together, in a file of the run. Operations are done one after the other. */
export interface TeamStore {
  readonly state: () => TeamState
  /**
   * Does an operation, once for each place: made again, it gives what it gave. What people have changed in the list file is put in first, and
   * the file is written after it. Nothing is half done: before it returns the state is kept whole, or as it was.
   */
  readonly act: <Result extends Json>(
    operation: Operation,
    change: (state: TeamState) => Change<Result>,
  ) => Promise<Result>
}

interface Edited {
  readonly edited: TeamState
  readonly unnamed?: readonly string[]
  /** What the file says. */
  readonly read?: readonly ListedItem[]
}

/** Times that a list is read again in which items are missing. */
const mostLooks = 5

/** Opens the state of a team; of one that has none it is new. */
export function openStore(options: StoreOptions): TeamStore {
  const { team, name, file, list, form, watch } = options
  const text = file.read()
  let state = (text === undefined ? undefined : readTeam(text, team)) ?? newTeam(team)
  let last: Promise<unknown> = Promise.resolve()
  let isUnreadable = false

  /** What stands in the list file; read again while items are missing, because whoever writes it may not be done. */
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

  /** With what people have changed in the file; `unnamed` undefined: the file is to be left as it is. */
  function withEdits(found: string | undefined): Edited {
    if (found === undefined) return { edited: state, unnamed: [] }
    const theirs = form.read(found)
    if (theirs === undefined) {
      if (!isUnreadable) watch.onUnreadable()
      isUnreadable = true
      return { edited: state }
    }
    isUnreadable = false
    // the first text may not have been written any more
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
    // one that was changed meanwhile is looked at by the next operation
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
