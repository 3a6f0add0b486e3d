import type { VNode } from 'preact'
import type { Loaded } from '../live/use-loaded.ts'

interface LoadingProps<Value> {
  readonly loaded: Loaded<Value>
  readonly children: (value: Value) => VNode
}

/** Shows the fetched value, a loading message, or the error. */
export function Loading<Value>({ loaded, children }: LoadingProps<Value>): VNode {
  switch (loaded.kind) {
    case 'loading':
      return <p class="empty">Loading…</p>
    case 'failed':
      return (
        <p class="empty problem" role="alert">
          {loaded.error}
        </p>
      )
    case 'here':
      return children(loaded.value)
  }
}
