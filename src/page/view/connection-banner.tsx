import type { VNode } from 'preact'
import type { StreamState } from '../live/listen.ts'

/** Says that nothing new arrives. The place for it is always there, so that it is read out when it fills. */
export function ConnectionBanner({ stream }: { readonly stream: StreamState }): VNode {
  return (
    <div role="status" aria-live="polite">
      {stream === 'lost' && (
        <p class="banner">The connection to the server is lost. What you see stands still; it goes on by itself.</p>
      )}
    </div>
  )
}
