import type { VNode } from 'preact'
import type { Loaded } from '../live/use-loaded.ts'

interface LoadingProps<Value> {
  readonly loaded: Loaded<Value>
  readonly children: (value: Value) => VNode
}

/** What was fetched, or that it is not here yet, or why it could not be. */
export function Loading<Value>({ loaded, children }: LoadingProps<Value>): VNode {
  switch (loaded.kind) {
    case 'loading':
      return <p class="empty">Loading …</p>
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
