/** Size of arguments above which a potentially slow function runs in a worker thread, where it can be stopped. */
const usualSize = 32 * 1024

/** Whether arguments hold more text and values than should be processed on the main thread. */
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
