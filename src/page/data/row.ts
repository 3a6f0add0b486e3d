import type { Row } from '../../history/rows.ts'

/** A boundary or effect that a run has started. The server sends it again, with the same `n`, whenever it changes. */
export type { Row }

/** Kinds that only contain other rows. */
const holders: ReadonlySet<string> = new Set([
  'agent',
  'iteration',
  'member',
  'redo',
  'run',
  'section',
  'step',
  'task',
  'team',
  'turn',
])

/** Whether a row is an effect, not a container. */
export function isEffect({ kind, model }: Row): boolean {
  return model !== undefined || !holders.has(kind)
}

export function isModelCall({ kind }: Row): boolean {
  return kind === 'llm' || kind === 'model'
}

/** Duration in milliseconds, until now if it is in progress. */
export function durationOf({ start, end, state }: Row, now: number): number {
  return Math.max(0, (end ?? (state === 'running' ? now : start)) - start)
}
