import { manyListeners } from '../../base/concurrency.ts'
import { isSuspension } from '../../base/error.ts'
import type { Graph, StepNode } from './graph.ts'

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
