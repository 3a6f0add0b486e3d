import { type IncomingHttpHeaders, maxHeaderSize } from 'node:http'
import { messageOf } from '../base/error.ts'
import { defined, isObject } from '../base/json.ts'
import { parseJson } from './wire/reading.ts'
import type { FailureClass, ModelFault } from './errors.ts'

/** An unsuccessful response: its status, its body as text, the target of a redirect, and the wait it asks for. */
interface Refusal {
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
  /** The codes of the error, in lower case. */
  readonly code: string
  readonly detail: string | undefined
  readonly retryAfterMs: number | undefined
}

function faultOfReport(report: Report): ModelFault {
  const { status, code, detail, retryAfterMs } = report
  const kind = namedKind(report) ?? { class: status === undefined ? classOfCode(code) : classOfStatus(status) }
  const retryable = retried.has(kind.class)
  const isOverload = kind.class === 'rate_limit' || (retryable && saysOverload(report))
  return {
    ...kind,
    retryable,
    what: status === undefined ? 'reported an error instead of an answer' : `${actions[kind.class]} (status ${status})`,
    ...(isOverload ? { isOverload } : {}),
    ...defined({ status, detail, retryAfterMs: retryable ? retryAfterMs : undefined }),
  }
}

type Kind = Pick<ModelFault, 'class' | 'hint'>

/** Failures that may not happen again on the next attempt. */
const retried: ReadonlySet<FailureClass> = new Set<FailureClass>(['timeout', 'rate_limit', 'unavailable'])

const actions: { readonly [K in FailureClass]: string } = {
  network: 'failed',
  timeout: 'timed out',
  rate_limit: 'is limiting requests',
  unavailable: 'failed',
  auth: 'refused the key',
  invalid_request: 'refused the request',
  quota: 'reports that the quota is used up',
  not_found: 'does not know the model or the path',
  garbled: 'failed',
}

function classOfStatus(status: number): FailureClass {
  if (status === 401 || status === 403) return 'auth'
  if (status === 402) return 'quota'
  if (status === 404) return 'not_found'
  if (status === 408) return 'timeout'
  if (status === 429) return 'rate_limit'
  return status >= 500 && status !== 501 ? 'unavailable' : 'invalid_request'
}

/** For errors without a status: unknown codes count as server problems. */
function classOfCode(code: string): FailureClass {
  if (/not_found/.test(code)) return 'not_found'
  if (/timeout|deadline/.test(code)) return 'timeout'
  return /invalid|unsupported|too_large|failed_precondition/.test(code) ? 'invalid_request' : 'unavailable'
}

function saysOverload({ status, code }: Report): boolean {
  if (status === 503 || status === 529) return true
  return /overloaded|slow_down|server_busy/.test(code) || (status === undefined && /\bunavailable\b/.test(code))
}

const tooLong =
  /context[ _]length|context window|maximum context|too many tokens|token count .*exceeds|prompt is too long|input is too long|exceed_context_size/i

const noCredit = /credit balance is too low|insufficient (?:credit|balance|funds)|exceeded your current quota/i

/** The messages of Ollama, OpenRouter, vLLM, Groq, Gemini, and servers that do not know the field. */
const noTools = [
  /\b(?:not|n't|cannot) (?:be )?(?:support|use|call|allow)\w*[^.;]*\b(?:tools?|function[ _]call\w*)\b/i,
  /\b(?:tools?|tool[ _](?:calling|calls?|use|choice)|function[ _]calling)\b[^.;]*\b(?:not |n't |un)(?:be )?(?:support|allow|permit|enabl|recogni)/i,
  /\bno\b[^.;]*\bsupport tool use|tool choice requires/i,
  /\b(?:unknown|unrecognized|unexpected|unsupported)\b[^.;]*\b(?:tools|tool_choice)\b|\btools\b[^.;]*\bextra (?:inputs|fields)/i,
]
/** Characters of the server's message that are examined. */
const lookedAt = 1000
const noToolsHint = 'The model or its server does not support tools: remove tools, or use another model.'

function namedKind({ code, detail = '', status }: Report): Kind | undefined {
  if (status !== undefined && status >= 500) return undefined
  if (/insufficient_quota|billing/.test(code) || noCredit.test(detail)) return { class: 'quota' }
  if (status === 401 || status === 403 || status === 429) return undefined
  if (/invalid_api_key|api_key_invalid|authentication_error|permission/.test(code)) return { class: 'auth' }
  if (/rate_limit|resource_exhausted/.test(code)) return { class: 'rate_limit' }
  if (/model_not_found/.test(code)) return { class: 'not_found' }
  if (status === 413 || tooLong.test(code) || tooLong.test(detail)) {
    const hint = 'The prompt is too long for this model: use fewer or smaller files, or a model with a larger context.'
    return { class: 'invalid_request', hint }
  }
  if (noTools.some((said) => said.test(detail.slice(0, lookedAt))))
    return { class: 'invalid_request', hint: noToolsHint }
  return undefined
}

function redirect(status: number, location: string | undefined): ModelFault {
  const where = location !== undefined && URL.canParse(location) ? ` to ${new URL(location).origin}` : ''
  return {
    class: 'invalid_request',
    retryable: false,
    status,
    what: `redirects${where} (status ${status}), which is not followed because it could leak the key`,
    hint: 'Set the base URL to the address the server redirects to.',
  }
}

/** The message of an error body, in the forms in use: `error.message`, `error`, `message`, `detail`. */
function serverMessage(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { error, message, detail } = body
  const inner = isObject(error) ? (error['message'] ?? error['detail']) : error
  const found = [inner, message, detail].find((value) => value !== undefined && value !== null)
  if (found === undefined) return undefined
  return typeof found === 'string' ? found : JSON.stringify(found)
}

/**
 * The error object of a body: its `error`, otherwise the body itself. Google's endpoints wrap the body in a list of one
 * item.
 */
function errorObject(body: unknown): unknown {
  const one: unknown = Array.isArray(body) ? body[0] : body
  return isObject(one) && isObject(one['error']) ? one['error'] : one
}

/** The codes of an error object, in lower case: its `code`, `type`, `status` and the `reason` of its details. */
function errorCode(error: unknown): string {
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

/** The text of a body that is not JSON; for an HTML page, its title. */
function plainText(body: string): string | undefined {
  const text = body.trim()
  if (text === '') return undefined
  if (!text.startsWith('<')) return text
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
  return title === undefined || title === '' ? 'an HTML page' : `an HTML page titled "${title}"`
}

/** Longest plausible wait: 30 days. Larger numbers mean something else. */
const mostMs = 30 * 24 * 3600 * 1000

/**
 * How long a response asks to wait, in milliseconds: `retry-after-ms`, or `Retry-After` in seconds or as an HTTP date.
 * A date is relative to the server's own `Date`, if it sends one, because clocks differ; otherwise to `now`.
 */
export function retryAfterOf(headers: IncomingHttpHeaders, now: number): number | undefined {
  const exact = wait(numberOf(String(headers['retry-after-ms'])))
  if (exact !== undefined) return exact
  const header = headers['retry-after']
  const seconds = numberOf(header)
  if (seconds !== undefined) return wait(seconds * 1000)
  const until = Date.parse(header?.endsWith('GMT') === true ? header : '')
  if (Number.isNaN(until)) return undefined
  const from = Date.parse(headers.date ?? '')
  return wait(Math.max(0, until - (Number.isNaN(from) ? now : from)))
}

/** The same for an error object of Google: `details` with a `retryDelay` such as `34s` or `0.5s`. */
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

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}

function wait(ms: number | undefined): number | undefined {
  return ms === undefined || ms > mostMs ? undefined : Math.ceil(ms)
}

/** The last one: the response ended within the headers. */
const cutCodes = ['ECONNRESET', 'EPIPE', 'HPE_INVALID_EOF_STATE']
const unreachableCodes = ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN']
const tlsCode = /^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO$)/

/**
 * The fault for an error thrown by an exchange or while reading its body (R315 NetworkError and Timeout).
 * `answering`: whether the answer had started.
 */
export function faultOfThrown(error: unknown, { answering }: { readonly answering: boolean }): ModelFault {
  const code = codeOf(error)
  const detail = messageOf(error)
  const passing = (kind: 'network' | 'timeout', what: string): ModelFault => ({ class: kind, retryable: true, what })
  const garbled = (what: string): ModelFault => ({ class: 'garbled', retryable: false, what })
  if (code === 'ECONNREFUSED') return passing('network', 'refused the connection: nothing is listening there')
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return passing('network', `could not be resolved (${code})`)
  }
  if (unreachableCodes.includes(code) && !answering) {
    return passing('network', `cannot be reached from this network (${code})`)
  }
  if (code === 'ETIMEDOUT') {
    const what = answering ? 'stopped during the answer' : 'did not answer in time'
    return { ...passing('timeout', `${what} (${code})`), isUnreached: true }
  }
  if (tlsCode.test(code)) {
    const what = `cannot be reached securely (${code})`
    const hint = isPlain(code)
      ? 'The server seems to speak plain HTTP: write http:// in the base URL.'
      : 'Check the host name in the base URL and the certificate; for a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.'
    return { class: 'network', retryable: false, what, detail: isPlain(code) ? '' : detail, hint }
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const hint = `Make the server send fewer headers, or raise Node's limit: NODE_OPTIONS=--max-http-header-size=65536.`
    return { ...garbled(`sent headers that are larger than ${maxHeaderSize} bytes (${code})`), hint }
  }
  if (code.startsWith('Z_') || code.startsWith('ERR_BUFFER')) {
    return garbled(`sent a body that cannot be decompressed (${code})`)
  }
  const isCut = cutCodes.includes(code)
  if (code.startsWith('HPE_') && !isCut) return garbled('answered with something that is not HTTP')
  if (answering) return brokenInTheMiddle
  if (isCut) return passing('network', 'closed the connection before it answered')
  return { class: 'network', retryable: false, what: 'could not be reached', detail }
}

/** Whether the response was not TLS at all. */
function isPlain(code: string): boolean {
  return code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG'
}

/** A connection that broke off: the part received is not an answer. */
const brokenInTheMiddle: ModelFault = {
  class: 'network',
  retryable: true,
  what: 'closed the connection during the answer',
  hint: 'Run it again: the partial answer is discarded, because it may be cut off anywhere.',
}

/** A stream that was ended by the server, but before its end mark: it may do so each time. */
export const closedInTheMiddle: ModelFault = { ...brokenInTheMiddle, isEnded: true }

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
