import { sha256 } from '../../base/hash.ts'
import type { ModelRequest } from '../provider.ts'

/**
 * What requests have in common that begin alike, as 32 hex digits: the model and its messages up to the last cache mark,
 * or its system messages when there is no mark. Undefined when nothing says which part comes again.
 */
export function cacheKey({ model, messages }: ModelRequest): string | undefined {
  const marked = messages.findLastIndex(({ cache }) => cache === true)
  const shared = marked === -1 ? messages.filter(({ role }) => role === 'system') : messages.slice(0, marked + 1)
  if (shared.length === 0) return undefined
  const parts = shared.map(({ role, content, attachment }) => [role, content, attachment?.data ?? null])
  return sha256(JSON.stringify([model, parts])).slice(0, 32)
}
