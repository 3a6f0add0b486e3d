/** How one begun thing of a run stands. */
type RowState = 'running' | 'done' | 'failed' | 'suspended' | 'skipped' | 'interrupted'

/** One begun thing of a run, a boundary or an effect, as the server sends it: again, with the same `n`, when it changes. */
export interface Row {
  readonly n: number
  readonly place: string
  readonly kind: string
  /** What it is about; empty where the place says it all. */
  readonly text: string
  readonly state: RowState
  /** Milliseconds since 1970; a row without `end` goes on. */
  readonly start: number
  readonly end?: number
  /** US dollars; null when the price is not known. */
  readonly usd?: number | null
  readonly input?: number
  readonly output?: number
  readonly model?: string
  readonly score?: number
}

/** Kinds that hold others, and do nothing themselves. */
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

/** Whether a row is something that was done, and not what holds such things. */
export function isEffect({ kind, model }: Row): boolean {
  return model !== undefined || !holders.has(kind)
}

/** Whether a row is a call of a model. */
export function isModelCall({ kind }: Row): boolean {
  return kind === 'llm' || kind === 'model'
}

/** Milliseconds that it took, until now when it goes on. */
export function durationOf({ start, end, state }: Row, now: number): number {
  return Math.max(0, (end ?? (state === 'running' ? now : start)) - start)
}
