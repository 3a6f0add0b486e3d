import { isSuspension } from '../base/error.ts'
import { mapLimit } from '../base/concurrency.ts'

/**
 * `mapLimit` for siblings of which some may be suspended: the others finish first, because they are paid for; then the
 * first suspension is thrown. Any other error stops the others.
 */
export async function mapSiblings<T, R>(
  items: readonly T[],
  options: { readonly limit: number; readonly signal: AbortSignal },
  work: (item: T, index: number, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  let suspension: { readonly error: unknown } | undefined
  const results = await mapLimit(items, options, async (item, index, signal): Promise<readonly R[]> => {
    try {
      return [await work(item, index, signal)]
    } catch (error) {
      if (!isSuspension(error)) throw error
      suspension ??= { error }
      return []
    }
  })
  if (suspension !== undefined) throw suspension.error
  return results.flat()
}
