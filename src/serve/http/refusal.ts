import { type BatonError, type ErrorCode, exitCodes, isBatonError } from '../../base/error.ts'

export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 503

/** Why a request gets nothing else than a status, a code and a message. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: RefusalStatus
  /** Of `exitCodes`, or a word that belongs to the status. */
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

/** What a client is told of anything that was thrown; of what nobody foresaw only that it happened. */
export function refusalAnswer(error: unknown): Response {
  if (error instanceof Refusal) {
    const { status, code, message, hint } = error
    return problem(status, { code, message, hint })
  }
  if (!isBatonError(error))
    return problem(500, { code: 'INTERNAL', message: 'this is an error of the server', hint: undefined })
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

/** As the exit code of the command says it: wrong input, no trust, or a run that cannot be gone on with now. */
function statusFor(code: ErrorCode): RefusalStatus {
  if (exitCodes[code] === exitCodes.USAGE) return 400
  return exitCodes[code] === exitCodes.UNTRUSTED ? 403 : 409
}
