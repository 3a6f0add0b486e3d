import { sha256 } from '../../base/hash.ts'
import { isSame } from '../gate.ts'
import { newSecret } from '../listen.ts'
import { Refusal } from '../refusal.ts'

/** Where the page exchanges a ticket for a token. The ticket is in a header, because no body of a stranger is read. */
export const passPath = '/session'

/** Tickets and tokens that are kept; the oldest ones are forgotten. */
const mostTickets = 16
const mostTokens = 256

/**
 * Who may have data: programs that know the secret, and pages with a token of this server. A page never gets the secret,
 * and a token is worth nothing after the server has ended.
 */
export interface Pass {
  readonly isKnown: (bearer: string) => boolean
  /** A ticket for the address of the page. It can be exchanged once. */
  readonly newTicket: () => string
  /** The token for the ticket of an `Authorization: Ticket …` header. @throws Refusal 401 */
  readonly exchange: (authorization: string) => string
}

export function createPass(secret: string): Pass {
  // as hashes, so that looking one up reveals nothing by its time
  const tickets = new Set<string>()
  const tokens = new Set<string>()
  return {
    isKnown: (bearer) => isSame(bearer, secret) || tokens.has(sha256(bearer)),
    newTicket: () => added(tickets, mostTickets),
    exchange(authorization) {
      const ticket = /^Ticket (.+)$/.exec(authorization)?.[1] ?? ''
      if (tickets.delete(sha256(ticket))) return added(tokens, mostTokens)
      throw new Refusal(401, 'this address was already opened, or belongs to an earlier server', {
        hint: 'Press Enter in the terminal of baton serve, and open the address that it prints.',
      })
    },
  }
}

function added(hashes: Set<string>, most: number): string {
  const value = newSecret()
  const [oldest] = hashes
  if (oldest !== undefined && hashes.size >= most) hashes.delete(oldest)
  hashes.add(sha256(value))
  return value
}
