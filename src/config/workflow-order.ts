import type { WorkflowStep } from './workflow.ts'

/** The steps in topological order, otherwise as written. They must have no cycle. */
export function inOrder(steps: readonly WorkflowStep[]): readonly WorkflowStep[] {
  const waits = new Map(steps.map(({ id, needs }) => [id, needs.length]))
  const dependents = dependentsOf(steps)
  const ready = steps.filter(({ needs }) => needs.length === 0)
  for (const { id } of ready) {
    for (const next of dependents.get(id) ?? []) {
      const left = (waits.get(next.id) ?? 0) - 1
      waits.set(next.id, left)
      if (left === 0) ready.push(next)
    }
  }
  return ready
}

/** The dependents of each step, by its id. */
export function dependentsOf(steps: readonly WorkflowStep[]): ReadonlyMap<string, readonly WorkflowStep[]> {
  const dependents = new Map<string, WorkflowStep[]>(steps.map(({ id }) => [id, []]))
  for (const step of steps) for (const need of step.needs) dependents.get(need)?.push(step)
  return dependents
}
