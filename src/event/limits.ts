import { isBatonError } from '../base/error.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import { limitKeys } from '../settings/keys.ts'

/** Default limit of rounds for one message in the mode `classic`: a guard against a model that never ends. */
export const defaultRounds = 200

/** The same in runs of older versions, in which a message ended there as if it were answered. */
export const legacyDefaultRounds = 25

/** Maximum number of concurrent model requests, over all runs of a process, or of a server. */
export const mostModelRequests = 1024

/** The cause of an error of a model that wanted to go on at a limit of its requests. */
export const roundLimit = { kind: 'round-limit' } as const

export function isRoundLimit(error: unknown): boolean {
  return isBatonError(error) && (error.cause === roundLimit || isRoundLimit(error.cause))
}

/** `timeout_ms` is in settings what `timeout` is in a file. */
const limits: ReadonlySet<string> = new Set([...limitKeys, 'timeout_ms'])

/** The params or settings that determine what a part does: raising a limit does not make it a different part. */
export function withoutLimits(values: JsonObject): JsonObject {
  const kept = Object.entries(values).filter(([key]) => !limits.has(key))
  const former = Object.entries(values).filter(([key]) => formerInputs.includes(key))
  return former.length === 0
    ? Object.fromEntries(kept)
    : { ...Object.fromEntries(kept), [formerValues]: Object.fromEntries(former) }
}

/** Limits that older versions recorded as inputs. */
const formerInputs = ['max_rounds', 'max_turns']

/** Goes along with the copies of an object, but not into its JSON. */
const formerValues = Symbol('limits that were inputs')

/** Inputs as an older version recorded them. */
export function legacyInputs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(legacyInputs)
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value
  const { [formerValues]: former, ...own } = value as { readonly [formerValues]?: JsonObject }
  return { ...Object.fromEntries(Object.entries(own).map(([key, inner]) => [key, legacyInputs(inner)])), ...former }
}

/** The same for the input of a section or an agent, where `coder_params` are the params of the prompt file. */
export function sectionInputWithoutLimits(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { input, options } = given
  const params: unknown = isObject(input) ? input['coder_params'] : undefined
  return {
    ...given,
    ...(isObject(params) ? { input: { ...(input as object), coder_params: withoutLimits(params as JsonObject) } } : {}),
    ...(isObject(options) ? { options: withoutLimits(options as JsonObject) } : {}),
  }
}
