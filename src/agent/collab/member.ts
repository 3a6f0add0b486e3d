import { underBoth } from '../../base/concurrency.ts'
import { isSuspension } from '../../base/error.ts'
import type { AgentStatus, Mail, PieceEnd, SpawnOrder } from '../../event/collab.ts'
import type { Letter, Mailbox } from './mailbox.ts'
import type { Slots } from './slots.ts'
import { statusName } from './status.ts'

/** An agent of a team from spawn to close. It does one piece of work at a time. */
export interface Member {
  readonly order: SpawnOrder
  readonly mailbox: Mailbox
  readonly status: () => AgentStatus
  /** The id of its latest end, as used by notices. */
  readonly endId: () => string
  readonly isQueued: () => boolean
  /** It is working or about to. An agent that waits for the user is not active. */
  readonly isActive: () => boolean
  /** It is still replaying recorded work. */
  readonly isPassing: () => boolean
  readonly isClosed: () => boolean
  /** Its piece is being stopped, so nothing is delivered to it any more. */
  readonly isStopping: () => boolean
  /** Aborted when its current piece is stopped. */
  readonly stopSignal: () => AbortSignal | undefined
  /** The suspension with which it waits for the user. */
  readonly suspension: () => { readonly error: unknown } | undefined
  readonly isCaughtUp: () => boolean
  /** Called when it does something that is not recorded. */
  readonly catchUp: () => void
  readonly caughtUp: Promise<void>
  readonly begin: () => void
  readonly receive: (letter: Letter) => void
  /**
   * It waits for others, so its slot is free meanwhile. Each pause ends with one `resume`, or with `fail` if the wait
   * makes its work fail.
   */
  readonly pause: () => void
  readonly resume: (signal: AbortSignal) => Promise<void>
  readonly fail: () => void
  /** Closes it for good and waits until it has ended. */
  readonly shutDown: () => Promise<void>
  /** No more messages will arrive; its status is left unchanged. */
  readonly abandon: (reason: unknown) => void
}

/** The callbacks with which a member informs its team. */
interface MemberHost {
  readonly slots: Slots
  readonly onStatus: (member: Member) => void
  readonly onTold: (mail: Mail) => void
  /** A piece has ended and no message is waiting for the agent. */
  readonly onEnd: (member: Member) => void
  /** It has stopped working: its piece ended, it waits for the user, or it is closed. */
  readonly onRest: (member: Member) => void
  readonly onCaughtUp: (member: Member) => void
  /** A piece does something that is not recorded. */
  readonly onLive: (member: Member) => void
  /** It failed with an error that ends the run. */
  readonly onBroken: (error: unknown) => void
}

export function createMember(order: SpawnOrder, mailbox: Mailbox, host: MemberHost): Member {
  const { id, parent, work } = order
  let status: AgentStatus = 'pending_init'
  /** Of the current piece. */
  let stop: AbortController | undefined
  let isLive = false
  let isBegun = false
  let interruptedBy: Mail | undefined
  let pieces = 0
  let hasSlot = false
  let queued = 0
  let pauses = 0
  let isIdle = false
  let isClosed = false
  let isOver = false
  let suspension: { readonly error: unknown } | undefined
  let arrival = gate()
  const caughtUp = gate()
  const over = gate()

  function become(next: AgentStatus): void {
    if (statusName(next) === statusName(status)) return
    status = next
    host.onStatus(member)
  }

  function catchUp(): void {
    if (caughtUp.isOpen()) return
    caughtUp.open()
    host.onCaughtUp(member)
  }

  function know(ids: readonly string[]): void {
    for (const { mail } of mailbox.know(ids)) if (mail !== undefined) host.onTold(mail)
  }

  async function takeSlot(piece: AbortController, signal: AbortSignal): Promise<void> {
    queued += 1
    try {
      await host.slots.take(parent, signal)
    } finally {
      queued -= 1
    }
    if (stop === piece && !hasSlot && pauses === 0) hasSlot = true
    else host.slots.give()
  }

  function takeAgain(piece: AbortController, signal: AbortSignal): Promise<void> {
    return underBoth(piece.signal, signal, (either) => takeSlot(piece, either))
  }

  function freeSlot(): void {
    if (!hasSlot) return
    hasSlot = false
    host.slots.give()
  }

  async function live(piece: AbortController): Promise<void> {
    catchUp()
    isLive = true
    host.onLive(member)
    // the message was sent during the replay and no record has it, so it interrupts the current work
    if (interruptedBy !== undefined && !mailbox.isKnown(interruptedBy.id)) interrupt(piece)
    await takeSlot(piece, piece.signal)
    isBegun = true
    become('running')
  }

  function interrupt(piece: AbortController): void {
    become('running')
    become('interrupted')
    piece.abort(new DOMException('interrupted', 'AbortError'))
  }

  async function piece(mail: readonly Mail[]): Promise<PieceEnd> {
    const own = new AbortController()
    const { signal } = own
    stop = own
    isBegun = false
    pauses = 0
    let begun: Promise<void> | undefined
    try {
      return await work.piece(mail, { stop: signal, live: () => (begun ??= live(own)) })
    } catch (error) {
      if (signal.aborted && error === signal.reason) return { kind: 'stopped' }
      if (!isSuspension(error)) throw error
      freeSlot()
      catchUp()
      await waitForPerson(error, signal)
      await work.withdraw()
      return { kind: 'stopped' }
    } finally {
      freeSlot()
      stop = undefined
      isLive = false
      interruptedBy = undefined
      pieces += 1
    }
  }

  /** Waits until the piece is stopped; a suspended run ends before that. */
  async function waitForPerson(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    suspension = { error }
    host.onRest(member)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    suspension = undefined
  }

  async function arrive(end: PieceEnd): Promise<readonly Mail[] | undefined> {
    if (!mailbox.hasMail() && !isClosed) {
      arrival = gate()
      isIdle = true
      publish(end)
      catchUp()
      host.onRest(member)
      await arrival.passed
      isIdle = false
    }
    catchUp()
    return isClosed ? undefined : mailbox.mail()
  }

  /** Called only once it is known that no recorded piece follows; until then others must not see the end. */
  function publish(end: PieceEnd): void {
    if (status === 'pending_init') become('running')
    if (end.kind === 'stopped') return become('interrupted')
    become('running')
    become(end.kind === 'completed' ? { completed: end.text } : { errored: end.message })
    host.onEnd(member)
  }

  async function run(): Promise<void> {
    let mail: readonly Mail[] = [order.message]
    know([order.message.id])
    for (;;) {
      const end = await piece(mail)
      if (isClosed) return
      const next = await work.begin(() => arrive(end))
      if (next === undefined) {
        isClosed = true
        return become('shutdown')
      }
      know(next.map((one) => one.id))
      if (isClosed) return
      become('running')
      mail = next
    }
  }

  const member: Member = {
    order,
    mailbox,
    status: () => status,
    endId: () => `end/${id}/${pieces}`,
    isQueued: () => queued > 0,
    isActive: () => !isIdle && !isOver && suspension === undefined,
    isPassing: () => !isLive && member.isActive(),
    isClosed: () => isClosed,
    isStopping: () => stop?.signal.aborted === true,
    stopSignal: () => stop?.signal,
    suspension: () => suspension,
    isCaughtUp: caughtUp.isOpen,
    catchUp,
    caughtUp: caughtUp.passed,
    begin() {
      void run()
        .catch(host.onBroken)
        .then(() => {
          isOver = true
          over.open()
          catchUp()
          host.onRest(member)
        })
    },
    receive(letter) {
      const { mail } = letter
      const how = mailbox.add(letter)
      if (mail === undefined) return
      if (how === 'told') host.onTold(mail)
      if (how !== 'waits' || isClosed) return
      if (mail.interrupts && stop !== undefined && !stop.signal.aborted) {
        if (isBegun || suspension !== undefined) interrupt(stop)
        else if (!caughtUp.isOpen()) interruptedBy = mail
      }
      if (!isIdle) return
      if (status !== 'interrupted') become('running')
      isIdle = false
      arrival.open()
    },
    pause() {
      pauses += 1
      if (pauses === 1) freeSlot()
    },
    async resume(signal) {
      pauses -= 1
      if (pauses === 0 && isBegun && stop !== undefined) await takeAgain(stop, signal)
    },
    fail: () => void (pauses -= 1),
    async shutDown() {
      isClosed = true
      stop?.abort(new DOMException('closed', 'AbortError'))
      arrival.open()
      await over.passed
      become('shutdown')
    },
    abandon: (reason) => arrival.fail(reason),
  }
  return member
}

/** A gate that any number of callers can wait for. */
function gate(): {
  readonly open: () => void
  readonly fail: (reason: unknown) => void
  readonly isOpen: () => boolean
  readonly passed: Promise<void>
} {
  let isOpen = false
  let settle: { readonly resolve: () => void; readonly reject: (reason: unknown) => void }
  const passed = new Promise<void>((resolve, reject) => (settle = { resolve, reject }))
  passed.catch(() => undefined)
  return {
    open() {
      isOpen = true
      settle.resolve()
    },
    fail: (reason) => settle.reject(reason),
    isOpen: () => isOpen,
    passed,
  }
}
