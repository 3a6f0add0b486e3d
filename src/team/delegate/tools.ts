import { modelText } from '../../base/model-text.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { callPlace, placeText } from '../../event/place.ts'
import { defineTool, type ToolCall, type ToolKind, type ToolOutput } from '../../tool/toolbox/kind.ts'
import {
  claimItem,
  completeItem,
  createItems,
  type Done,
  type ItemChange,
  itemLine,
  type NewItem,
  noteItem,
  openItems,
  updateItem,
} from './items.ts'
import { type Change, takeUnread, type TeamState, type TeamStore, withMessage } from './store.ts'

/** What the tools of a member work with. */
export interface Desk {
  /** The name of the member in the list and in messages. */
  readonly handle: string
  readonly store: TeamStore
  /** The member was active. */
  readonly touch: () => void
  /** Called when a message was sent. */
  readonly onMessage: (message: { readonly from: string; readonly to: string; readonly text: string }) => void
  /** One line for each worker, for the leader. */
  readonly workers: () => readonly string[]
}

export const leaderHandle = 'leader'

type ToolText = { readonly text: string; readonly isError: boolean }

/** Runs an operation once per call, even if the process is killed at any point. */
async function act(
  { store, touch }: Desk,
  call: ToolCall,
  {
    name,
    args,
    change,
  }: { readonly name: string; readonly args: JsonObject; readonly change: (state: TeamState) => Change<ToolText> },
): Promise<ToolOutput> {
  touch()
  const { text, isError } = await store.act({ place: placeText(call.at), name, args }, change)
  return isError ? { text, isError } : { text }
}

function changing(
  work: (state: TeamState) => Done & { readonly next?: number },
): (state: TeamState) => Change<ToolText> {
  return (state) => {
    const { items, text, isError = false, next = state.next } = work(state)
    return { state: { ...state, items, next }, result: { text, isError } }
  }
}

function looking(show: (state: TeamState) => string): (state: TeamState) => Change<ToolText> {
  return (state) => ({ state, result: { text: show(state), isError: false } })
}

const idParameter: JsonObject = {
  type: 'string',
  minLength: 1,
  maxLength: 40,
  description: modelText`The number of the item, as shown by task_list.`,
}
const blockedParameter: JsonObject = {
  type: 'array',
  items: { type: 'string', minLength: 1 },
  description: modelText`Numbers of items that must be completed first.`,
}
const subjectParameter: JsonObject = {
  type: 'string',
  minLength: 1,
  maxLength: 500,
  description: modelText`The work, in one line.`,
}
const descriptionParameter: JsonObject = {
  type: 'string',
  maxLength: 20_000,
  description: modelText`Details and context.`,
}

function objectOf(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

function createKind(desk: Desk): ToolKind {
  return defineTool<{ readonly items: readonly NewItem[] }>({
    name: 'task_create',
    description: modelText`Add work items to the task list of the team. Pass several in one call. blocked_by may refer to items of the same call by the numbers they will get.`,
    parameters: objectOf(
      {
        items: {
          type: 'array',
          minItems: 1,
          maxItems: 200,
          items: objectOf(
            {
              subject: subjectParameter,
              description: descriptionParameter,
              blocked_by: blockedParameter,
              owner: { type: 'string', description: modelText`The worker for this item; default: whoever claims it.` },
            },
            ['subject'],
          ),
        },
      },
      ['items'],
    ),
    run: ({ items: added }, call) =>
      act(desk, call, {
        name: 'task_create',
        args: { items: added as unknown as JsonObject[] },
        change: changing(({ items, next }) => createItems(items, added, next)),
      }),
  })
}

function updateKind(desk: Desk): ToolKind {
  return defineTool<ItemChange & { readonly id: string }>({
    name: 'task_update',
    description: modelText`Change a work item: its subject, description, owner (empty: no owner), dependencies or status. "pending" reopens it, "deleted" removes it from the list.`,
    parameters: objectOf(
      {
        id: idParameter,
        subject: subjectParameter,
        description: descriptionParameter,
        status: { enum: ['pending', 'in_progress', 'completed', 'deleted'] },
        owner: { type: 'string' },
        blocked_by: blockedParameter,
      },
      ['id'],
    ),
    run: ({ id, ...change }, call) =>
      act(desk, call, {
        name: 'task_update',
        args: { id, ...(change as JsonObject) },
        change: changing(({ items }) => updateItem(items, id, change)),
      }),
  })
}

function listKind(desk: Desk): ToolKind {
  return defineTool<JsonObject>({
    name: 'task_list',
    description: modelText`Show the task list of the team: [ ] is open, [~] is claimed, [x] is completed; then its owner, and the items it waits for.`,
    parameters: objectOf({}, []),
    run: (_, call) =>
      act(desk, call, {
        name: 'task_list',
        args: {},
        change: looking(({ items }) => {
          const lines = items.length === 0 ? [modelText`The list is empty.`] : items.map(itemLine)
          const workers = desk.workers()
          return [...lines, ...(workers.length === 0 ? [] : ['', modelText`Workers:`, ...workers])].join('\n')
        }),
      }),
  })
}

function claimKind(desk: Desk): ToolKind {
  return defineTool<{ readonly id?: string }>({
    name: 'task_claim',
    description: modelText`Claim a work item before you work on it, so that no other worker does. Without an id, the next available item is claimed.`,
    parameters: objectOf({ id: idParameter }, []),
    run: ({ id }, call) =>
      act(desk, call, {
        name: 'task_claim',
        args: defined({ id }),
        change: changing(({ items }) => claimItem(items, desk.handle, id)),
      }),
  })
}

function completeKind(desk: Desk): ToolKind {
  return defineTool<{ readonly id: string; readonly note?: string; readonly done?: boolean }>({
    name: 'task_complete',
    description: modelText`Complete a work item that you have claimed, with a note on the result. With done = false, only report progress.`,
    parameters: objectOf(
      {
        id: idParameter,
        note: { type: 'string', maxLength: 4000, description: modelText`The result, in a few words.` },
        done: { type: 'boolean', description: modelText`false: the item is not completed; the note reports progress.` },
      },
      ['id'],
    ),
    run: ({ id, note, done = true }, call) =>
      act(desk, call, {
        name: 'task_complete',
        args: { id, ...defined({ note }), done },
        change: changing(({ items }) =>
          done ? completeItem(items, desk.handle, id, note) : noteItem(items, desk.handle, id, note ?? ''),
        ),
      }),
  })
}

function readKind(desk: Desk): ToolKind {
  return defineTool<JsonObject>({
    name: 'read_messages',
    description: modelText`Read your unread messages from the team.`,
    parameters: objectOf({}, []),
    run: (_, call) =>
      act(desk, call, {
        name: 'read_messages',
        args: {},
        change(before) {
          const { state, messages } = takeUnread(before, desk.handle)
          const lines = messages.map(({ from, text }) => modelText`from ${from}: ${text}`)
          return {
            state,
            result: { text: lines.join('\n\n') || modelText`There are no new messages.`, isError: false },
          }
        },
      }),
  })
}

function sendKind(desk: Desk): ToolKind {
  return defineTool<{ readonly to: string; readonly message: string }>({
    name: 'send_message',
    description: modelText`Send a message to a member of the team: "leader", a worker by its name, or "all". The receiver reads it when it gets to it; a message does not start any work.`,
    parameters: objectOf(
      {
        to: { type: 'string', minLength: 1, maxLength: 100 },
        message: { type: 'string', minLength: 1, maxLength: 50_000 },
      },
      ['to', 'message'],
    ),
    async run({ to, message }, call) {
      let sent: readonly string[] = []
      const output = await act(desk, call, {
        name: 'send_message',
        args: { to, message },
        change(state) {
          const receivers = receiversOf(to, desk.handle, state)
          const known = [leaderHandle, ...state.members.map(({ handle }) => handle)]
          if (receivers.length === 0) {
            return {
              state,
              result: { text: modelText`there is no ${to} in the team: ${known.join(', ')}`, isError: true },
            }
          }
          sent = receivers
          const add = (one: TeamState, receiver: string): TeamState =>
            withMessage(one, { from: desk.handle, to: receiver, text: message })
          return {
            state: receivers.reduce(add, state),
            result: { text: modelText`sent to ${receivers.join(', ')}`, isError: false },
          }
        },
      })
      for (const receiver of sent) desk.onMessage({ from: desk.handle, to: receiver, text: message })
      return output
    },
  })
}

/** By handle, or by agent id; a broadcast skips its sender. */
function receiversOf(to: string, sender: string, { members }: TeamState): readonly string[] {
  const handles = [leaderHandle, ...members.map(({ handle }) => handle)]
  if (to === 'all') return handles.filter((handle) => handle !== sender)
  const named = members.find(({ id }) => id === to)?.handle ?? to.replace(/^@/, '')
  return handles.filter((handle) => handle === named)
}

/** The leader's tools for the list and for messages, except the one to leave. */
export function leaderKinds(desk: Desk): readonly ToolKind[] {
  return [createKind, updateKind, listKind, readKind, sendKind].map((make) => make(desk))
}

export function workerKinds(desk: Desk): readonly ToolKind[] {
  return [listKind, claimKind, completeKind, readKind, sendKind].map((make) => make(desk))
}

/** The progress of a team. */
export type Progress = { readonly completed_tasks: number; readonly total_tasks: number }

export function progressOf({ items }: TeamState): Progress {
  return { completed_tasks: items.length - openItems(items).length, total_tasks: items.length }
}

interface Leaving {
  readonly store: TeamStore
  /** Called in each process that learns that the leader has left. */
  readonly onLeft: (progress: Progress) => Promise<void>
}

type Decision = { readonly left: Progress } | { readonly refused: string }

/** The tool that ends delegate mode; with open items only if forced. */
export function leaveKind({ store, onLeft }: Leaving): ToolKind {
  return defineTool<{ readonly force?: boolean }>({
    name: 'leave_delegate',
    description: modelText`End delegate mode and close all workers. Refused while items are open, unless force is true. Write your report afterwards.`,
    parameters: {
      type: 'object',
      properties: { force: { type: 'boolean', description: modelText`Leave even if items are open.` } },
      required: [],
      additionalProperties: false,
    },
    // its consequences must happen in each process of the run
    callsOthers: true,
    async run({ force = false }, { context, at }) {
      const place = callPlace(at, 0)
      const asked = { name: 'leave_delegate', args: { force } }
      const decision = await context.services.effects.observeAsync<Decision>(place, asked, () =>
        store.act({ place: placeText(place), name: asked.name, args: asked.args }, (state) => decide(state, force)),
      )
      if ('refused' in decision) return { text: decision.refused, isError: true }
      await onLeft(decision.left)
      const { completed_tasks: done, total_tasks: all } = decision.left
      return { text: modelText`You have left delegate mode: ${done} of ${all} items are completed.` }
    },
  })
}

function decide(state: TeamState, force: boolean): { readonly state: TeamState; readonly result: Decision } {
  const left = progressOf(state)
  const open = openItems(state.items)
  if (open.length === 0 || force) return { state: { ...state, hasLeft: true }, result: { left } }
  const lines = open.map(itemLine).join('\n')
  const refused = modelText`${left.completed_tasks} of ${left.total_tasks} items are completed. Still open:\n${lines}\nLet workers complete them, or leave with force.`
  return { state, result: { refused } }
}
