import { type BatonError, isBatonError, messageOf } from '../../base/error.ts'
import { isObject } from '../../base/json.ts'
import { MessageTooLarge } from '../bounded-fetch.ts'
import { ConnectionFailure, type ConnectionProblem } from '../connection.ts'
import {
  ProtocolError,
  type ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from './sdk.ts'

/** Of no server: the protocol leaves these to implementations. */
export const brokenStream = -32_099 as ProtocolErrorCode
export const tooLarge = -32_098 as ProtocolErrorCode

/** What `Connection` rejects with, of whatever the package threw. */
export function failureOf(error: unknown): ConnectionFailure {
  return error instanceof ConnectionFailure ? error : new ConnectionFailure(problemOf(error), error)
}

/** Of an answer over HTTP. */
export function statusOf(error: unknown): number | undefined {
  if (SdkHttpError.isInstance(error)) return error.status
  return SseError.isInstance(error) ? error.code : undefined
}

function problemOf(error: unknown): ConnectionProblem {
  if (hasCause(error, (cause) => cause instanceof MessageTooLarge)) {
    return { kind: 'too_large' }
  }
  // a login that is known is not enough, and nobody is there to log in
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

/** Where a person has to go before a call is made again. */
function addressesIn(data: unknown): readonly string[] {
  const wanted =
    isObject(data) && Array.isArray(data['elicitations']) ? (data['elicitations'] as readonly unknown[]) : []
  return wanted.flatMap((one) => (isObject(one) && typeof one['url'] === 'string' ? [one['url']] : []))
}

/** What a server says of a failure; for a redirect that is not followed, where it leads. */
function httpText(error: unknown): string {
  const redirect = /(?:Redirect .*?)(?= \(redirectPolicy|$)/.exec(messageOf(error))?.[0]
  if (redirect !== undefined) return redirect
  const data = SdkHttpError.isInstance(error) ? error.data['text'] : undefined
  return typeof data === 'string' ? data : messageOf(error)
}

/** Node says `fetch failed`, and what failed in the cause. */
export function causeText(error: unknown): string {
  const { cause } = error instanceof Error ? error : {}
  if (cause instanceof AggregateError && cause.errors.length > 0) return messageOf(cause.errors[0])
  return cause instanceof Error && cause.message !== '' ? causeText(cause) : messageOf(error)
}

/** Whether it, or what it was caused by, is such an error. */
export function hasCause(error: unknown, test: (error: unknown) => boolean): boolean {
  return test(error) || (error instanceof Error && error.cause !== undefined && hasCause(error.cause, test))
}

/** What a provider of ours has thrown. */
export function ownError(error: unknown): BatonError | undefined {
  if (isBatonError(error)) return error
  return error instanceof Error && error.cause !== undefined ? ownError(error.cause) : undefined
}
