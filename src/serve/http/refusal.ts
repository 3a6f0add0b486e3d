import { type BatonError, type ErrorCode, exitCodes, isBatonError } from '../../base/error.ts'

export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 503

/** The error of a refused request: status, code, message and hint. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: RefusalStatus
  /** An error code from `exitCodes`, or the default code of the status. */
  readonly code: string
  readonly hint: string | undefined

  constructor(
    status: RefusalStatus,
    message: string,
    { code, hint }: { readonly code?: string; readonly hint?: string } = {},
  ) {
    super(message)
    this.status = status
    this.code = code ?? codes[status]
    this.hint = hint
  }
}

const codes: Readonly<Record<RefusalStatus, string>> = {
  400: 'USAGE',
  401: 'NO_SECRET',
  403: 'REFUSED',
  404: 'NOT_FOUND',
  409: 'NOT_NOW',
  413: 'TOO_LARGE',
  415: 'USAGE',
  429: 'TOO_MANY_RUNS',
  503: 'BUSY',
}

/** The response for a thrown error. Unexpected errors reveal no details. */
export function refusalAnswer(error: unknown): Response {
  if (error instanceof Refusal) {
    const { status, code, message, hint } = error
    return problem(status, { code, message, hint })
  }
  if (!isBatonError(error)) return problem(500, { code: 'INTERNAL', message: 'internal server error', hint: undefined })
  const { code, message, hint } = error
  return problem(statusFor(code), { code, message: placed(error, message), hint })
}

interface Problem {
  readonly code: string
  readonly message: string
  readonly hint: string | undefined
}

function problem(status: number, { code, message, hint }: Problem): Response {
  return Response.json({ error: { code, message, ...(hint === undefined ? {} : { hint }) } }, { status })
}

function placed({ place }: BatonError, message: string): string {
  if (place === undefined || message.includes(place.file)) return message
  return `${place.file}${place.line === undefined ? '' : `:${place.line}`}: ${message}`
}

/** Maps the exit code of an error: 400 for invalid input, 403 for untrusted files, otherwise 409. */
function statusFor(code: ErrorCode): RefusalStatus {
  if (exitCodes[code] === exitCodes.USAGE) return 400
  return exitCodes[code] === exitCodes.UNTRUSTED ? 403 : 409
}
