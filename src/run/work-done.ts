import { type RunContext, withServices } from '../event/context.ts'
import type { Spent } from '../event/meter.ts'

/** The work of a part of an iteration. Plain JSON. */
export interface WorkDone {
  /** Including that of sub-agents. */
  readonly spent: Spent
  /** The changed files, relative to the workspace, sorted. */
  readonly changed: readonly string[]
}

/** Does some work, and returns what it used and which files it changed. */
export async function watchWork<T>(
  work: (context: RunContext) => Promise<T>,
  context: RunContext,
): Promise<WorkDone & { readonly value: T }> {
  const { scope, services } = context
  const changed = new Set<string>()
  const events: typeof services.events = (place, event) => {
    if (event.type === 'file.changed') changed.add(event.path)
    services.events(place, event)
  }
  const { value, spent } = await services.meter.measure(scope.at, () => work(withServices(context, { events })))
  return { value, spent, changed: [...changed].toSorted() }
}
