import {
  dependentsOf,
  inOrder,
  whenWords,
  type Workflow,
  type WorkflowStep,
} from '../../settings/strategies/workflow.ts'
import { manyListeners } from '../../base/concurrency.ts'
import { isSuspension } from '../../base/error.ts'

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

/** The only step that no other needs, if it has a single answer. */
export function answeringStep(graph: Graph): string | undefined {
  const [sink, other] = sinksOf(graph)
  return sink === undefined || other !== undefined || sink.for_each !== undefined ? undefined : sink.id
}

/** The Lua expression of `when`; undefined for one of its keywords. */
export function conditionOf({ when }: Pick<WorkflowStep, 'when'>): string | undefined {
  return whenWords.includes(when.trim()) ? undefined : when
}

/**
 * Runs each step after all that it needs have ended, at most `limit` at the same time, in the order of the graph. The
 * first error stops the others and is rethrown after they have ended. A suspended step does not stop others: steps that
 * wait for it are not started, all others finish, and then the first suspension is thrown.
 */
export async function runInOrder(
  { nodes }: Graph,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
  run: (node: StepNode, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const position = new Map(nodes.map(({ step: { id } }, index) => [id, index]))
  const waits = new Map(nodes.map(({ step: { id, needs } }) => [id, needs.length]))
  const ready: StepNode[] = nodes.filter(({ step }) => step.needs.length === 0)
  const stop = new AbortController()
  const inner = manyListeners(AbortSignal.any([signal, stop.signal]))
  const running = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  let suspension: { readonly error: unknown } | undefined

  async function take(node: StepNode): Promise<void> {
    try {
      await run(node, inner)
    } catch (error) {
      if (isSuspension(error)) {
        suspension ??= { error }
        return
      }
      failure ??= { error }
      stop.abort(new DOMException('stopped because another one failed', 'AbortError'))
      return
    }
    for (const { id } of node.dependents) {
      const left = (waits.get(id) ?? 0) - 1
      waits.set(id, left)
      const next = nodes[position.get(id) ?? -1]
      if (left === 0 && next !== undefined) ready.push(next)
    }
  }

  while (!inner.aborted) {
    while (running.size < limit && ready.length > 0) {
      const node = ready.shift() as StepNode
      const ended: Promise<void> = take(node).finally(() => running.delete(ended))
      running.add(ended)
    }
    if (running.size === 0) break
    await Promise.race(running)
  }
  await Promise.all(running)
  if (failure !== undefined) throw failure.error
  signal.throwIfAborted()
  if (suspension !== undefined) throw suspension.error
}
