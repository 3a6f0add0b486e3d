import { BatonError, stopsRun } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import {
  type AskedCall,
  type BoundaryOptions,
  type Disk,
  placeText,
  type Cost,
  type EffectKind,
  type EffectRequest,
  type Effects,
  type Place,
} from '../event/effects.ts'
import type { Verdict } from '../event/policy.ts'
import { attempt, attemptAsync, passOn, type Attempt } from './attempt.ts'
import { noBudget, noCost, type Budget } from './budget.ts'
import { boundaryEnd } from './boundary-end.ts'
import { boundaryKey, fingerprint } from './fingerprint.ts'
import type { RunJournal } from './journal.ts'
import type { Outcome } from './record.ts'
import { createTries } from './tries.ts'
import { failedOutcome, recordedError } from './recorded-error.ts'

export interface EffectsOptions {
  readonly journal: RunJournal
  /** Handed to every effect; once aborted no new one begins. */
  readonly signal: AbortSignal
  readonly budget?: Budget
  /** Decides about effects that no path policy covers. Left out: all are allowed. */
  readonly policy?: EffectPolicy
  /** What a finished effect did cost, read from its value. */
  readonly costOf?: (effect: EffectRequest, value: unknown) => Cost | undefined
  /** What an effect did cost that failed. Left out, or undefined: not known, the estimate counts. */
  readonly costOfFailure?: (effect: EffectRequest, error: unknown) => Cost | undefined
  /** What the total of the run counts of a finished effect. */
  readonly usedBy?: (effect: EffectRequest, value: unknown) => Json | undefined
  /** Told when an effect begins and how it ended. */
  readonly onEffect?: (at: Place, event: EffectEvent) => void
}

interface EffectPolicy {
  check(effect: EffectRequest, at: Place): Verdict
}

interface EffectEvent {
  readonly kind: EffectKind
  readonly phase: 'started' | Outcome<never>['status']
}

/** Effects whose end is durable before anyone sees it: paid for, or not to be repeated. */
const durableKinds: ReadonlySet<EffectKind> = new Set(['model', 'http', 'command', 'tool', 'mcp', 'git', 'approval'])

/**
 * The one gate, recording into a journal (DESIGN 2 rule 3, 11). A file change or an effect is handed to the operating
 * system before it begins, so a killed process leaves nothing done that is not recorded as begun. An effect whose end
 * cannot be recorded rejects with JOURNAL_FAILED, whatever it did. Values must be what `encodeValue` takes.
 */
export function createEffects(options: EffectsOptions): Effects {
  const { journal, signal, budget = noBudget, policy, costOf, costOfFailure, usedBy, onEffect } = options

  function permit(at: Place, effect: EffectRequest): void {
    const verdict = policy?.check(effect, at) ?? { kind: 'allow' }
    if (verdict.kind === 'deny') throw new BatonError('UNTRUSTED', `${effect.kind} is not allowed: ${verdict.reason}`)
    if (verdict.kind === 'ask') throw new BatonError('NEEDS_INPUT', `${effect.kind} needs an approval nobody can give`)
  }

  /** Records that an effect begins, and gives the function that records its end. */
  async function begin(
    at: Place,
    effect: EffectRequest,
  ): Promise<(outcome: Outcome<unknown> & { readonly used?: Json }) => Promise<void>> {
    const { kind, request, repeat, estimate } = effect
    if (kind === 'model' || repeat === 'unsafe') await assertNotFenced()
    const p = placeText(at)
    const fp = fingerprint(request, journal.mask)
    const started = { k: 'started', p, kind, repeat, fp, request, ...(estimate && { estimate }) } as const
    const s = repeat === 'unsafe' ? await journal.append(started) : journal.note(started)
    journal.push()
    onEffect?.(at, { kind, phase: 'started' })

    return async (outcome) => {
      const ended = { k: 'ended', p, s, kind, ...outcome } as const
      if (repeat === 'unsafe' || durableKinds.has(kind)) await journal.append(ended)
      else journal.note(ended)
      onEffect?.(at, { kind, phase: outcome.status })
    }
  }

  async function assertNotFenced(): Promise<void> {
    if (!(await journal.fenced())) return
    throw new BatonError('JOURNAL_FAILED', 'another process has taken over this run; this one stops here', {
      hint: 'What was finished here before is recorded and is used there.',
    })
  }

  return {
    observe(at, { name, args }, read) {
      const result = attempt(read)
      journal.note({ k: 'obs', p: placeText(at), name, args, ...observed(result) })
      return passOn(result)
    },

    changeFile(at, asked, plan) {
      const p = placeText(at)
      const planned = attempt(plan)
      if (planned.status === 'failed' || planned.value === undefined) {
        journal.note({ k: 'obs', p, name: 'file.change', args: asked, ...observed(planned) })
        passOn(planned)
        return false
      }
      const { record: request, act } = planned.value
      const kind = 'file'
      const fp = fingerprint(asked, journal.mask)
      const s = journal.note({ k: 'started', p, kind, repeat: 'safe', fp, request })
      journal.push()
      onEffect?.(at, { kind, phase: 'started' })

      const result = attempt(() => act(realDisk))
      const outcome = outcomeOf(result, signal)
      journal.note({ k: 'ended', p, s, kind, ...outcome })
      onEffect?.(at, { kind, phase: outcome.status })
      passOn(result)
      return true
    },

    async perform(at, effect, act) {
      signal.throwIfAborted()
      permit(at, effect)
      const tries = createTries(await budget.reserve(effect, { at, signal }), () =>
        budget.reserve(effect, { at, signal }),
      )
      const end = await begin(at, effect).catch((error: unknown) => {
        tries.settle(noCost)
        throw error
      })

      const result = await attemptAsync(async () => {
        signal.throwIfAborted()
        return act(signal, tries.granted)
      })
      const cost = result.status === 'ok' ? costOf?.(effect, result.value) : costOfFailure?.(effect, result.error)
      const whole = tries.total(cost)
      tries.settle(cost)
      const used = result.status === 'ok' ? usedBy?.(effect, result.value) : undefined
      await end({ ...outcomeOf(result, signal), ...(whole && { cost: whole }), ...(used !== undefined && { used }) })
      return passOn(result)
    },

    async boundary(at, work, options = {}) {
      const p = placeText(at)
      const { inputs = {}, label } = options
      journal.note({ k: 'begin', p, key: boundaryKey(inputs, journal.mask), ...(label !== undefined && { label }) })
      return finishBoundary(journal, p, { ...options, work })
    },

    call: (at, { name, args }, work) => recordCall(work, (outcome) => noteCall(outcome, { at, name, args })),
  }

  function noteCall(outcome: Attempt<unknown>, { at, name, args }: AskedCall & { readonly at: Place }): void {
    // a call that was stopped has not returned
    const isStopped = signal.aborted || journal.failure.aborted
    if (outcome.status === 'failed' && (isStopped || stopsRun(outcome.error))) return
    journal.note({ k: 'call', p: placeText(at), name, args, ...observed(outcome) })
  }
}

const realDisk: Disk = (path) => path

/** Does the work of a boundary that has begun, and records its end. */
export async function finishBoundary<T>(
  journal: RunJournal,
  p: string,
  { work, ...options }: BoundaryOptions<T> & { readonly work: () => Promise<T> },
): Promise<T> {
  const result = await attemptAsync(work)
  const entry = boundaryEnd(p, result, options)
  // a journal that has failed is why the work did
  if (entry !== undefined && (result.status === 'ok' || !journal.failure.aborted)) journal.note(entry)
  return passOn(result)
}

/** Tells how a call ended that returns at once or later, and passes it on. */
export function recordCall<T>(work: () => T | Promise<T>, tell: (outcome: Attempt<T>) => void): T | Promise<T> {
  const result = attempt(work)
  if (result.status === 'ok' && result.value instanceof Promise) {
    return attemptAsync(() => result.value as Promise<T>).then((outcome) => {
      tell(outcome)
      return passOn(outcome)
    })
  }
  tell(result as Attempt<T>)
  return passOn(result)
}

function observed(result: Attempt<unknown>): Outcome<unknown> {
  return result.status === 'ok' ? result : { status: 'error', error: recordedError(result.error) }
}

function outcomeOf(result: Attempt<unknown>, signal: AbortSignal): Outcome<unknown> {
  return result.status === 'ok' ? result : failedOutcome(result.error, signal)
}
