/** Characters of arguments from which on a function that may be slow works in a thread, where it can be stopped. */
const usualSize = 32 * 1024

/** Whether arguments hold more text and values than can be worked on in between. */
export function isLarge(args: readonly unknown[], most = usualSize): boolean {
  let size = 0
  const open: unknown[] = [...args]
  while (open.length > 0 && size <= most) {
    const value = open.pop()
    if (typeof value === 'string' || value instanceof Uint8Array) size += value.length
    else if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value)
      size += entries.length
      for (const [key, item] of entries) {
        size += Array.isArray(value) ? 0 : key.length
        open.push(item)
      }
    }
  }
  return size > most
}
