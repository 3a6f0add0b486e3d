import { type IncomingHttpHeaders, maxHeaderSize } from 'node:http'
import { messageOf } from '../base/error.ts'
import { defined, isObject } from '../base/json.ts'
import { ProxyError } from '../base/proxy.ts'
import { parseJson } from './wire/reading.ts'
import type { FailureClass, ModelFault } from './errors.ts'

/** An unsuccessful response: its status, its body as text, the target of a redirect, and the wait it asks for. */
interface Refusal {
  readonly status: number
  readonly body: string
  readonly location?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** The fault for a response with a status outside 200..299. */
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
  const fields = isObject(error) ? error : {}
  const numbers = numberKeys.map((key) => Number(fields[key]))
  const fault = faultOfReport({
    status: numbers.find((value) => value >= 400 && value < 600),
    code: errorCode(error),
    detail: serverMessage({ error }),
    retryAfterMs: retryDelayOf(error),
  })
  // it answered, and may do so each time
  return { ...fault, isEnded: true }
}

/** Where errors have an HTTP status or a number of their own. */
const numberKeys = ['code', 'status', 'status_code', 'statusCode', 'error_code', 'errcode', 'http_code']

/** Keys that only errors have. */
const errorKeys = ['detail', 'error_code', 'error_msg', 'error_message', 'errmsg', 'err_msg', 'faultstring', 'fault']

/** Values of `code` and `errcode` in reports of success. */
const successCodes: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  0,
  200,
  '',
  '0',
  '200',
  'ok',
  'success',
  'Success',
])

/**
 * The error that an object reports in the place of an answer or a part of it, in one of the forms that servers use:
 * `error`, `errors`, `object` or `type` with the value `error`, `detail`, `code` with `msg`, and some more; undefined
 * if it reports none.
 */
export function reportedError(fields: { readonly [key: string]: unknown }): unknown {
  const { error, errors, object, type, status, code, msg, message, success, base_resp: response } = fields
  if (hasValue(error)) return error
  if (Array.isArray(errors) ? errors.length > 0 : hasValue(errors)) return Array.isArray(errors) ? errors[0] : errors
  if (object === 'error' || type === 'error' || status === 'error' || success === false) return fields
  const ownCode = fields['error_code'] ?? fields['errcode']
  if (errorKeys.some((key) => hasValue(fields[key])) && !successCodes.has(ownCode ?? 'none')) return fields
  if (!successCodes.has(code) && (hasValue(msg) || hasValue(message))) return fields
  if (numberKeys.some((key) => Number(fields[key]) >= 400)) return fields
  return isObject(response) && Number(response['status_code']) !== 0 ? response : undefined
}

function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && value !== false
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

type Kind = Pick<ModelFault, 'class' | 'hint' | 'isTooLong'>

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
  return /invalid|unsupported|too_large|failed_precondition|bad_?request/.test(code) ? 'invalid_request' : 'unavailable'
}

function saysOverload({ status, code }: Report): boolean {
  if (status === 503 || status === 529) return true
  return /overloaded|slow_down|server_busy/.test(code) || (status === undefined && /\bunavailable\b/.test(code))
}

/** What servers and gateways say of a request that does not fit into the context of a model, in code or message. */
const tooLong = [
  /context[ _](?:length|window|limit)|maximum context|exceed\w* (?:the )?(?:available )?context|exceed_context_size/i,
  /too many tokens|token count .*exceeds|exceed\w* (?:the )?(?:model |maximum )*(?:token limit|number of tokens)/i,
  /(?:prompt|input|request) is too (?:long|large for)|maximum (?:prompt|input) length|prompt exceeds/i,
  /range of input length|`?inputs`? tokens? \+|string too long\. expected .*length \d{6}/i,
  /model_max_prompt_tokens|request_too_large/i,
]

function saysTooLong({ status, code, detail = '' }: Report): boolean {
  const words = detail.slice(0, lookedAt)
  return status === 413 || tooLong.some((said) => said.test(code) || said.test(words))
}

/** Statuses at or above 500 that gateways give to any error of the server behind them. */
const relayed: ReadonlySet<number> = new Set([500, 502])

/** For errors without a status. */
const badKey =
  /\b(?:invalid|incorrect|wrong|missing|expired|unknown)\b[^.;]{0,30}\b(?:api|access)[ _-]?(?:key|token)\b|\b(?:api|access)[ _-]?(?:key|token)\b[^.;]{0,30}\b(?:invalid|incorrect|not valid|expired|missing)\b|\bunauthori[sz]ed\b/i
const noModel = /\bmodel\b[^.;]{0,80}\b(?:not found|(?:does not|doesn't|not) exist)\b/i

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

const isTooLong = {
  class: 'invalid_request',
  isTooLong: true,
  hint: 'The prompt is too long for this model: use fewer or smaller files, or a model with a larger context.',
} as const satisfies Kind

function namedKind(report: Report): Kind | undefined {
  const { code, detail = '', status } = report
  if (status !== undefined && status >= 500) {
    return relayed.has(status) && saysTooLong(report) ? isTooLong : undefined
  }
  if (/insufficient_quota|billing/.test(code) || noCredit.test(detail)) return { class: 'quota' }
  if (status === 401 || status === 403 || status === 429) return undefined
  if (/invalid_api_key|api_key_invalid|authentication_?error|permission|unauthori[sz]ed|unauthenticated/.test(code)) {
    return { class: 'auth' }
  }
  if (/rate_limit|resource_exhausted/.test(code)) return { class: 'rate_limit' }
  if (/model_not_found/.test(code)) return { class: 'not_found' }
  if (saysTooLong(report)) return isTooLong
  const words = detail.slice(0, lookedAt)
  if (noTools.some((said) => said.test(words))) return { class: 'invalid_request', hint: noToolsHint }
  if (status !== undefined) return undefined
  if (badKey.test(words)) return { class: 'auth' }
  return noModel.test(words) ? { class: 'not_found' } : undefined
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

/** Where errors have their message. */
const messageKeys = [
  'message',
  'msg',
  'detail',
  'error_msg',
  'error_message',
  'errmsg',
  'err_msg',
  'status_msg',
].concat('error_description', 'faultstring', 'reason', 'title')

/** The message of an error body, in the forms in use: `error.message`, `error`, `message`, `detail` … */
function serverMessage(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { error, errors } = body
  const inner = isObject(error) ? (wordsIn(error) ?? error) : error
  const found = hasValue(inner) ? inner : (wordsIn(body) ?? (Array.isArray(errors) ? (errors[0] as unknown) : errors))
  if (!hasValue(found) || (isObject(found) && Object.keys(found).length === 0)) return undefined
  if (typeof found === 'string') return found
  return (isObject(found) ? serverMessage({ error: wordsIn(found) }) : undefined) ?? JSON.stringify(found)
}

function wordsIn(error: { readonly [key: string]: unknown }): unknown {
  return messageKeys.map((key) => error[key]).find(hasValue)
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
  const { code, type, status, error_code: own, details } = error
  const reasons = Array.isArray(details)
    ? (details as readonly unknown[]).map((detail) => (isObject(detail) ? detail['reason'] : undefined))
    : []
  return [code, type, status, own, ...reasons]
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
 * The fault for an error thrown by an exchange or while reading its body: of the network, or a timeout.
 * `answering`: whether the answer had started.
 */
export function faultOfThrown(error: unknown, { answering }: { readonly answering: boolean }): ModelFault {
  const code = codeOf(error)
  const detail = messageOf(error)
  if (error instanceof ProxyError) {
    return { class: 'network', retryable: true, what: 'could not be reached', detail, hint: error.hint }
  }
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

const partialHint = 'Run it again: the partial answer is discarded, because it may be cut off anywhere.'

/** A connection that broke off: the part received is not an answer. */
const brokenInTheMiddle: ModelFault = {
  class: 'network',
  retryable: true,
  what: 'closed the connection during the answer',
  hint: partialHint,
  isBroken: true,
}

/** A stream that was ended by the server, but before its end mark: it may do so each time. */
const closedInTheMiddle: ModelFault = { ...brokenInTheMiddle, isEnded: true }

/**
 * The fault of a stream without a finish reason. `hasMark`: its end mark was received. `stray`: the last event that is
 * no part of an answer, which may be why it ended; with an end mark and without such an event there is no fault.
 */
export function unfinished({
  hasMark,
  stray,
}: {
  readonly hasMark: boolean
  readonly stray: string | undefined
}): ModelFault | undefined {
  if (!hasMark) return { ...closedInTheMiddle, ...defined({ detail: stray }) }
  if (stray === undefined) return undefined
  return {
    class: 'unavailable',
    retryable: true,
    what: 'ended the answer without a finish reason, after an event that is no part of an answer',
    detail: stray,
    hint: partialHint,
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
