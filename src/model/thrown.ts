import { messageOf } from '../base/error.ts'
import type { ModelFault } from './errors.ts'

const cutCodes = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']
const unreachableCodes = ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN']
const timeoutCodes = ['ETIMEDOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']
const tlsCode = /^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO$)/

/**
 * The fault for anything `fetch` or the reading of a body threw (R315 NetworkError and Timeout).
 * `answering`: whether the answer had begun.
 */
export function faultOfThrown(error: unknown, { answering }: { readonly answering: boolean }): ModelFault {
  const root = rootCause(error)
  const code = codeOf(root)
  const detail = messageOf(root)
  if (code === 'ECONNREFUSED') {
    return { class: 'network', retryable: true, what: 'refused the connection: nothing listens there' }
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return { class: 'network', retryable: true, what: `has no address that can be found (${code})` }
  }
  if (unreachableCodes.includes(code) && !answering) {
    return { class: 'network', retryable: true, what: `cannot be reached through this network (${code})` }
  }
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return { class: 'timeout', retryable: true, what: `allowed no connection in time (${code})` }
  }
  if (timeoutCodes.includes(code)) {
    const what = answering ? 'stopped in the middle of the answer' : 'did not answer in time'
    return { class: 'timeout', retryable: true, what: `${what} (${code})` }
  }
  if (tlsCode.test(code)) {
    const what = `allowed no secure connection (${code})`
    const hint = isPlain(code)
      ? 'The server seems to speak plain HTTP: write http:// in the base URL.'
      : 'Check the name in the base URL and the certificate; of an authority of your own, name the file in NODE_EXTRA_CA_CERTS.'
    return { class: 'network', retryable: false, what, detail: isPlain(code) ? '' : detail, hint }
  }
  if (code.startsWith('HPE_')) {
    return { class: 'garbled', retryable: false, what: `answered with something that is not HTTP (${code})` }
  }
  if (code.startsWith('Z_') || code.startsWith('ERR_BUFFER')) {
    return { class: 'garbled', retryable: false, what: `sent a body that cannot be decompressed (${code})` }
  }
  if (answering) return closedInTheMiddle
  if (cutCodes.includes(code)) {
    return { class: 'network', retryable: true, what: 'closed the connection before it answered' }
  }
  return { class: 'network', retryable: false, what: 'could not be reached', detail }
}

/** What came back was no TLS at all. */
function isPlain(code: string): boolean {
  return code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG'
}

/** A stream that ended before its end mark: what came before is no answer. */
export const closedInTheMiddle: ModelFault = {
  class: 'network',
  retryable: true,
  what: 'closed the connection in the middle of the answer',
  hint: 'Run it again: the part that came is not used, because it may be cut anywhere.',
}

/** The innermost cause with a code; `fetch` hides the reason one or two levels down. */
function rootCause(error: unknown): unknown {
  let found = error
  let current = error
  for (let depth = 0; depth < 8 && current instanceof Error; depth += 1) {
    found = current
    if (codeOf(current) !== '') return current
    current = current.cause ?? (current instanceof AggregateError ? current.errors[0] : undefined)
  }
  return found
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
