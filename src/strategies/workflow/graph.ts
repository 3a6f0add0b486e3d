import { type Workflow, type WorkflowStep, whenWords } from '../../config/workflow.ts'
import { dependentsOf, inOrder } from '../../config/workflow-order.ts'

/** A step with its position in the graph. */
export interface StepNode {
  readonly step: WorkflowStep
  /** Ids of the steps that have ended when it starts: those it needs, transitively. */
  readonly ancestors: ReadonlySet<string>
  /** The steps that need it. */
  readonly dependents: readonly WorkflowStep[]
}

export interface Graph {
  /** In topological order: each after those it needs. */
  readonly nodes: readonly StepNode[]
  readonly byId: ReadonlyMap<string, StepNode>
}

/** The graph of a checked workflow. */
export function graphOf({ steps }: Workflow): Graph {
  const dependents = dependentsOf(steps)
  const byId = new Map<string, StepNode>()
  for (const step of inOrder(steps)) {
    const ancestors = new Set(step.needs)
    for (const need of step.needs) for (const id of byId.get(need)?.ancestors ?? []) ancestors.add(id)
    byId.set(step.id, { step, ancestors, dependents: dependents.get(step.id) ?? [] })
  }
  return { nodes: [...byId.values()], byId }
}

/** The steps that no other needs, whose outputs are the answer. In file order. */
export function sinksOf({ nodes }: Graph): readonly WorkflowStep[] {
  const sinks = nodes.filter(({ dependents }) => dependents.length === 0).map(({ step }) => step)
  return sinks.toSorted((left, right) => left.index - right.index)
}

/** The Lua expression of `when`; undefined for one of its keywords. */
export function conditionOf({ when }: Pick<WorkflowStep, 'when'>): string | undefined {
  return whenWords.includes(when.trim()) ? undefined : when
}
