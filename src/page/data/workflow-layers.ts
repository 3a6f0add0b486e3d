import { durationOf, type Row } from './row.ts'

/** Steps of a workflow that ran at the same time. */
export type Layer = readonly Row[]

/** The rows of the steps of a workflow. If a step was restarted, its newest row. */
export function workflowSteps(rows: readonly Row[]): readonly Row[] {
  const byPlace = new Map(rows.filter(({ kind }) => kind === 'step').map((row) => [row.place, row]))
  return [...byPlace.values()]
}

/** The id of a step in the prompt file. */
export function stepId({ place }: Row): string {
  return decodeURIComponent(place.slice(place.lastIndexOf('/') + 1))
}

/**
 * Groups steps into columns from left to right: a step comes after all steps that had ended when it started, and shares
 * a column with those still in progress.
 */
export function layersOf(steps: readonly Row[], now: number): readonly Layer[] {
  const layers: Row[][] = []
  for (const step of steps.toSorted((one, other) => one.start - other.start)) {
    const last = layers.at(-1)
    const isBeside = last?.some((other) => other.start + durationOf(other, now) > step.start) ?? false
    if (last !== undefined && isBeside) last.push(step)
    else layers.push([step])
  }
  return layers
}
