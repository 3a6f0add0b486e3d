import { isObject } from '../../base/json.ts'

/** A session of a client of the older protocol. */
interface Session {
  handleRequest(request: Request): Promise<Response>
  /** Whether it works on a request. */
  isBusy(): boolean
  close(): Promise<void>
}

/** Sessions of clients. One in the middle of a request is never closed to make room for another. */
export interface Sessions {
  /** It counts as used now. */
  use(id: string): Session | undefined
  /** Whether another one may be opened: there is room, or one is idle. */
  hasRoom(): boolean
  /** Closes the one that was idle for the longest time if there is no room. */
  add(id: string, session: Session): void
  delete(id: string): void
  close(): Promise<void>
}

export function createSessions(most: number): Sessions {
  /** The one that was used last comes last. */
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
 * The requests of a client that are not answered yet, by what comes in and goes out. One that was cancelled gets no answer, and
 * the stream for it may stay open.
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
