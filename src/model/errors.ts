import { formsOf } from '../journal/secret-forms.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import { defined, isObject } from '../base/json.ts'

/** The classes of errors that decide about another attempt. `garbled`: the response is not in the expected format. */
export type FailureClass =
  | 'network'
  | 'timeout'
  | 'rate_limit'
  | 'unavailable'
  | 'auth'
  | 'invalid_request'
  | 'quota'
  | 'not_found'
  | 'garbled'

/** Why a call failed, before it is turned into an error message. */
export interface ModelFault {
  readonly class: FailureClass
  readonly retryable: boolean
  /**
   * What the endpoint did: the rest of a sentence that starts with its host, for example `answered with status 500`.
   */
  readonly what: string
  readonly status?: number
  /** The host is overloaded or limits requests: waiting helps, even for a long time. */
  readonly isOverload?: boolean
  /** A time limit that says that the host cannot be reached, like other failures of the network. */
  readonly isUnreached?: boolean
  /** The server ended the answer, so that the network is not what fails. */
  readonly isEnded?: boolean
  /** The connection broke within the answer, which may be paid for. */
  readonly isBroken?: boolean
  /** The request does not fit into the context of the model. */
  readonly isTooLong?: boolean
  /** How long the host asks to wait, in milliseconds. */
  readonly retryAfterMs?: number
  /** The server's error message, verbatim. */
  readonly detail?: string
  /** Overrides the hint of the class. */
  readonly hint?: string
}

/** The `cause` of every error of a model call; retries depend on it. Contains no text from outside. */
export interface ModelFailure {
  readonly kind: 'model-failure'
  readonly class: FailureClass
  readonly retryable: boolean
  /** 429, 503, 529 and their equivalents in a stream: wait for the host, instead of only retrying. */
  readonly isOverload: boolean
  /** As in `ModelFault`. */
  readonly isUnreached?: boolean
  readonly isEnded?: boolean
  readonly isBroken?: boolean
  readonly status?: number
  /** How long the host asks to wait, in milliseconds. */
  readonly retryAfterMs?: number
}

/** Data about an endpoint for messages. `host` has no path and no query; `secrets` are masked in every text. */
export interface Endpoint {
  readonly host: string
  /** Where its address comes from, for example `BATON_GATEWAY_URL`; undefined for built-in addresses. */
  readonly addressName?: string | undefined
  /** The environment variable of the key, if known. */
  readonly keyName: string | undefined
  readonly keySent: boolean
  readonly secrets: readonly string[]
}

/**
 * The data about a failed call that retries and fallbacks depend on; undefined if the error is not from a model call.
 */
export function modelFailureOf(error: unknown): ModelFailure | undefined {
  if (!isBatonError(error)) return undefined
  const { cause } = error
  return isObject(cause) && cause['kind'] === 'model-failure' ? (cause as unknown as ModelFailure) : undefined
}

/**
 * Turns a fault into the error for the user: `KEY_REFUSED` for a refused key, otherwise `MODEL_FAILED`. The
 * message has the model, the host, what happened and the server's own message, masked and shortened.
 */
export function modelError(
  fault: ModelFault,
  call: { readonly model: string; readonly endpoint: Endpoint },
): BatonError {
  const { endpoint } = call
  const detail = safeText(fault.detail ?? '', endpoint.secrets)
  const message = `${call.model}: ${endpoint.host} ${fault.what}${detail === '' ? '' : `: ${detail}`}`
  return new BatonError(fault.class === 'auth' ? 'KEY_REFUSED' : 'MODEL_FAILED', message, {
    reason: fault.isTooLong === true ? 'CONTEXT_EXCEEDED' : undefined,
    hint: fault.hint ?? hints[fault.class](endpoint),
    cause: failure(fault),
  })
}

/** The cause of errors about a key that is not there, or cannot be sent. */
export const keyFailure: ModelFailure = { kind: 'model-failure', class: 'auth', retryable: false, isOverload: false }

/** The error for a required key whose environment variable is not set. */
export function keyMissing(keyName: string, call: { readonly model: string; readonly host: string }): BatonError {
  return new BatonError('KEY_MISSING', `${call.model}: ${call.host} needs a key, and ${keyName} is not set`, {
    hint: `Set the environment variable ${keyName}, or use -m offline::extractive, which needs none.`,
    cause: keyFailure,
  })
}

function failure(fault: Omit<ModelFault, 'what' | 'detail' | 'hint' | 'isTooLong'>): ModelFailure {
  const { retryable, isOverload = false, isUnreached, isEnded, isBroken, status, retryAfterMs } = fault
  const more = defined({ isUnreached, isEnded, isBroken, status, retryAfterMs })
  return { kind: 'model-failure', class: fault.class, retryable, isOverload, ...more }
}

const hints: { readonly [K in FailureClass]: (endpoint: Endpoint) => string } = {
  network: ({ host, addressName }) =>
    `Check the network, and that ${host}${from(addressName)} is the right host and is running.`,
  timeout: () => 'Run it again; if it happens often, the server is overloaded or the prompt is too large for it.',
  rate_limit: () => 'Wait a moment and run it again, or lower input_concurrency.',
  unavailable: () => 'The server has a problem: run it again later, or use another model with -m.',
  auth: keyHint,
  invalid_request: () => 'The server does not accept this request: check the model and its settings.',
  quota: () => 'Check the plan and billing of the account that the key belongs to.',
  not_found: ({ addressName }) =>
    `Check the name of the model (baton models WORD finds names), and that the base URL${from(addressName)} is the root of the API (it often ends in /v1).`,
  garbled: ({ addressName }) =>
    `Check that the base URL${from(addressName)} is the root of an API in the format configured for the provider.`,
}

function from(addressName: string | undefined): string {
  return addressName === undefined ? '' : ` (${addressName})`
}

function keyHint({ keyName, keySent }: Endpoint): string {
  if (keySent) return `Check the value of ${keyName ?? 'the key'}, and that it has access to this model.`
  if (keyName !== undefined) return `No key was sent: set the environment variable ${keyName}.`
  return 'No key was sent: set api_key_env in the user config to the name of the environment variable with the key.'
}

const mark = '«secret»'

/** Patterns that are always keys: `sk-…` and similar prefixes, and anything after `Bearer`; a color may come before them. */
const keyShapes = [
  /(?:\b|(?<=\p{Cc}\[[\d;]*m))(?:sk|pk|rk|gsk|xai|tgp|fw|csk|nvapi)[-_][\w.*-]{6,}/gu,
  /(?:\b|(?<=\p{Cc}\[[\d;]*m))AIza[\w.*-]{6,}/gu,
  /(?<=(?:\b|\p{Cc}\[[\d;]*m)Bearer\s+)[\w.~+/*=-]{6,}/giu,
]

/** Control characters of terminals, characters that change the text direction, and invisible ones. */
const unsafeCharacters = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u{e0000}-\u{e007f}]+/gu

/** Most UTF-16 units of server text in a message. */
const maxLength = 300

/**
 * Makes text from outside safe for a message: secrets and anything that looks like a key are masked, control characters
 * removed; one line, at most 300 characters. Masks before it cuts, so that no partial key remains.
 */
export function safeText(text: string, secrets: readonly string[]): string {
  const line = maskSecrets(text, secrets).replaceAll(unsafeCharacters, ' ').replaceAll(/\s+/g, ' ').trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).trimEnd()}…` : line
}

/** Replaces every secret, including its encoded forms and truncated copies. */
function maskSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length > 3).toSorted((left, right) => right.length - left.length)
  const masked = known.reduce(maskOne, text)
  return keyShapes.reduce((result, shape) => result.replaceAll(shape, mark), masked)
}

function maskOne(text: string, secret: string): string {
  let result = text.replaceAll(secret, mark)
  for (const form of formsOf(secret).keys()) result = result.replaceAll(form, mark)
  if (secret.length < 16) return result
  const beginning = secret.slice(0, 8).replaceAll(/[^\w]/g, String.raw`\$&`)
  return result.replaceAll(new RegExp(String.raw`${beginning}[\w.*~+/=…-]*`, 'g'), mark)
}
