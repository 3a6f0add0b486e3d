import { isObject } from '../base/json.ts'

/** Longest wait that is taken for one: 30 days. Longer ones are some other number. */
const mostMs = 30 * 24 * 3600 * 1000

/**
 * How long a response asks to wait, in milliseconds: `retry-after-ms`, or `Retry-After` in seconds or as an HTTP date.
 * A date counts from the server's own `Date`, when it sends one, because clocks differ; else from `now`.
 */
export function retryAfterOf(headers: Headers, now: number): number | undefined {
  const exact = wait(numberOf(headers.get('retry-after-ms')))
  if (exact !== undefined) return exact
  const header = headers.get('retry-after')
  const seconds = numberOf(header)
  if (seconds !== undefined) return wait(seconds * 1000)
  const until = Date.parse(header?.endsWith('GMT') === true ? header : '')
  if (Number.isNaN(until)) return undefined
  const from = Date.parse(headers.get('date') ?? '')
  return wait(Math.max(0, until - (Number.isNaN(from) ? now : from)))
}

/** The same in an error object of Google: `details` with a `retryDelay` such as `34s` or `0.5s`. */
export function retryDelayOf(error: unknown): number | undefined {
  const details = isObject(error) ? error['details'] : undefined
  if (!Array.isArray(details)) return undefined
  for (const detail of details as readonly unknown[]) {
    const delay = isObject(detail) ? detail['retryDelay'] : undefined
    const seconds = typeof delay === 'string' && delay.endsWith('s') ? numberOf(delay.slice(0, -1)) : undefined
    if (seconds !== undefined) return wait(seconds * 1000)
  }
  return undefined
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}

function wait(ms: number | undefined): number | undefined {
  return ms === undefined || ms > mostMs ? undefined : Math.ceil(ms)
}
