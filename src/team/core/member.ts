import { manyListeners, withEitherSignal } from '../../base/concurrency.ts'
import { isSuspension } from '../../base/error.ts'
import { type AgentStatus, leaderId, type Mail, type PieceEnd, type SpawnOrder } from '../../event/collab.ts'
import { modelText } from '../../base/model-text.ts'
import { cutText } from '../../base/cut-text.ts'

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
    return withEitherSignal(piece.signal, signal, (either) => takeSlot(piece, either))
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
    endId: () => order.notice?.id ?? `end/${id}/${pieces}`,
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

/** Whether a status ends a wait for its agent. */
export function isFinal(status: AgentStatus): boolean {
  return status !== 'pending_init' && status !== 'running' && status !== 'interrupted'
}

/** The name of a status, without its payload. */
export function statusName(status: AgentStatus): string {
  if (typeof status === 'string') return status
  return 'completed' in status ? 'completed' : 'errored'
}

const after: { readonly [from: string]: readonly string[] } = {
  pending_init: ['running', 'shutdown'],
  running: ['completed', 'errored', 'interrupted', 'shutdown'],
  interrupted: ['running', 'shutdown'],
  completed: ['running', 'shutdown'],
  errored: ['running', 'shutdown'],
}

/** Whether a status may follow another. */
export function mayBecome(from: AgentStatus, to: AgentStatus): boolean {
  return after[statusName(from)]?.includes(statusName(to)) ?? false
}

/** Something to deliver to a model: a message, or a notice, which starts no work. */
export type Letter =
  | { readonly id: string; readonly mail: Mail }
  | { readonly id: string; readonly mail?: undefined; readonly text: string }

/** What waits for one conversation. Each id is delivered once, even if it was known before the letter arrived. */
export interface Mailbox {
  /** `waits`: to be delivered later. `told`: already delivered, according to a record. `known`: a duplicate. */
  readonly add: (letter: Letter) => 'waits' | 'told' | 'known'
  /** The letters not delivered yet, oldest first. */
  readonly letters: () => readonly Letter[]
  /** The messages among them, interrupting ones first. */
  readonly mail: () => readonly Mail[]
  readonly hasMail: () => boolean
  readonly isEmpty: () => boolean
  /** Marks ids as delivered, including ids of letters that arrive later. Returns the letters that were waiting. */
  readonly know: (ids: readonly string[]) => readonly Letter[]
  readonly isKnown: (id: string) => boolean
}

export function createMailbox(): Mailbox {
  const waiting = new Map<string, Letter>()
  /** False: the letter itself has not arrived yet. */
  const known = new Map<string, boolean>()
  let mails = 0
  return {
    add(letter) {
      const hasCome = known.get(letter.id)
      if (hasCome === true || waiting.has(letter.id)) return 'known'
      if (hasCome === false) {
        known.set(letter.id, true)
        return 'told'
      }
      waiting.set(letter.id, letter)
      if (letter.mail !== undefined) mails += 1
      return 'waits'
    },
    letters: () => [...waiting.values()],
    mail() {
      const all = [...waiting.values()].flatMap(({ mail }) => mail ?? [])
      return [...all.filter(({ interrupts }) => interrupts), ...all.filter(({ interrupts }) => !interrupts)]
    },
    hasMail: () => mails > 0,
    isEmpty: () => waiting.size === 0,
    know(ids) {
      return ids.flatMap((id) => {
        const letter = waiting.get(id)
        if (!known.has(id)) known.set(id, letter !== undefined)
        if (letter === undefined) return []
        waiting.delete(id)
        if (letter.mail !== undefined) mails -= 1
        return [letter]
      })
    },
    isKnown: (id) => known.has(id),
  }
}

/**
 * Limits how many agents work at once. Spawners take turns for free slots; the agents of one spawner are served in
 * order.
 */
interface Slots {
  /** Waits for a slot. @throws the reason of the signal; no slot is taken then */
  readonly take: (spawner: string, signal: AbortSignal) => Promise<void>
  readonly give: () => void
}

export function createSlots(count: number): Slots {
  let free = count
  /** The spawner that is served next is first. */
  const queues = new Map<string, Set<() => void>>()

  function next(): (() => void) | undefined {
    for (const [spawner, queue] of queues) {
      const [start] = queue
      queues.delete(spawner)
      if (start === undefined) continue
      queue.delete(start)
      if (queue.size > 0) queues.set(spawner, queue)
      return start
    }
    return undefined
  }

  function queueUp(spawner: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = queues.get(spawner) ?? new Set()
      queues.set(spawner, queue)
      const start = (): void => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = (): void => {
        queue.delete(start)
        if (queue.size === 0 && queues.get(spawner) === queue) queues.delete(spawner)
        signal.removeEventListener('abort', abort)
        reject(signal.reason as Error)
      }
      queue.add(start)
      manyListeners(signal).addEventListener('abort', abort)
    })
  }

  return {
    async take(spawner, signal) {
      signal.throwIfAborted()
      if (free === 0) return queueUp(spawner, signal)
      free -= 1
    },
    give() {
      const start = next()
      if (start === undefined) free += 1
      else start()
    },
  }
}

/** Characters of an answer in a notice. */
const mostInNotice = 30_000

/** The name of a member in texts for models and users. */
export function nameOf(id: string, role: string | undefined): string {
  if (id === leaderId) return modelText`the leader`
  return role === undefined ? id : `${role} ${id}`
}

/** A message as its receiver gets it: the plain text if it comes from the receiver's spawner, else with its sender. */
export function mailText(
  { from, text }: Mail,
  receiver: { readonly parent: string } | undefined,
  sender: string,
): string {
  return from === receiver?.parent ? text : modelText`Message from ${sender}:\n\n${text}`
}

/** The notice for the spawner of an agent when a piece of its work has ended. */
export function noticeText(name: string, status: AgentStatus): string {
  const text = `${name} ${endText(status)}`
  return text.length <= mostInNotice
    ? text
    : modelText`${cutText(text, mostInNotice)}\n[cut: wait returns everything it has said]`
}

function endText(status: AgentStatus): string {
  if (typeof status === 'string') return modelText`is ${status}`
  if ('errored' in status) return modelText`failed: ${status.errored}`
  return status.completed === null ? modelText`is done; it returned no text` : modelText`is done: ${status.completed}`
}
