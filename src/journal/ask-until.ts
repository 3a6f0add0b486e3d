interface Until<T> {
  readonly signal: AbortSignal
  /** An answer from elsewhere, if one ever arrives. Never rejects. */
  readonly otherwise: Promise<T>
}

/**
 * Asks a question until it is answered elsewhere; then the question is withdrawn through the signal given to `put`.
 * Rejects if `put` does.
 */
export async function askUntil<T>(
  put: (signal: AbortSignal) => Promise<T>,
  { signal, otherwise }: Until<T>,
): Promise<T> {
  const withdrawn = new AbortController()
  const other = otherwise.finally(() => withdrawn.abort())
  // withdrawing may make `put` reject
  const asked = put(AbortSignal.any([signal, withdrawn.signal])).catch((error: unknown) =>
    withdrawn.signal.aborted ? other : Promise.reject(error as Error),
  )
  return Promise.race([other, asked])
}
