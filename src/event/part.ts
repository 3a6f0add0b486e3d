import type { RunContext } from './context.ts'
import type { BoundaryOptions } from './effects.ts'

/** A piece of a run that is a boundary, and that a later run of a watch session may reuse: a `pre` step or a task. */
export interface Part<T> extends BoundaryOptions<T> {
  /** For people. */
  readonly label: string
  /** May be done to look whether it is unchanged: what it does goes through the context it is given, and through nothing else. */
  readonly work: (context: RunContext) => Promise<T>
}

/** What earlier runs of a watch session have finished. */
export interface EarlierParts {
  /** The value of the part at the context's place; undefined when it has to be done. */
  reuse<T>(part: Part<T>, context: RunContext): Promise<{ readonly value: T } | undefined>
}

/** Does a part, unless an earlier run has done the same. */
export async function runPart<T>(part: Part<T>, context: RunContext): Promise<T> {
  const { scope, services } = context
  const earlier = await services.earlier?.reuse(part, context)
  if (earlier !== undefined) return earlier.value
  return services.effects.boundary(scope.at, () => part.work(context), part)
}
