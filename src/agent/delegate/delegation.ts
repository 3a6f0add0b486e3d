import { modelText } from '../../base/model-text.ts'
import { systemClock } from '../../base/clock.ts'
import { unlessAborted } from '../../base/concurrency.ts'
import type { Tool } from '../../event/agent.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { Inbox, InboxMessage } from '../../event/inbox.ts'
import { bindTool } from '../../tool/toolbox/bind.ts'
import { createToolbox } from '../../tool/toolbox/toolbox.ts'
import { announceStall } from '../collab/open.ts'
import { joinInboxes, recordedInbox } from '../inboxes.ts'
import { delegateExitNote, delegateNote } from './attachments.ts'
import { giveBack, itemLine, openItems } from './items.ts'
import { leaveKind, type Progress } from './leave.ts'
import { seatInbox } from './seat-inbox.ts'
import type { TeamStore } from './store.ts'
import { superviseList } from './supervision.ts'
import { type Desk, leaderHandle, leaderKinds, workerKinds } from './tools.ts'
import type { Waits } from './wait-tool.ts'
import { createWorkers } from './workers.ts'

export interface DelegationOptions {
  readonly store: TeamStore
  readonly workers: ReadonlyMap<string, AgentDefinition>
  readonly maxWorkers: number
  readonly waits: Waits
  /** The values in the notes (R127). */
  readonly note: { readonly team: string; readonly list: string }
  /** Whether members are told of unread messages (R140). */
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

  const supervision = superviseList({
    clock: systemClock,
    stallAfterMs: options.stallAfterMs,
    atWork: () => workers.atWork(),
    items: () => store.state().items,
    onStall(stall) {
      announceStall(stall, context)
      tellLeader(modelText`The team is stalled: ${stall.message}`)
    },
  })

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
    watch: supervision.watch,
    bind: (kinds) => ({ tools: kinds.map((kind) => bindTool(kind, box)) }),
    onEnd: async (handle) => (holds(handle) ? takeBack(handle) : notify()),
  })

  async function onLeft(progress: Progress): Promise<void> {
    if (left === undefined) emit(context, { type: 'delegate.exited', ...progress })
    left = progress
    await workers.stopAll()
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
    watchLeader: (leader) => supervision.watch(leaderHandle, leader),
    onItem: supervision.look,
    tellLeader,
    left: () => left,
    close() {
      clearInterval(timer)
      supervision.close()
    },
  }
}
