import { type BatonError, isBatonError, stopsRun } from '../base/error.ts'
import { modelText } from '../base/model-text.ts'
import { backoffDelay, type RetryPolicy } from '../base/retry.ts'
import { below, emit, type RunContext, withServices } from '../event/context.ts'
import { decorate } from '../event/effects.ts'
import { exitCodeOf } from '../event/exit-code.ts'
import { item, part, type Place } from '../event/place.ts'
import { mayRetry, type Retries, type RetryReason } from '../settings/retries.ts'
import { failureOf } from './answer.ts'
import { isBudget } from './ending.ts'

export interface Tries<T> extends Retries {
  /** What is tried, in messages. */
  readonly name: string
  /** Whether a result is an answer without content, which counts as a failure while it may be tried again. */
  readonly isEmpty: (value: T) => boolean
}

/** The waits between tries after an error, which may pass by itself. */
const waits: RetryPolicy = {
  maxAttempts: Infinity,
  initialBackoffMs: 1000,
  maxBackoffMs: 30_000,
  backoffMultiplier: 2,
  jitterFactor: 0,
}

/**
 * Does some work, and does it again if it fails for one of the reasons that are named, each try at a place of its own: a
 * resumed run repeats no try that has failed. `work` gets what was wrong with the answer of the try before, for the one
 * that answers. Between tries after an error it waits.
 * @throws the error of the last try
 */
export async function inTries<T>(
  { name, isEmpty, ...retries }: Tries<T>,
  context: RunContext,
  work: (at: RunContext, remark: string | undefined) => Promise<T>,
): Promise<T> {
  let remark: string | undefined
  for (let tries = 0; ; tries += 1) {
    const at = tries === 0 ? context : below(context, part('retry'), item(tries - 1))
    // on failure nothing is marked as undone: the next try follows, or the caller undoes all tries
    const undone: Place[] = []
    const ended = await settled(() => work((retries.retries ?? 0) === 0 ? at : keepingUndone(at, undone), remark))
    if (ended.kind === 'ok') {
      if (!isEmpty(ended.value) || !mayRetry(retries, 'empty', tries)) {
        for (const place of undone) at.services.effects.undo(place)
        return ended.value
      }
      tell(`retrying ${name}: its answer is empty`, context)
      continue
    }
    context.services.signal.throwIfAborted()
    const { error } = failureOf(ended.error)
    if (!mayPassAgain(error)) throw ended.error
    const reason = reasonOf(error)
    if (!mayRetry(retries, reason, tries)) throw ended.error
    tell(`retrying ${name}: ${error.message}`, context)
    remark = reason === 'invalid' ? remarkOn(error) : undefined
    if (reason === 'error') await wait(tries + 1, context)
  }
}

type Settled<T> = { readonly kind: 'ok'; readonly value: T } | { readonly kind: 'failed'; readonly error: unknown }

async function settled<T>(work: () => Promise<T>): Promise<Settled<T>> {
  try {
    return { kind: 'ok', value: await work() }
  } catch (error) {
    return { kind: 'failed', error }
  }
}

function keepingUndone(at: RunContext, undone: Place[]): RunContext {
  const effects = decorate(at.services.effects, () => ({ undo: (place) => void undone.push(place) }))
  return withServices(at, { effects })
}

function tell(message: string, context: RunContext): void {
  emit(context, { type: 'warning', message })
}

/** Neither wrong settings nor a missing key or right pass by themselves, and nothing is paid beyond a budget. */
const lasting: ReadonlySet<number> = new Set([2, 3, 5, 6, 130])

function mayPassAgain(error: unknown): error is BatonError {
  return isBatonError(error) && !stopsRun(error) && !isBudget(error) && !lasting.has(exitCodeOf(error))
}

/** Why a try failed. */
function reasonOf(error: BatonError): RetryReason {
  if (error.reason === 'EMPTY_ANSWER') return 'empty'
  return error.reason === 'INVALID_ANSWER' || error.code === 'CHANGES_FAILED' ? 'invalid' : 'error'
}

function remarkOn({ message }: BatonError): string {
  return modelText`Your last answer could not be used: ${message}
Answer again, without this mistake.`
}

async function wait(tried: number, { services }: RunContext): Promise<void> {
  await services.clock.sleep(backoffDelay(waits, tried, 0.5), services.signal)
}
