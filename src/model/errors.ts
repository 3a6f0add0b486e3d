import { BatonError, isBatonError } from '../base/error.ts'
import { safeText } from './mask.ts'

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
  /** 429, 503, 529 and what says the same inside a stream: to be waited for, not only tried again (DESIGN 8). */
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
  return isModelFailure(cause) ? cause : undefined
}

function isModelFailure(value: unknown): value is ModelFailure {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'model-failure'
}

/**
 * A fault as the error people see: `KEY_REFUSED` for a refused key, else `MODEL_FAILED` (R315, DESIGN 8).
 * The message names the model, the host, what happened and the server's own words, masked and shortened.
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
  return {
    kind: 'model-failure',
    class: fault.class,
    retryable,
    isOverload,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
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
