/**
 * A piece of work of which the first model call may go into a batch: a task. It works in a slot, as many as the run may
 * have at the same time, and leaves it to others while a call waits for its batch.
 */
export interface BatchPiece {
  /** Does the work, and ends the piece. */
  readonly run: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>
  /** Does work that is split into pieces of its own, of which `limit` work at the same time. */
  readonly split: <T>(
    split: { readonly count: number; readonly limit: number; readonly signal: AbortSignal },
    work: (pieces: readonly BatchPiece[]) => Promise<T>,
  ) => Promise<T>
}

/** A batch is sent as soon as every open piece has made its call or ended. */
export interface Batches {
  /** Opens pieces of which `limit` work at the same time. */
  readonly open: (count: number, limit: number) => Promise<readonly BatchPiece[]>
}
