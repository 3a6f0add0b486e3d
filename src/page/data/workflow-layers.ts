import { durationOf, type Row } from './row.ts'

/** The steps of a workflow that went on at the same time. */
export type Layer = readonly Row[]

/** A step of a workflow, and not one of its items. */
const stepPlace = /(?:^|\/)step\/[^/#]+$/

/** The rows of the steps of a workflow; of a step that has begun again the newest. */
export function workflowSteps(rows: readonly Row[]): readonly Row[] {
  const byPlace = new Map(rows.filter(({ place }) => stepPlace.test(place)).map((row) => [row.place, row]))
  return [...byPlace.values()]
}

/** The id that the prompt file gives a step. */
export function stepId({ place }: Row): string {
  return decodeURIComponent(place.slice(place.lastIndexOf('/') + 1))
}

/**
 * Steps in the order in which they can be read from left to right: a step stands behind all that had ended when it began,
 * and beside those that went on.
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
