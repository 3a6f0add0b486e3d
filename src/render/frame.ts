import type { Paint } from './style.ts'

/** What the live view is drawn for. */
export interface Frame {
  readonly paint: Paint
  /** Columns and rows of the terminal. */
  readonly columns: number
  readonly rows: number
  /** Milliseconds since the run began, by the clock that lanes have their times from. */
  readonly now: number
  /** Whether the run was told to stop. */
  readonly isStopping: boolean
}
