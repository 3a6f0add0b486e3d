import { BatonError } from '../base/error.ts'
import { parseDuration } from '../base/duration.ts'
import { conditionForms, parseCondition } from '../settings/strategies/iterate.ts'

/** Settings for a run in addition to its file, as the flags of `baton run` give them. */
export interface RequestFlags {
  /** Each `-c key=value`. */
  readonly config: readonly string[]
  readonly maxCost: string | undefined
  readonly timeout?: string | undefined
  readonly iter?: string | undefined
  readonly until?: string | undefined
  readonly maxRounds?: string | undefined
  readonly mode?: string | undefined
  readonly sandbox?: string | undefined
  readonly collab?: boolean
  readonly unattended?: boolean
  readonly batch?: boolean
}

/** The settings that flags make, in addition to `-c`. @throws BatonError USAGE for an invalid value */
export function overridesOf({
  config,
  maxCost,
  timeout,
  iter,
  until,
  maxRounds,
  mode,
  sandbox,
  collab = false,
  unattended = false,
  batch = false,
}: RequestFlags): readonly string[] {
  return [
    ...config,
    ...costLimit(maxCost),
    ...timeLimit(timeout),
    ...iteration(iter, until),
    ...roundLimit(maxRounds),
    ...named('mode', mode),
    ...(sandbox === undefined ? [] : [`sandbox.mode=${JSON.stringify(sandbox)}`]),
    ...(collab ? ['collab.enabled=true'] : []),
    ...(unattended ? ['run.unattended=true'] : []),
    ...(batch ? ['batch=true'] : []),
  ]
}

/** A flag for a key of prompt files whose value is a name. */
function named(key: 'mode', value: string | undefined): readonly string[] {
  if (value?.trim() === '') throw usageError(`--${key} is empty`, `Name a ${key}, for example --${key} classic.`)
  return value === undefined ? [] : [`${key}=${JSON.stringify(value)}`]
}

function iteration(iter: string | undefined, until: string | undefined): readonly string[] {
  if (iter !== undefined && parseCondition(iter) === undefined) {
    throw usageError(`--iter ${JSON.stringify(iter)} is neither a count nor a duration`, `Write ${conditionForms}.`)
  }
  if (until?.trim() === '') throw usageError('--until is empty', 'Give it a command, for example --until "npm test".')
  return [
    ...(iter === undefined ? [] : [`iterate.condition=${JSON.stringify(iter.trim())}`]),
    ...(until === undefined ? [] : [`iterate.until=${JSON.stringify(until)}`]),
  ]
}

function roundLimit(rounds: string | undefined): readonly string[] {
  if (rounds === undefined) return []
  if (/^[1-9]\d{0,8}$/.test(rounds)) return [`max_rounds=${rounds}`]
  throw usageError(`--max-rounds ${rounds} is not a whole number above zero`, 'Write for example --max-rounds 1000.')
}

function timeLimit(timeout: string | undefined): readonly string[] {
  if (timeout === undefined) return []
  if ((parseDuration(timeout) ?? 0) > 0) return [`timeout=${timeout}`]
  throw usageError(`--timeout ${timeout} is not a duration`, 'Write for example --timeout 90s or --timeout 30m.')
}

function costLimit(maxCost: string | undefined): readonly string[] {
  if (maxCost === undefined) return []
  if (/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(maxCost) && Number(maxCost) > 0) {
    return [`budget.usd=${Number(maxCost)}`]
  }
  throw usageError(`--max-cost ${maxCost} is not an amount in US dollars`, 'Write for example --max-cost 0.50.')
}

function usageError(message: string, hint: string): BatonError {
  return new BatonError('USAGE', message, { hint })
}
