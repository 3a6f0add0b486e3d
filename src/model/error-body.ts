import { isObject } from '../base/json.ts'

/** The words of a server's error body, in the forms that are in use: `error.message`, `error`, `message`, `detail`. */
export function serverMessage(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { error, message, detail } = body
  const inner = isObject(error) ? (error['message'] ?? error['detail']) : error
  const found = [inner, message, detail].find((value) => value !== undefined && value !== null)
  if (found === undefined) return undefined
  return typeof found === 'string' ? found : JSON.stringify(found)
}

/**
 * The error object of a body: its `error`, else the body itself. Google's endpoints put the body into a list of one.
 */
export function errorObject(body: unknown): unknown {
  const one: unknown = Array.isArray(body) ? body[0] : body
  return isObject(one) && isObject(one['error']) ? one['error'] : one
}

/** What an error object calls itself, in lower case: its `code`, `type`, `status` and the `reason` of its details. */
export function errorCode(error: unknown): string {
  if (!isObject(error)) return ''
  const { code, type, status, details } = error
  const reasons = Array.isArray(details)
    ? (details as readonly unknown[]).map((detail) => (isObject(detail) ? detail['reason'] : undefined))
    : []
  return [code, type, status, ...reasons]
    .filter((value) => typeof value === 'string')
    .join(' ')
    .toLowerCase()
}

/** The words of a body that is not JSON; of an HTML page its title. */
export function plainText(body: string): string | undefined {
  const text = body.trim()
  if (text === '') return undefined
  if (!text.startsWith('<')) return text
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
  return title === undefined || title === '' ? 'an HTML page' : `an HTML page titled "${title}"`
}
