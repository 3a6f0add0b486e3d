import { isRunTooLarge, isSuspension } from '../base/error.ts'
import { mapLimit } from '../base/concurrency.ts'

/**
 * `mapLimit` for siblings of which some may be suspended, or exceed the size limit of the record: then the others
 * finish first, because they are paid for, and the first such error is thrown. Any other error stops the others.
 */
export async function mapSiblings<T, R>(
  items: readonly T[],
  options: { readonly limit: number; readonly signal: AbortSignal },
  work: (item: T, index: number, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  let held: { readonly error: unknown } | undefined
  const results = await mapLimit(items, options, async (item, index, signal): Promise<readonly R[]> => {
    try {
      return [await work(item, index, signal)]
    } catch (error) {
      if (!isSuspension(error) && !isRunTooLarge(error)) throw error
      held ??= { error }
      return []
    }
  })
  if (held !== undefined) throw held.error
  return results.flat()
}
