/** An error of a host function as Lua saw it. */
export interface HostError {
  readonly text: string
  readonly error: unknown
}

/** Errors kept for finding the cause of an uncaught one; older ones have been handled by then. */
const keptErrors = 32

export function keepHostError(hostErrors: HostError[], added: HostError): void {
  hostErrors.push(added)
  if (hostErrors.length > keptErrors) hostErrors.shift()
}

/** Host errors are strings in Lua; one that was raised again, with more text in front, is still found. */
export function causeOf(hostErrors: readonly HostError[], text: string): unknown {
  return hostErrors.findLast((known) => text.endsWith(known.text))?.error
}
