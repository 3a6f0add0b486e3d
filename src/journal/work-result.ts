/** The result of some work, so that it can be recorded before it is passed on. */
export type WorkResult<T> =
  | { readonly status: 'ok'; readonly value: T }
  | { readonly status: 'failed'; readonly error: unknown }

export function capture<T>(work: () => T): WorkResult<T> {
  try {
    return { status: 'ok', value: work() }
  } catch (error) {
    return { status: 'failed', error }
  }
}

export async function captureAsync<T>(work: () => Promise<T>): Promise<WorkResult<T>> {
  try {
    return { status: 'ok', value: await work() }
  } catch (error) {
    return { status: 'failed', error }
  }
}

/** Returns or throws the result of the work. */
export function unwrap<T>(result: WorkResult<T>): T {
  if (result.status === 'failed') throw result.error
  return result.value
}
