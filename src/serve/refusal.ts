import { type BatonError, type ErrorCode, exitCodes, isBatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import { requestWords } from './request-words.ts'

export type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 429 | 431 | 503

/** The error of a refused request: status, code, message and hint. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: RefusalStatus
  /** An error code from `exitCodes`, or the default code of the status. */
  readonly code: string
  readonly hint: string | undefined
  /** The fields of the request that are wrong; empty if it is not that. */
  readonly fields: readonly FieldProblem[]

  constructor(status: RefusalStatus, message: string, { code, hint, fields = [] }: RefusalDetails = {}) {
    super(message)
    this.status = status
    this.code = code ?? codes[status]
    this.hint = hint
    this.fields = fields
  }
}

interface RefusalDetails {
  readonly code?: string
  readonly hint?: string | undefined
  readonly fields?: readonly FieldProblem[]
}

/** What is wrong with a field of a request. */
export interface FieldProblem {
  /** With dots: `vars.language`. */
  readonly field: string
  /** Completes a sentence about the field: `is required`. */
  readonly message: string
}

const codes: Readonly<Record<RefusalStatus, string>> = {
  400: 'USAGE',
  401: 'NO_SECRET',
  403: 'REFUSED',
  404: 'NOT_FOUND',
  405: 'USAGE',
  408: 'TOO_SLOW',
  409: 'NOT_NOW',
  413: 'TOO_LARGE',
  415: 'USAGE',
  429: 'TOO_MANY_RUNS',
  431: 'TOO_LARGE',
  503: 'BUSY',
}

/** The status and body of the response for a thrown error. Unexpected errors reveal no details. */
export function problemOf(error: unknown): { readonly status: number; readonly body: object } {
  if (error instanceof Refusal) {
    const { status, code, message, hint, fields } = error
    return problem(status, { code, message, hint, ...(fields.length > 0 && { fields }) })
  }
  if (!isBatonError(error)) return problem(500, { code: 'INTERNAL', message: 'internal server error', hint: undefined })
  const { code, message, hint } = error
  const said = { message: requestWords(placed(error, message)), hint: hint === undefined ? hint : requestWords(hint) }
  return problem(statusFor(code), { code, ...said })
}

/** The message of a thrown error with its hint, as a sentence each. Unexpected errors reveal no details. */
export function problemText(error: unknown): string {
  const { body } = problemOf(error)
  const { error: said } = body as { readonly error: { readonly message: string; readonly hint?: string } }
  return said.hint === undefined ? said.message : `${said.message}. ${said.hint}`
}

export function refusalAnswer(error: unknown): Response {
  const { status, body } = problemOf(error)
  return Response.json(body, { status, ...(status === 503 && { headers: { 'retry-after': '5' } }) })
}

interface Problem {
  readonly code: string
  readonly message: string
  readonly hint: string | undefined
  readonly fields?: readonly FieldProblem[]
}

function problem(status: number, error: Problem): ReturnType<typeof problemOf> {
  return { status, body: { error: defined({ ...error }) } }
}

function placed({ place }: BatonError, message: string): string {
  if (place === undefined) return message
  const { file, line } = place
  const at = line === undefined ? file : `${file}:${line}`
  if (!message.includes(file)) return `${at}: ${message}`
  // where the message is about the file
  return message.startsWith(`${file} `) ? message.replace(file, () => at) : message
}

/** Maps the exit code of an error: 400 for invalid input, 403 for untrusted files, otherwise 409. */
function statusFor(code: ErrorCode): RefusalStatus {
  if (exitCodes[code] === exitCodes.USAGE) return 400
  return exitCodes[code] === exitCodes.UNTRUSTED ? 403 : 409
}
