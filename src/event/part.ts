import type { RunContext } from './context.ts'
import type { BoundaryOptions } from './effects.ts'

/** A boundary that a later run of a watch session may reuse: a `pre` step or a task. */
export interface Part<T> extends BoundaryOptions<T> {
  /** For display. */
  readonly label: string
  /** May be called to check whether the part is unchanged, so it must act through the given context only. */
  readonly work: (context: RunContext) => Promise<T>
}

/** The parts that earlier runs of a watch session finished. */
export interface EarlierParts {
  /** The value of the part at the context's place; undefined if the part must be run. */
  reuse<T>(part: Part<T>, context: RunContext): Promise<{ readonly value: T } | undefined>
}

/** Runs a part, or reuses its value from an earlier run. */
export async function runPart<T>(part: Part<T>, context: RunContext): Promise<T> {
  const { scope, services } = context
  const earlier = await services.earlier?.reuse(part, context)
  if (earlier !== undefined) return earlier.value
  return services.effects.boundary(scope.at, () => part.work(context), part)
}
