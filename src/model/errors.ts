import { formsOf } from '../journal/secret-forms.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import { defined, isObject } from '../base/json.ts'

/** The error classes of R315 (models), R296 and R297. `garbled`: what came back is not an answer in the agreed form. */
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

/** Why a call failed, before it is put into words for a person. */
export interface ModelFault {
  readonly class: FailureClass
  readonly retryable: boolean
  /** What the endpoint did: the rest of a sentence that begins with its host, for example `answered with status 500`. */
  readonly what: string
  readonly status?: number
  /** The host has too much to do, or allows no more requests for now: waiting helps, also for long. */
  readonly isOverload?: boolean
  /** How long the host asks to wait, in milliseconds. */
  readonly retryAfterMs?: number
  /** The server's own words, as they came. */
  readonly detail?: string
  /** What to do, when it is not what the class says. */
  readonly hint?: string
}

/** The `cause` of every error of a model call: what retries decide on. Holds no text from outside. */
export interface ModelFailure {
  readonly kind: 'model-failure'
  readonly class: FailureClass
  readonly retryable: boolean
  /** 429, 503, 529 and what says the same inside a stream: to be waited for, not only tried again. */
  readonly isOverload: boolean
  readonly status?: number
  /** How long the host asks to wait, in milliseconds. */
  readonly retryAfterMs?: number
}

/** What messages say about an endpoint. `host` has no path and no query; `secrets` are masked in every text. */
export interface Endpoint {
  readonly host: string
  /** Where its address was written, for example `BATON_GATEWAY_URL`; undefined for addresses that are built in. */
  readonly addressName?: string | undefined
  /** The environment variable of the key, when one is known. */
  readonly keyName: string | undefined
  readonly keySent: boolean
  readonly secrets: readonly string[]
}

/** The data about a failed call that issue-wide decisions need, or undefined when the error is not from a model call. */
export function modelFailureOf(error: unknown): ModelFailure | undefined {
  if (!isBatonError(error)) return undefined
  const { cause } = error
  return isObject(cause) && cause['kind'] === 'model-failure' ? (cause as unknown as ModelFailure) : undefined
}

/**
 * A fault as the error people see: `KEY_REFUSED` for a refused key, else `MODEL_FAILED` (R315). The message names the
 * model, the host, what happened and the server's own words, masked and shortened.
 */
export function modelError(
  fault: ModelFault,
  call: { readonly model: string; readonly endpoint: Endpoint },
): BatonError {
  const { endpoint } = call
  const detail = safeText(fault.detail ?? '', endpoint.secrets)
  const message = `${call.model}: ${endpoint.host} ${fault.what}${detail === '' ? '' : `: ${detail}`}`
  return new BatonError(fault.class === 'auth' ? 'KEY_REFUSED' : 'MODEL_FAILED', message, {
    hint: fault.hint ?? hints[fault.class](endpoint),
    cause: failure(fault),
  })
}

/** The error for a key that is needed and whose environment variable is not set. */
export function keyMissing(keyName: string, call: { readonly model: string; readonly host: string }): BatonError {
  return new BatonError('KEY_MISSING', `${call.model}: ${call.host} needs a key, and ${keyName} is not set`, {
    hint: `Set the environment variable ${keyName}, or use -m offline::extractive, which needs none.`,
    cause: failure({ class: 'auth', retryable: false }),
  })
}

function failure(fault: Omit<ModelFault, 'what' | 'detail' | 'hint'>): ModelFailure {
  const { retryable, isOverload = false, status, retryAfterMs } = fault
  return { kind: 'model-failure', class: fault.class, retryable, isOverload, ...defined({ status, retryAfterMs }) }
}

const hints: { readonly [K in FailureClass]: (endpoint: Endpoint) => string } = {
  network: ({ host, addressName }) =>
    `Check the network, and that ${host}${from(addressName)} is the right host and is running.`,
  timeout: () => 'Run it again; if it happens often, the server is overloaded or the prompt is too large for it.',
  rate_limit: () => 'Wait a little and run it again, or lower input_concurrency.',
  unavailable: () => 'The server has a problem of its own: run it again later, or name another model with -m.',
  auth: keyHint,
  invalid_request: () => 'The server does not accept this request: check the model and its settings.',
  quota: () => 'Check the plan and the billing of the account that the key belongs to.',
  not_found: ({ addressName }) =>
    `Check the name of the model, and that the base URL${from(addressName)} is the root of the API (it often ends in /v1).`,
  garbled: ({ addressName }) =>
    `Check that the base URL${from(addressName)} is the root of an API in the format that the provider is set to.`,
}

function from(addressName: string | undefined): string {
  return addressName === undefined ? '' : ` (${addressName})`
}

function keyHint({ keyName, keySent }: Endpoint): string {
  if (keySent) return `Check the value of ${keyName ?? 'the key'}, and that it may use this model.`
  if (keyName !== undefined) return `No key was sent: set the environment variable ${keyName}.`
  return 'No key was sent: name the environment variable that holds it with api_key_env in the user config.'
}

const mark = '«secret»'

/** Shapes that are keys whoever owns them: `sk-…` and its relatives, and what follows `Bearer`. */
const keyShapes = [
  /\b(?:sk|pk|rk|gsk|xai|tgp|fw|csk|nvapi)[-_][\w.*-]{6,}/g,
  /\bAIza[\w.*-]{6,}/g,
  /(?<=\bBearer\s+)[\w.~+/*=-]{6,}/gi,
]

/** Characters that could steer a terminal, turn the direction of text or hide. */
const unsafeCharacters = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u{e0000}-\u{e007f}]+/gu

/** Longest text of a server that is repeated in a message, in UTF-16 units. */
const maxLength = 300

/**
 * Text from outside made fit for a message: secrets and anything that looks like a key masked, control characters
 * removed, one line, at most 300 characters. Masks before it cuts, so that no half of a key remains.
 */
export function safeText(text: string, secrets: readonly string[]): string {
  const line = maskSecrets(text, secrets).replaceAll(unsafeCharacters, ' ').replaceAll(/\s+/g, ' ').trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).trimEnd()}…` : line
}

/** Replaces every secret, also in other forms, and when it is repeated by its beginning only. */
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
