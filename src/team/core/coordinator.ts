import { modelText } from '../../base/model-text.ts'
import type { Clock } from '../../base/clock.ts'
import { unlessAborted } from '../../base/concurrency.ts'
import { BatonError, isSuspension } from '../../base/error.ts'
import {
  type AgentStatus,
  type CollabSettings,
  leaderId,
  type SpawnOrder,
  type Team,
  type TeamEvent,
  type TeamMember,
  type TeamRequest,
} from '../../event/collab.ts'
import type { Inbox } from '../../event/inbox.ts'
import {
  createMailbox,
  createMember,
  createSlots,
  isFinal,
  type Letter,
  type Mailbox,
  mailText,
  type Member,
  nameOf,
  noticeText,
} from './member.ts'
import { createRepeats, createRestWatch, type Stall, stallOfRest, type TeamView, type WaitFor } from './stalls.ts'
import { createWaiting, createWaits } from './waits.ts'

export interface CoordinatorOptions {
  readonly settings: Pick<CollabSettings, 'maxAgents' | 'maxDepth' | 'onStall' | 'stallAfterMs'>
  readonly clock: Clock
  /** The names of its members in texts, if they have others than their roles and ids. */
  readonly nameOf?: (id: string) => string
}

/** Coordinates the agents of one conversation. See docs/design/collab.md. */
export function createCoordinator({ settings, clock, nameOf: ownName }: CoordinatorOptions): Team {
  const { maxAgents, maxDepth, onStall, stallAfterMs } = settings
  const members = new Map<string, Member>()
  const spawnedBy = new Map<string, Set<Member>>()
  const mailboxes = new Map<string, Mailbox>()
  const slots = createSlots(maxAgents)
  const waits = createWaits(statusOf)
  const listeners = new Set<(event: TeamEvent) => void>()
  const behind = new Set<Member>()
  const suspended = new Set<Member>()
  /** Agents that a record closed before they were spawned. */
  const closedEarly = new Map<string, string>()
  const closing = new Map<Member, Promise<void>>()
  const abandon = new AbortController()
  let onRest: () => void = () => {}
  let broken: { readonly error: unknown } | undefined
  let stalls = 0

  const name = (id: string): string => ownName?.(id) ?? nameOf(id, members.get(id)?.order.role)
  const agentsOf = (id: string): ReadonlySet<Member> => spawnedBy.get(id) ?? new Set()
  const view: TeamView = {
    stateOf(id) {
      if (id === leaderId) return 'leader'
      const member = members.get(id)
      if (member === undefined || isFinal(member.status())) return 'ended'
      return member.suspension() === undefined ? 'open' : 'person'
    },
    waitsOf: (id) => waits.of(id).flatMap((wait) => (wait.isCall ? wait : newsWait(id))),
    nameOf: name,
  }

  const rest = createRestWatch({
    clock,
    stallAfterMs,
    onRest(restedMs) {
      const active = new Set([...members].flatMap(([id, member]) => (member.isActive() ? [id] : [])))
      const stall = stallOfRest({ members: list(), active, restedMs, nameOf: name })
      if (stall !== undefined) report(stall)
    },
  })
  const repeats = createRepeats({ nameOf: name, onProgress: rest.progress, onStall: report })
  const waiting = createWaiting({
    clock,
    waits,
    view,
    memberOf: (id) => members.get(id),
    agentsOf,
    mailboxOf,
    behind,
    hasSuspended: () => suspended.size > 0,
    refuseBroken,
    report,
  })

  /** For a wait for news: the agents that are active now, since one may have resumed after the wait started. */
  function newsWait(id: string): readonly WaitFor[] {
    const ids = [...agentsOf(id)].flatMap((member) => (member.isActive() ? [member.order.id] : []))
    return ids.length === 0 ? [] : [{ ids, returnWhen: 'any' }]
  }

  function tell(event: TeamEvent): void {
    for (const listener of listeners) listener(event)
  }

  function statusOf(id: string): AgentStatus {
    return id === leaderId ? 'running' : (members.get(id)?.status() ?? 'not_found')
  }

  function mailboxOf(id: string): Mailbox {
    const mailbox = mailboxes.get(id) ?? createMailbox()
    mailboxes.set(id, mailbox)
    return mailbox
  }

  /** Delivers to a member, to the leader, or to an agent that is spawned later. */
  function deliver(to: string, letter: Letter): void {
    const member = members.get(to)
    if (member !== undefined) member.receive(letter)
    else if (mailboxOf(to).add(letter) === 'told' && letter.mail !== undefined) tellMessage(to, letter)
    waits.news(to)
  }

  function tellMessage(to: string, { mail }: Letter): void {
    if (mail !== undefined) tell({ kind: 'message', to, mail })
  }

  function refuseBroken(): void {
    if (broken !== undefined) throw broken.error
  }

  function breakWith(error: unknown): void {
    if (abandon.signal.aborted) return
    broken ??= { error }
    for (const wait of waits.all()) wait.fail(broken.error)
  }

  /** `by`: the member that learns of the stall anyway, from the result of its wait. */
  function report({ kind, agents, message }: Stall, by?: string): void {
    tell({ kind: 'stalled', stall: kind, agents, message })
    if (onStall === 'fail') {
      const hint = 'Set on_stall = "tell" in [collab] to notify the leader and continue.'
      breakWith(new BatonError('AGENT_FAILED', modelText`the team is stalled: ${message}`, { endsRun: true, hint }))
    } else if (by !== leaderId) {
      stalls += 1
      deliver(leaderId, { id: `stall/${clock.now()}/${stalls}`, text: modelText`The team is stalled: ${message}` })
    }
  }

  function rests(member: Member): void {
    if (member.suspension() === undefined) {
      suspended.delete(member)
    } else {
      suspended.add(member)
      for (const wait of waits.all()) waiting.hold(wait)
    }
    waits.news(member.order.parent)
    onRest()
  }

  function spawn(order: SpawnOrder): void {
    const { id, parent, role } = order
    if (members.has(id)) return
    const member = createMember(order, mailboxOf(id), {
      slots,
      onStatus(changed) {
        const status = changed.status()
        if (changed.suspension() === undefined) suspended.delete(changed)
        tell({ kind: 'status', id, role, status })
        for (const wait of waits.changed(id)) waiting.hold(wait)
        rest.progress()
      },
      onTold: (mail) => tellMessage(id, { id: mail.id, mail }),
      onEnd(ended) {
        const text = order.notice?.text() ?? noticeText(name(id), ended.status())
        deliver(parent, { id: ended.endId(), text })
      },
      onRest: rests,
      onCaughtUp: (one) => behind.delete(one),
      onLive: () => onRest(),
      onBroken: breakWith,
    })
    members.set(id, member)
    spawnedBy.set(parent, (spawnedBy.get(parent) ?? new Set()).add(member))
    behind.add(member)
    tell({ kind: 'status', id, role, status: member.status() })
    rest.progress()
    member.begin()
    const by = closedEarly.get(id)
    if (by !== undefined) void close(id, by)
  }

  function inboxOf(id: string): Inbox {
    const mailbox = mailboxOf(id)
    return {
      isOpen() {
        refuseBroken()
        return id !== leaderId || members.size > 0
      },
      waiting() {
        const member = members.get(id)
        // an interrupting message is for the next piece
        if (member?.isStopping() === true) return []
        return mailbox.letters().map((letter) => {
          const text =
            letter.mail === undefined ? letter.text : mailText(letter.mail, member?.order, name(letter.mail.from))
          return { id: letter.id, text }
        })
      },
      know(ids) {
        for (const letter of mailbox.know(ids)) tellMessage(id, letter)
      },
      next: (signal) => waiting.next(id, signal),
    }
  }

  function worksFor(id: string, other: string): boolean {
    for (let at: string | undefined = id; at !== undefined; at = members.get(at)?.order.parent)
      if (at === other) return true
    return false
  }

  async function close(id: string, by: string): Promise<AgentStatus> {
    const member = members.get(id)
    if (member === undefined) {
      closedEarly.set(id, by)
      return 'not_found'
    }
    members.get(by)?.catchUp()
    await member.caughtUp
    const isFirst = !closing.has(member)
    const before = member.status()
    const end = shutDown(member)
    if (by === member.order.parent) mailboxOf(by).know([member.endId()])
    // the caller's own work ends with this close
    if (worksFor(by, id)) return before
    // two members may close each other
    const stop = members.get(by)?.stopSignal()
    await (stop === undefined ? end : unlessAborted(end, stop))
    return isFirst ? before : 'shutdown'
  }

  function shutDown(member: Member): Promise<void> {
    const known = closing.get(member)
    if (known !== undefined) return known
    const agents = [...agentsOf(member.order.id)]
    const end = Promise.all([
      member.shutDown(),
      ...agents.map((agent) => agent.caughtUp.then(() => shutDown(agent))),
    ]).then(() => undefined)
    closing.set(member, end)
    return end
  }

  function list(): readonly TeamMember[] {
    return [...members.values()].map((member) => {
      const { id, parent, depth, role } = member.order
      const waitsFor = [...new Set(view.waitsOf(id).flatMap(({ ids }) => ids))]
      return { id, parent, depth, role, status: member.status(), isQueued: member.isQueued(), waitsFor }
    })
  }

  async function end(failure: unknown): Promise<readonly TeamMember[]> {
    /** Waits until the condition holds for no member. */
    async function untilNone(isSo: (member: Member) => boolean): Promise<void> {
      while ([...members.values()].some(isSo)) {
        // eslint-disable-next-line no-await-in-loop
        await new Promise<void>((resolve) => (onRest = resolve))
      }
    }

    if (failure !== undefined) {
      const reason = new DOMException('the leader of the team has failed', 'AbortError')
      if (!isSuspension(failure)) abandon.abort(reason)
      await untilNone((member) => member.isActive())
      abandon.abort(reason)
      rest.end()
      for (const member of members.values()) member.abandon(reason)
      return []
    }
    // in a replay the leader ends before the members have finished replaying
    await untilNone((member) => member.isPassing())
    const left = list().filter(({ id }) => members.get(id)?.isClosed() === false)
    await Promise.all(left.map(({ id }) => close(id, leaderId)))
    rest.end()
    return left
  }

  return {
    refusal(request) {
      const open = (): number => [...members.values()].filter((member) => !member.isClosed()).length
      return refusalOf(request, { maxDepth, open, statusOf, worksFor })
    },
    spawn,
    send(to, mail) {
      rest.progress()
      deliver(to, { id: mail.id, mail })
    },
    statusOf,
    endOf: (id) => members.get(id)?.endId(),
    members: list,
    wait: waiting.wait,
    close,
    inboxOf,
    caughtUp: async (id) => members.get(id)?.caughtUp,
    progressed: (id) => (id === leaderId ? undefined : rest.progress()),
    asking: rest.asking,
    called: repeats.called,
    abandoned: abandon.signal,
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    end,
  }
}

/** The facts that a refusal depends on. */
interface Standing {
  readonly maxDepth: number
  /** The number of agents that are not closed; only computed for a spawn. */
  readonly open: () => number
  readonly statusOf: (id: string) => AgentStatus
  /** Whether the agent is the other one or works for it, directly or through others. */
  readonly worksFor: (id: string, other: string) => boolean
}

/** Limit of open agents in one team: finished agents stay open for further messages until they are closed. */
const mostOpen = 1_000

/** The reason for refusing a call, as the model gets it; undefined if the call is allowed. */
function refusalOf(request: TeamRequest, { maxDepth, open, statusOf, worksFor }: Standing): string | undefined {
  switch (request.kind) {
    case 'spawn':
      if (isBlank(request.message)) return emptyMessage
      if (request.depth >= maxDepth) return modelText`agent depth limit reached (max ${maxDepth}): do the work yourself`
      return open() >= mostOpen ? `agent thread limit reached (max ${mostOpen}): close agents first` : undefined
    case 'send': {
      const { to, text } = request
      if (isBlank(text)) return emptyMessage
      if (to === leaderId) return undefined
      if (!isUuid(to)) return invalidId(to)
      const status = statusOf(to)
      if (status === 'not_found') return notFound(to)
      return status === 'shutdown' ? `agent with id ${to} is closed` : undefined
    }
    case 'wait': {
      if (request.ids.length === 0) return modelText`ids must be non-empty`
      const wrong = request.ids.find((id) => id !== leaderId && !isUuid(id))
      return wrong === undefined ? undefined : invalidId(wrong)
    }
    case 'close': {
      const { id, by } = request
      if (id === leaderId) return modelText`the leader cannot be closed`
      if (!isUuid(id)) return invalidId(id)
      if (statusOf(id) === 'not_found') return notFound(id)
      return worksFor(by, id) ? `agent ${id} cannot be closed by itself or by agents that it spawned` : undefined
    }
  }
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function isUuid(text: string): boolean {
  return uuid.test(text)
}

const emptyMessage = "Empty message can't be sent to an agent"

function isBlank(text: string): boolean {
  return text.trim() === ''
}

function notFound(id: string): string {
  return modelText`agent with id ${id} not found`
}

function invalidId(id: string): string {
  return modelText`invalid agent id ${id}: use an id returned by spawn_agent, such as 67e55044-10b1-426f-9247-bb680e5fe0c8`
}
