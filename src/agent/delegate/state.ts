import { defined, type Json, type JsonObject } from '../../base/json.ts'
import type { WorkItems } from './items.ts'
import type { ListedItem } from './list-form.ts'

/** A message of one member of a team to another. Plain JSON. */
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
  /** That of the agent. */
  readonly id: string
  /** What it is called: its role and a number. */
  readonly handle: string
}

/** All that a team knows together. Plain JSON: it is kept in a file of the run. */
export type TeamState = {
  readonly v: 1
  /** Made when the team began: a state of another one is none of this. */
  readonly team: string
  /** How many operations have made it. */
  readonly operations: number
  /** What each operation gave, by the place of the call that asked for it: a call that is made again gets the same. */
  readonly done: {
    readonly [place: string]: { readonly operation: number; readonly asked: string; readonly result: Json }
  }
  readonly items: WorkItems
  /** The number for the next new item. */
  readonly next: number
  readonly messages: readonly TeamMessage[]
  readonly members: readonly Member[]
  /** The leader has left the list. */
  readonly hasLeft: boolean
  /** What the list file was made of, or said when it was read, the newest first; the first one may not have been written any more. */
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

/** The state of a team in a text; undefined where it holds none of this team. */
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

/** Gives a worker its handle; it keeps one that it has. */
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

/** Takes what somebody has not read: from then on it is. */
export function takeUnread(
  state: TeamState,
  handle: string,
): { readonly state: TeamState; readonly messages: readonly TeamMessage[] } {
  const messages = unreadOf(state, handle)
  const read = new Set(messages.map(({ id }) => id))
  const all = state.messages.map((one) => (read.has(one.id) ? { ...one, isRead: true } : one))
  return { state: { ...state, messages: all }, messages }
}

/** The messages that somebody has not read, oldest first. */
export function unreadOf({ messages }: TeamState, handle: string): readonly TeamMessage[] {
  return messages.filter(({ to, isRead }) => to === handle && !isRead)
}

/** Texts of the list that are remembered: an editor may hold one that is older than the last. */
const mostWritten = 12
/** Items of them all. */
const mostListed = 3000

/** Keeps what the list file said, and what it is made of next. */
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

/** What an operation is told apart by from another of the same place. */
export function askedText(name: string, args: JsonObject): string {
  return `${name} ${JSON.stringify(args)}`
}
