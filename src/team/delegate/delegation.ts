import { modelText } from '../../base/model-text.ts'
import { unlessAborted } from '../../base/concurrency.ts'
import type { AgentDefinition, Tool } from '../../event/agent.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { Inbox, InboxMessage } from '../../event/inbox.ts'
import { bindTool } from '../../tool/toolbox/bind.ts'
import { createToolbox } from '../../tool/toolbox/toolbox.ts'
import { announceStall } from '../core/events.ts'
import { joinInboxes, recordedInbox } from '../core/inboxes.ts'
import { blockedRound, giveBack, itemLine, openItems } from './items.ts'
import { type Desk, leaderHandle, leaderKinds, leaveKind, type Progress, workerKinds } from './tools.ts'
import { type TeamStore, unreadOf } from './store.ts'
import { createWorkers, type Waits } from './workers.ts'
import { leaderId } from '../../event/collab.ts'
import { type Stall, watchProgress } from '../core/stalls.ts'

export interface DelegationOptions {
  readonly store: TeamStore
  readonly workers: ReadonlyMap<string, AgentDefinition>
  readonly maxWorkers: number
  readonly waits: Waits
  /** The values in the notes. */
  readonly note: { readonly team: string; readonly list: string }
  /** Whether members are told of unread messages. */
  readonly notifies: boolean
  /** After this time without activity of a worker its items are released, in milliseconds. */
  readonly leaseMs: number
  /** After this time without progress of any worker the leader is notified, in milliseconds. */
  readonly stallAfterMs: number
  /** Absolute. */
  readonly baseDir: string
  /** The context of the task, which is that of the leader's conversation. */
  readonly context: RunContext
}

export interface Delegation {
  /** Of the leader. */
  readonly seat: { readonly tools: readonly Tool[]; readonly inbox: Inbox }
  /** The same context, watched as the leader's work. */
  readonly watchLeader: (context: RunContext) => RunContext
  /** Called when the list has changed. */
  readonly onItem: () => void
  /** Delivers a text to the leader's model before its next request. */
  readonly tellLeader: (text: string) => void
  /** Set if the leader has left, in this process. */
  readonly left: () => Progress | undefined
  readonly close: () => void
}

/**
 * A team: a leader, which starts workers and waits for them, and the workers, whose claims are released when they end.
 */
export function openDelegation(options: DelegationOptions): Delegation {
  const { store, note, leaseMs, notifies, context } = options
  const box = createToolbox({ baseDir: options.baseDir })
  const active = new Map<string, number>()
  const letters: InboxMessage[] = []
  let left: Progress | undefined
  let isReminded = false
  let toldRound: string | undefined
  let wake = (): void => {}
  let changed = nextChange()

  function nextChange(): Promise<void> {
    return new Promise((resolve) => (wake = resolve))
  }

  function notify(): void {
    const done = wake
    changed = nextChange()
    done()
  }

  function tellLeader(text: string): void {
    // the time keeps the id unique across the processes of a run
    letters.push({ id: `delegate/letter/${context.services.now().getTime()}/${letters.length}`, text })
    notify()
  }

  /** Releases what a member has claimed and not completed. */
  async function takeBack(handle: string): Promise<readonly string[]> {
    active.delete(handle)
    const ids = await store.act({ name: 'give_back', args: { owner: handle } }, (state) => {
      const { items, changed: given } = giveBack(state.items, handle)
      return { state: { ...state, items }, result: [...given] }
    })
    notify()
    return ids
  }

  function holds(handle: string): boolean {
    return store.state().items.some(({ owner, status }) => owner === handle && status !== 'completed')
  }

  async function checkLeases(): Promise<void> {
    const now = context.services.now().getTime()
    for (const [handle, last] of active) {
      if (handle === leaderHandle || now - last < leaseMs || !holds(handle)) continue
      const ids = await takeBack(handle)
      const items = ids.map((id) => `#${id}`).join(', ')
      tellLeader(modelText`${handle} has done nothing for a long time: others can claim ${items} again.`)
    }
  }

  const timer = setInterval(() => void checkLeases(), Math.min(Math.max(leaseMs / 4, 50), 30_000))
  timer.unref()

  function deskOf(handle: string): Desk {
    return {
      handle,
      store,
      touch: () => void active.set(handle, context.services.now().getTime()),
      onMessage({ from, to, text: message }) {
        emit(context, { type: 'delegate.message', from, to, message })
        notify()
      },
      workers: () => (handle === leaderHandle ? workers.lines() : []),
    }
  }

  const workers = createWorkers({
    ...options,
    box,
    hasLeft: () => left !== undefined,
    seatOf(handle) {
      const desk = deskOf(handle)
      desk.touch()
      const text = modelText`${delegateNote(note)}\n\nYou are the worker ${handle}. Claim an item with task_claim before you work on it, complete it with task_complete, and go on with the next one until none is left for you.`
      const inbox = seatInbox({ handle, store, note: text, notifies, onTurn: desk.touch })
      return { tools: workerKinds(desk), inbox }
    },
    bind: (kinds) => ({ tools: kinds.map((kind) => bindTool(kind, box)) }),
    onEnd: async (handle) => (holds(handle) ? takeBack(handle) : notify()),
  })

  async function onLeft(progress: Progress): Promise<void> {
    if (left === undefined) emit(context, { type: 'delegate.exited', ...progress })
    left = progress
    await workers.stopAll()
  }

  /** Reports items that wait for each other, each time that they do. */
  function onItem(): void {
    const round = blockedRound(store.state().items)
    const key = round?.toSorted().join()
    if (round !== undefined && key !== toldRound) {
      const stall = stallOfRound(round)
      announceStall(stall, context)
      tellLeader(modelText`The team is stalled: ${stall.message}`)
    }
    toldRound = key
  }

  /** A reminder for a leader that is done while items are open; sent once. */
  function reminder(): readonly InboxMessage[] {
    if (!isReminded) return []
    const open = openItems(store.state().items).map(itemLine)
    const text = modelText`No worker is running, and items are still open:\n${open.join('\n')}\nLet workers complete them, or call leave_delegate with force.`
    return [{ id: 'delegate/open', text }]
  }

  /** Waits for messages for a leader that has nothing more to do. */
  async function next(until: AbortSignal): Promise<boolean> {
    if (workers.areAtWork()) {
      await unlessAborted(changed, until)
      return true
    }
    // that a worker has ended comes first
    if (workers.children.inbox.waiting().length > 0) return false
    if (left !== undefined || isReminded || openItems(store.state().items).length === 0) return false
    isReminded = true
    return true
  }

  const desk = deskOf(leaderHandle)
  const own = seatInbox({
    handle: leaderHandle,
    store,
    note: delegateNote(note),
    notifies,
    onTurn: desk.touch,
    more: () => [
      ...letters,
      ...reminder(),
      ...(left === undefined ? [] : [{ id: 'delegate/exit', text: delegateExitNote }]),
    ],
    next,
  })
  const kinds = [...leaderKinds(desk), ...workers.kinds, leaveKind({ store, onLeft })]
  return {
    seat: {
      tools: kinds.map((kind) => bindTool(kind, box)),
      inbox: recordedInbox(joinInboxes([own, workers.children.inbox]), context),
    },
    watchLeader: (leader) => watchProgress({ team: workers.children.team, id: leaderId }, leader),
    onItem,
    tellLeader,
    left: () => left,
    close: () => clearInterval(timer),
  }
}

function stallOfRound(round: readonly string[]): Stall {
  const each = round.map((id, index) => `#${id} waits for #${round[(index + 1) % round.length] ?? ''}`)
  const message = `items wait for each other, so nobody can start them: ${each.join(', ')}`
  return { kind: 'cycle', agents: [], message }
}

interface SeatInboxOptions {
  readonly handle: string
  readonly store: TeamStore
  /** The first message of the conversation. */
  readonly note: string
  /** Whether it is told of unread messages. */
  readonly notifies: boolean
  /** Called when a request starts. */
  readonly onTurn: () => void
  /** Further messages for its model. */
  readonly more?: () => readonly InboxMessage[]
  /** Waits until `more` may have changed; false if there will be nothing more. */
  readonly next?: (signal: AbortSignal) => Promise<boolean>
}

/** The messages for a member of a team: the note of delegate mode, and a note about unread messages. */
function seatInbox({ handle, store, note, notifies, onTurn, more = () => [], next }: SeatInboxOptions): Inbox {
  const known = new Set<string>()

  function unread(): readonly InboxMessage[] {
    if (!notifies) return []
    const messages = unreadOf(store.state(), handle)
    const last = messages.at(-1)
    if (last === undefined) return []
    const own = messages.filter(({ from }) => from === handle).length
    const text = collabNote([
      { handle: 'teammate', unread: messages.length - own },
      { handle: 'self', unread: own },
    ])
    return [{ id: `delegate/unread/${last.id}`, text }]
  }

  function waiting(): readonly InboxMessage[] {
    const all = [{ id: 'delegate/note', text: note }, ...more(), ...unread()]
    return all.filter(({ id }) => !known.has(id))
  }

  return {
    isOpen() {
      onTurn()
      return true
    },
    waiting,
    know(ids) {
      for (const id of ids) known.add(id)
    },
    async next(signal) {
      for (;;) {
        if (waiting().length > 0) return true
        if (next === undefined || !(await next(signal))) return waiting().length > 0
      }
    },
  }
}

/** The note at the start of each conversation of a team. */
export function delegateNote({ team, list }: { readonly team: string; readonly list: string }): string {
  return modelText`<system-reminder>
Delegate mode is active for team "${team}".

Task list location: ${list}

As a team member:
- Check the task list for assigned work
- Update task status as you progress
- Coordinate with other team members via collab_notification

Do NOT exit delegate mode until all tasks are complete.
</system-reminder>`
}

/** The note for the leader after it has left. */
export const delegateExitNote = modelText`<system-reminder>
Delegate mode has ended. All team tasks should be complete.
Summarize the work done and any remaining items.
</system-reminder>`

/** Counts of unread messages: from others, or notes to oneself. */
interface Chat {
  readonly handle: 'teammate' | 'self'
  readonly unread: number
}

/** The note about unread messages; empty without chats. */
export function collabNote(chats: readonly Chat[]): string {
  if (chats.length === 0) return ''
  const lines = chats.map(({ handle, unread }) => modelText`- ${handle}: ${unread} unread message(s)`)
  return modelText`<system-reminder>
Team collaboration notifications:
${lines.join('\n')}

Use collab tools to read and respond to messages.
</system-reminder>`
}
