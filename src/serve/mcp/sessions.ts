import { isObject } from '../../base/json.ts'

/** A session of a client of the older protocol. */
interface Session {
  handleRequest(request: Request): Promise<Response>
  /** Whether a request is in progress. */
  isBusy(): boolean
  close(): Promise<void>
}

/** Sessions of clients. A busy session is never closed to make room for another. */
export interface Sessions {
  /** Returns a session and marks it as most recently used. */
  use(id: string): Session | undefined
  /** Whether a session can be opened: there is room, or one is idle. */
  hasRoom(): boolean
  /** Adds a session. If there is no room, closes the one that has been idle longest. */
  add(id: string, session: Session): void
  delete(id: string): void
  close(): Promise<void>
}

export function createSessions(most: number): Sessions {
  /** In order of last use, the most recent last. */
  const all = new Map<string, Session>()

  const oldestIdle = (): Session | undefined => [...all.values()].find((session) => !session.isBusy())

  return {
    use(id) {
      const session = all.get(id)
      if (session === undefined) return undefined
      all.delete(id)
      all.set(id, session)
      return session
    },
    hasRoom: () => all.size < most || oldestIdle() !== undefined,
    add(id, session) {
      if (all.size >= most) void oldestIdle()?.close()
      all.set(id, session)
    },
    delete: (id) => void all.delete(id),
    async close() {
      await Promise.all([...all.values()].map((session) => session.close()))
    },
  }
}

export interface OpenRequests {
  readonly isEmpty: () => boolean
  readonly received: (message: unknown) => void
  readonly sent: (message: unknown) => void
}

/**
 * Tracks the unanswered requests of a client by the messages received and sent. A cancelled request gets no answer, and
 * its stream may stay open.
 */
export function createOpenRequests(): OpenRequests {
  const open = new Set<unknown>()
  return {
    isEmpty: () => open.size === 0,
    received(message: unknown): void {
      if (!isObject(message)) return
      const { id, method, params } = message
      if (method === 'notifications/cancelled' && isObject(params)) open.delete(params['requestId'])
      else if (method !== undefined && id !== undefined) open.add(id)
    },
    sent(message: unknown): void {
      if (isObject(message) && message['method'] === undefined) open.delete(message['id'])
    },
  }
}
