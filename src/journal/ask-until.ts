interface Until<T> {
  readonly signal: AbortSignal
  /** An answer from elsewhere, if there ever is one. It does not reject. */
  readonly otherwise: Promise<T>
}

/**
 * Puts a question until it is answered otherwise: it is then withdrawn from whoever was asked, by the signal that they were
 * given. Rejects as they do.
 */
export async function askUntil<T>(
  put: (signal: AbortSignal) => Promise<T>,
  { signal, otherwise }: Until<T>,
): Promise<T> {
  const withdrawn = new AbortController()
  const other = otherwise.finally(() => withdrawn.abort())
  // who asks a person may notice that the question was withdrawn
  const asked = put(AbortSignal.any([signal, withdrawn.signal])).catch((error: unknown) =>
    withdrawn.signal.aborted ? other : Promise.reject(error as Error),
  )
  return Promise.race([other, asked])
}
