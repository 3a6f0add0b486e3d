import type { Json } from '../base/json.ts'
import type { RunEvent } from '../event/event.ts'
import type { Denial } from './ending.ts'

interface Denials {
  readonly add: (event: RunEvent) => void
  readonly all: () => readonly Denial[]
}

/** Collects denied tool calls for the last event of a run. */
export function createDenials(): Denials {
  const inputs = new Map<string, Json>()
  const denials: Denial[] = []
  return {
    add(event: RunEvent) {
      if (event.type === 'tool.started') inputs.set(event.id, event.input)
      if (event.type !== 'tool.completed') return
      const { id, name: tool, output: reason, denied } = event
      if (denied === true) denials.push({ tool, id, input: inputs.get(id) ?? null, reason })
      inputs.delete(id)
    },
    all: () => denials,
  }
}
