import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { isSignedIn, onSession } from '../live/session.ts'

/** Whether this page has a token. It changes when the server does not accept it, or another page gets a new one. */
export function useSignedIn(): boolean {
  const [is, setIs] = useState(isSignedIn)
  useEffect(() => onSession(() => setIs(isSignedIn())), [])
  return is
}

/** What a page without a token shows, for example after a restart of the server. */
export function SignedOut(): VNode {
  return (
    <div class="empty" role="alert">
      <h1>This page needs a new address</h1>
      <p>
        Press Enter in the terminal in which <code>baton serve</code> is running, and open the address that it prints.
        Each address opens the page once, and a restarted server needs a new one.
      </p>
    </div>
  )
}
