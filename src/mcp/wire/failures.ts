import { type BatonError, isBatonError, messageOf } from '../../base/error.ts'
import { isObject } from '../../base/json.ts'
import { MessageTooLarge } from '../bounded-fetch.ts'
import { ConnectionFailure, type ConnectionProblem } from '../connection.ts'
import { ForeignAddress, isPageAddress } from '../login-addresses.ts'
import {
  ProtocolError,
  type ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from './sdk.ts'

/** Codes of Baton: the protocol reserves this range for implementations. */
export const brokenStream = -32_099 as ProtocolErrorCode
export const tooLarge = -32_098 as ProtocolErrorCode

/** Converts any error of the SDK to what `Connection` rejects with. */
export function failureOf(error: unknown): ConnectionFailure {
  return error instanceof ConnectionFailure ? error : new ConnectionFailure(problemOf(error), error)
}

/** The HTTP status of a failed response. */
export function statusOf(error: unknown): number | undefined {
  if (SdkHttpError.isInstance(error)) return error.status
  return SseError.isInstance(error) ? error.code : undefined
}

function problemOf(error: unknown): ConnectionProblem {
  if (hasCause(error, (cause) => cause instanceof MessageTooLarge)) {
    return { kind: 'too_large' }
  }
  const foreign = foreignIn(error)
  if (foreign !== undefined) return { kind: 'foreign', address: foreign.address }
  // the stored login is not sufficient, and nobody can log in now
  if (UnauthorizedError.isInstance(error) || ownError(error)?.code === 'KEY_MISSING') {
    return { kind: 'http', status: 401, text: '' }
  }
  const status = statusOf(error)
  if (status !== undefined) return { kind: 'http', status, text: httpText(error) }
  if (ProtocolError.isInstance(error)) {
    if (error.code === brokenStream) return { kind: 'unreachable', reason: error.message }
    if (error.code === tooLarge) return { kind: 'too_large' }
    return { kind: 'refused', code: error.code, message: [error.message, ...addressesIn(error.data)].join(' ') }
  }
  if (SdkError.isInstance(error)) {
    const { code, message, data } = error
    if (code === SdkErrorCode.EraNegotiationFailed && isObject(data) && data['cause'] !== undefined) {
      return problemOf(data['cause'])
    }
    if (code === SdkErrorCode.ConnectionClosed) return { kind: 'unreachable', reason: 'the connection was closed' }
    return { kind: 'invalid', reason: message }
  }
  return { kind: 'unreachable', reason: causeText(error) }
}

/** Addresses that the user has to open before the call is repeated: pages on the web, or on this machine. */
function addressesIn(data: unknown): readonly string[] {
  const wanted =
    isObject(data) && Array.isArray(data['elicitations']) ? (data['elicitations'] as readonly unknown[]) : []
  return wanted.flatMap((one) =>
    isObject(one) && typeof one['url'] === 'string' && isPageAddress(one['url']) ? [one['url']] : [],
  )
}

/** The server's description of a failure; for a redirect that is not followed, its target. */
function httpText(error: unknown): string {
  const redirect = /(?:Redirect .*?)(?= \(redirectPolicy|$)/.exec(messageOf(error))?.[0]
  if (redirect !== undefined) return redirect
  const data = SdkHttpError.isInstance(error) ? error.data['text'] : undefined
  return typeof data === 'string' ? data : messageOf(error)
}

/** Node reports `fetch failed`, with the actual error as its cause. */
export function causeText(error: unknown): string {
  const { cause } = error instanceof Error ? error : {}
  if (cause instanceof AggregateError && cause.errors.length > 0) return messageOf(cause.errors[0])
  return cause instanceof Error && cause.message !== '' ? causeText(cause) : messageOf(error)
}

/** Whether the error or one of its causes passes the test. */
export function hasCause(error: unknown, test: (error: unknown) => boolean): boolean {
  return test(error) || (error instanceof Error && error.cause !== undefined && hasCause(error.cause, test))
}

function foreignIn(error: unknown): ForeignAddress | undefined {
  if (error instanceof ForeignAddress) return error
  return error instanceof Error && error.cause !== undefined ? foreignIn(error.cause) : undefined
}

/** The BatonError, thrown by our provider, among an error and its causes. */
export function ownError(error: unknown): BatonError | undefined {
  if (isBatonError(error)) return error
  return error instanceof Error && error.cause !== undefined ? ownError(error.cause) : undefined
}
