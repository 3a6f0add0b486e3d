import type { VNode } from 'preact'
import type { StreamState } from '../live/listen.ts'

/** Warns that the connection is lost. The element always exists, so that screen readers announce the text. */
export function ConnectionBanner({ stream }: { readonly stream: StreamState }): VNode {
  return (
    <div role="status" aria-live="polite">
      {stream === 'lost' && (
        <p class="banner">Connection to the server lost. This page may be out of date. Reconnecting…</p>
      )}
    </div>
  )
}
