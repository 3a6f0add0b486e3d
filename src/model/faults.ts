import { isObject } from '../base/json.ts'
import type { FailureClass, ModelFault } from './errors.ts'

/** A response that is not a success: its status, its body as text, and where a redirect leads. */
export interface Refusal {
  readonly status: number
  readonly body: string
  readonly location?: string | undefined
}

/** The fault for a response with a status outside 200..299 (R296, R297, R315). */
export function faultOfStatus({ status, body, location }: Refusal): ModelFault {
  if (status < 400) return redirect(status, location)
  const error = parseJson(body)
  const detail = serverMessage(error) ?? plainText(body)
  return faultOfReport({ status, code: errorCode(error), detail })
}

/** The fault for an error object inside a stream or in a body with status 200: `error` is that object or text. */
export function faultOfErrorObject(error: unknown): ModelFault {
  const code = isObject(error) ? error['code'] : undefined
  const status = Number(code ?? (isObject(error) ? error['status'] : undefined))
  const detail = serverMessage({ error })
  if (status >= 400 && status < 600) return faultOfReport({ status, code: errorCode({ error }), detail })
  const named = namedFault({ code: errorCode({ error }), detail })
  const what = 'reported an error instead of an answer'
  if (named !== undefined) return { ...named, what, ...(detail === undefined ? {} : { detail }) }
  return { class: 'unavailable', retryable: true, what, ...(detail === undefined ? {} : { detail }) }
}

interface Report {
  readonly status: number
  readonly code: string
  readonly detail: string | undefined
}

function faultOfReport({ status, code, detail }: Report): ModelFault {
  const kind = namedFault({ code, detail, status }) ?? classOfStatus(status)
  const what = `${actions[kind.class] ?? 'answered'} (status ${status})`
  return { ...kind, what, status, ...(detail === undefined ? {} : { detail }) }
}

type Kind = Pick<ModelFault, 'class' | 'retryable' | 'hint'>

const actions: { readonly [K in FailureClass]?: string } = {
  timeout: 'gave up waiting',
  rate_limit: 'allows no more requests for now',
  unavailable: 'failed',
  auth: 'refused the key',
  invalid_request: 'refused the request',
  quota: 'says that the quota is used up',
  not_found: 'does not know the model or the path',
}

function classOfStatus(status: number): Kind {
  if (status === 401 || status === 403) return { class: 'auth', retryable: false }
  if (status === 402) return { class: 'quota', retryable: false }
  if (status === 404) return { class: 'not_found', retryable: false }
  if (status === 408) return { class: 'timeout', retryable: true }
  if (status === 429) return { class: 'rate_limit', retryable: true }
  if (status === 501) return { class: 'invalid_request', retryable: false }
  if (status >= 500) return { class: 'unavailable', retryable: true }
  return { class: 'invalid_request', retryable: false }
}

const tooLong = /context[ _]length|context window|maximum context|too many tokens|prompt is too long|input is too long/i

/** What the server's own code or words say more exactly than its status. */
function namedFault(report: {
  readonly code: string
  readonly detail: string | undefined
  readonly status?: number
}): Kind | undefined {
  const { code, detail = '', status } = report
  if (status !== undefined && status >= 500) return undefined
  if (/insufficient_quota|billing/.test(code)) return { class: 'quota', retryable: false }
  if (status === 401 || status === 403 || status === 429) return undefined
  if (/invalid_api_key|authentication_error|permission/.test(code)) return { class: 'auth', retryable: false }
  if (/rate_limit/.test(code)) return { class: 'rate_limit', retryable: true }
  if (/model_not_found/.test(code)) return { class: 'not_found', retryable: false }
  if (status === 413 || tooLong.test(code) || tooLong.test(detail)) {
    const hint =
      'The prompt is too long for this model: give it fewer or smaller files, or name a model with a larger context.'
    return { class: 'invalid_request', retryable: false, hint }
  }
  return undefined
}

function redirect(status: number, location: string | undefined): ModelFault {
  const where = location !== undefined && URL.canParse(location) ? ` to ${new URL(location).origin}` : ''
  return {
    class: 'invalid_request',
    retryable: false,
    status,
    what: `redirects${where} (status ${status}), which is not followed because a key could go with it`,
    hint: 'Set the base URL to the address the server redirects to.',
  }
}

/** The words of a server's error body, in the forms that are in use: `error.message`, `error`, `message`, `detail`. */
function serverMessage(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { error, message, detail } = body
  const inner = isObject(error) ? (error['message'] ?? error['detail']) : error
  const found = [inner, message, detail].find((value) => value !== undefined && value !== null)
  if (found === undefined) return undefined
  return typeof found === 'string' ? found : JSON.stringify(found)
}

function errorCode(body: unknown): string {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : body
  if (!isObject(error)) return ''
  return [error['code'], error['type']].filter((value) => typeof value === 'string').join(' ')
}

function plainText(body: string): string | undefined {
  const text = body.trim()
  if (text === '') return undefined
  if (!text.startsWith('<')) return text
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
  return title === undefined || title === '' ? 'an HTML page' : `an HTML page titled "${title}"`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
