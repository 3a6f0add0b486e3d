import { isObject } from '../base/json.ts'
import { errorCode, errorObject, plainText, serverMessage } from './error-body.ts'
import type { FailureClass, ModelFault } from './errors.ts'
import { retryDelayOf } from './retry-after.ts'
import { parseJson } from './wire/reading.ts'

/** A response that is not a success: its status, its body as text, where a redirect leads, how long it asks to wait. */
export interface Refusal {
  readonly status: number
  readonly body: string
  readonly location?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** The fault for a response with a status outside 200..299 (R278, R296, R297, R315). */
export function faultOfStatus({ status, body, location, retryAfterMs }: Refusal): ModelFault {
  if (status < 400) return redirect(status, location)
  const parsed = parseJson(body)
  const error = errorObject(parsed)
  return faultOfReport({
    status,
    code: errorCode(error),
    detail: serverMessage(Array.isArray(parsed) ? parsed[0] : parsed) ?? plainText(body),
    retryAfterMs: retryAfterMs ?? retryDelayOf(error),
  })
}

/** The fault for an error object inside a stream or in a body with status 200: `error` is that object or text. */
export function faultOfErrorObject(error: unknown): ModelFault {
  const { code, status } = isObject(error) ? error : {}
  const number = [code, status].map(Number).find((value) => value >= 400 && value < 600)
  return faultOfReport({
    status: number,
    code: errorCode(error),
    detail: serverMessage({ error }),
    retryAfterMs: retryDelayOf(error),
  })
}

interface Report {
  readonly status: number | undefined
  /** What the error calls itself, in lower case. */
  readonly code: string
  readonly detail: string | undefined
  readonly retryAfterMs: number | undefined
}

function faultOfReport(report: Report): ModelFault {
  const { status, code, detail, retryAfterMs } = report
  const kind = namedKind(report) ?? (status === undefined ? kindOfCode(code) : kindOfStatus(status))
  const isOverload = kind.class === 'rate_limit' || (kind.retryable && saysOverload(report))
  return {
    ...kind,
    what: status === undefined ? 'reported an error instead of an answer' : `${actions[kind.class]} (status ${status})`,
    ...(isOverload ? { isOverload } : {}),
    ...(status === undefined ? {} : { status }),
    ...(detail === undefined ? {} : { detail }),
    ...(retryAfterMs === undefined || !kind.retryable ? {} : { retryAfterMs }),
  }
}

type Kind = Pick<ModelFault, 'class' | 'retryable' | 'hint'>

const actions: { readonly [K in FailureClass]: string } = {
  network: 'failed',
  timeout: 'gave up waiting',
  rate_limit: 'allows no more requests for now',
  unavailable: 'failed',
  auth: 'refused the key',
  invalid_request: 'refused the request',
  quota: 'says that the quota is used up',
  not_found: 'does not know the model or the path',
  garbled: 'failed',
}

function kindOfStatus(status: number): Kind {
  if (status === 401 || status === 403) return { class: 'auth', retryable: false }
  if (status === 402) return { class: 'quota', retryable: false }
  if (status === 404) return { class: 'not_found', retryable: false }
  if (status === 408) return { class: 'timeout', retryable: true }
  if (status === 429) return { class: 'rate_limit', retryable: true }
  if (status === 501) return { class: 'invalid_request', retryable: false }
  if (status >= 500) return { class: 'unavailable', retryable: true }
  return { class: 'invalid_request', retryable: false }
}

/** For errors without a status: what is not known is taken for a trouble of the server. */
function kindOfCode(code: string): Kind {
  if (/not_found/.test(code)) return { class: 'not_found', retryable: false }
  if (/timeout|deadline/.test(code)) return { class: 'timeout', retryable: true }
  if (/invalid|unsupported|too_large|failed_precondition/.test(code))
    return { class: 'invalid_request', retryable: false }
  return { class: 'unavailable', retryable: true }
}

function saysOverload({ status, code }: Report): boolean {
  if (status === 503 || status === 529) return true
  return /overloaded|slow_down|server_busy/.test(code) || (status === undefined && /\bunavailable\b/.test(code))
}

const tooLong =
  /context[ _]length|context window|maximum context|too many tokens|token count .*exceeds|prompt is too long|input is too long|exceed_context_size/i

const noCredit = /credit balance is too low|insufficient (?:credit|balance|funds)|exceeded your current quota/i

/** What the server's own code or words say more exactly than its status. */
function namedKind({ code, detail = '', status }: Report): Kind | undefined {
  if (status !== undefined && status >= 500) return undefined
  if (/insufficient_quota|billing/.test(code) || noCredit.test(detail)) return { class: 'quota', retryable: false }
  if (status === 401 || status === 403 || status === 429) return undefined
  if (/invalid_api_key|api_key_invalid|authentication_error|permission/.test(code)) {
    return { class: 'auth', retryable: false }
  }
  if (/rate_limit|resource_exhausted/.test(code)) return { class: 'rate_limit', retryable: true }
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
