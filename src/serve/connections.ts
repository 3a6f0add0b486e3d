import type { Socket } from 'node:net'
import type { Passed } from './gate.ts'

export interface MostConnections {
  /** Maximum number of open connections; an agent or page needs a few. */
  readonly connections: number
  /** Of these, the maximum that have not sent the secret. */
  readonly strangers: number
}

/** The open connections of a server. Those that have not sent the secret keep nobody out. */
export interface Connections {
  /** A new connection. If there is no room, it takes the place of the stranger that was idle longest, or is dropped. */
  readonly enter: (socket: Socket) => void
  /** A request has arrived: with the secret (the connection stays until it ends), or without. */
  readonly heard: (socket: Socket, who: Passed) => void
}

export function createConnections({ connections, strangers: most }: MostConnections): Connections {
  /** In order of their last request, the most recent last. */
  const strangers = new Set<Socket>()
  const known = new Set<Socket>()

  return {
    enter(socket) {
      if (strangers.size >= most || strangers.size + known.size >= connections) {
        const [oldest = socket] = strangers
        strangers.delete(oldest)
        oldest.destroy()
        if (oldest === socket) return
      }
      strangers.add(socket)
      socket.once('close', () => {
        strangers.delete(socket)
        known.delete(socket)
      })
    },
    heard(socket, who) {
      const isStranger = strangers.delete(socket)
      if (who === 'known') known.add(socket)
      else if (isStranger) strangers.add(socket)
    },
  }
}
