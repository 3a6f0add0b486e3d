import { defined, type Json, type JsonObject } from '../../base/json.ts'
import type { WorkItems } from './items.ts'
import type { ListedItem } from './list-form.ts'

/** A message between members of a team. Plain JSON. */
export type TeamMessage = {
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

export function newTeam(team: string): TeamState {
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
export function readTeam(text: string, team: string): TeamState | undefined {
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
export function withWritten(state: TeamState, read: readonly ListedItem[] | undefined): TeamState {
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
export function askedText(name: string, args: JsonObject): string {
  return `${name} ${JSON.stringify(args)}`
}
