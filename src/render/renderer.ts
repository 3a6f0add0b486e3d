import type { RunEvent } from '../event/event.ts'

/** Draws the events of a run. Knows nothing that runs. */
export interface Renderer {
  event(event: RunEvent): void
  /** Leaves the screen as a shell expects it. */
  close(): void
}

/** Text that goes to one stream. */
export type Write = (text: string) => void
