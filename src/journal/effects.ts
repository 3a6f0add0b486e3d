import { BatonError, isSuspension, stopsRun } from '../base/error.ts'
import type {
  CallRequest,
  ChangeStates,
  Cost,
  Disk,
  EffectKind,
  EffectRequest,
  Effects,
  FileChangeRecord,
  Grant,
  Granted,
  ChangeSnapshot,
} from '../event/effects.ts'
import type { Json } from '../base/json.ts'
import { leaderOf } from '../base/process-group.ts'
import type { Spent } from '../event/meter.ts'
import { type Action, withoutDetails, type Decision, type Permission } from '../event/permission.ts'
import { part, type Place, placeText } from '../event/place.ts'
import { permissionCheck, denialError, permitOf } from './permission-check.ts'
import type { ApprovalOptions, Approvals } from './approvals.ts'
import { type WorkResult, capture, captureAsync, unwrap } from './work-result.ts'
import { type Budget, noBudget, noCost, type Reservation } from './budget.ts'
import type { RunJournal } from './journal.ts'
import { boundaryKey, changeName, fingerprint } from './matching.ts'
import type { Entry, Outcome } from './record.ts'
import { recordedError } from './recorded-error.ts'
import { finishBoundary, observationOutcome, outcomeOf, recordCall } from './recorded-work.ts'

/** Wraps effects, for example so that a watch session sees what a run changes. */
export interface EffectHook {
  /** Performs a file change by calling `act`. */
  readonly change?: (record: FileChangeRecord, act: () => void) => void
  /**
   * Performs another effect by calling `act`. A suspension (`BatonError` SUSPENDED) means that nothing has happened
   * yet.
   */
  readonly effect?: <T>(kind: EffectKind, act: () => Promise<T>) => Promise<T>
}

export interface EffectsOptions extends Pick<ApprovalOptions, 'approver'> {
  readonly journal: RunJournal
  /** Passed to every effect; once aborted, no new effect starts. */
  readonly signal: AbortSignal
  readonly permission: Permission
  readonly budget?: Budget
  /** Called with the usage of each model call. */
  readonly onSpent: (at: Place, spent: Spent) => void
  /** Called when an effect starts and when it ends. */
  readonly onEffect?: (at: Place, event: EffectEvent) => void
  readonly approvals?: Omit<ApprovalOptions, 'approver'>
  readonly hooks?: readonly EffectHook[]
}

/** An effect whose start is to be recorded. `times`: of an approval question. */
type Begun = Omit<EffectRequest<never>, 'costOf' | 'assumed' | 'action'> & {
  readonly times?: { readonly asked: number; readonly until?: number; readonly about?: Json }
  /** Called when the start is recorded. */
  readonly isBegun?: () => void
}

interface BegunEffect extends Pick<Granted, 'process' | 'waits'> {
  /** Records how it ended. */
  readonly end: (result: WorkResult<unknown>, tries: Tries) => Promise<void>
}

interface EffectEvent {
  readonly kind: EffectKind
  readonly phase: 'started' | 'suspended' | Outcome<never>['status']
}

/**
 * Effects whose end is durable before anyone sees it: they cost money, or are a user's decision, or take so long that a
 * sync is negligible. For other effects, a lost end is asked about, or they are safe to repeat.
 */
const durableKinds: ReadonlySet<EffectKind> = new Set(['model', 'http', 'command', 'git', 'approval'])

/**
 * The single gate for effects, recording into a journal; see docs/design/effects.md. The record of a file change or an
 * effect is handed to the operating system before it starts, so a killed process leaves nothing done that is not
 * recorded as started. An effect whose end cannot be recorded rejects with JOURNAL_FAILED, whatever it did. Values must
 * be acceptable to `encodeValue`.
 */
export function createEffects(options: EffectsOptions): Effects {
  const { journal, signal, budget = noBudget, onSpent, onEffect, hooks = [] } = options
  let approvals: Promise<Approvals> | undefined

  /** Records the start of an effect, and returns a way to record the rest of it. */
  async function begin(at: Place, { kind, request, repeat, estimate, times, isBegun }: Begun): Promise<BegunEffect> {
    assertNotFenced()
    const p = placeText(at)
    const fp = fingerprint(request, journal.mask)
    const started: Entry = { k: 'started', p, kind, repeat, fp, request, ...(estimate && { estimate }), ...times }
    const s = repeat !== 'safe' ? await journal.append(started) : journal.note(started)
    journal.push()
    // the process may have been stopped while its record was written, for longer than its lease
    assertNotFenced()
    isBegun?.()
    onEffect?.(at, { kind, phase: 'started' })

    function process(pid: number, { stays }: { readonly stays?: true } = {}): void {
      journal.note({ k: 'process', p, s, ...leaderOf(pid), ...(stays && { stays }) })
      journal.push()
    }

    function waits(error: unknown): void {
      journal.note({ k: 'suspended', p, s, error: recordedError(error) })
    }

    async function end(result: WorkResult<unknown>, tries: Tries): Promise<void> {
      if (result.status === 'failed' && isSuspension(result.error)) {
        waits(result.error)
        onEffect?.(at, { kind, phase: 'suspended' })
        return
      }
      const outcome = outcomeOf(result, signal)
      const [cost, spent] = [tries.cost(), tries.spent()]
      const counted = { ...(cost !== undefined && { cost }), ...(spent.length > 0 && { spent }) }
      const ended: Entry = { k: 'ended', p, s, kind, ...outcome, ...counted }
      if (durableKinds.has(kind)) await journal.append(ended)
      else journal.note(ended)
      if (repeat !== 'safe') journal.syncSoon()
      onEffect?.(at, { kind, phase: outcome.status })
    }

    return { process, waits, end }
  }

  function assertNotFenced(): void {
    if (!journal.fenced()) return
    throw new BatonError('JOURNAL_FAILED', 'another process has taken over this run; this one stops here', {
      hint: 'What this process finished before is recorded, and the other process uses it.',
    })
  }

  function around<T>(kind: EffectKind, act: () => Promise<T>): Promise<T> {
    return hooks.reduceRight<() => Promise<T>>(
      (inner, { effect }) => (effect ? () => effect(kind, inner) : inner),
      act,
    )()
  }

  function change(record: FileChangeRecord, act: (disk: Disk) => void): void {
    hooks.reduceRight<() => void>(
      (inner, hook) => (hook.change === undefined ? inner : () => hook.change?.(record, inner)),
      () => act(realDisk),
    )()
  }

  const keptBefore = new Set<string>()

  function isFirst(path: string): boolean {
    const isNew = !keptBefore.has(path)
    keptBefore.add(path)
    return isNew
  }

  /** Keeps what a change removes and what it writes, before the change is made. */
  function keep({ contents, ...states }: ChangeSnapshot): ChangeStates {
    for (const content of contents) journal.keep?.(content)
    return states
  }

  function noteCall(outcome: WorkResult<unknown>, { at, name, args }: CallRequest & { readonly at: Place }): void {
    // a call that was stopped has not returned
    const isStopped = signal.aborted || journal.failure.aborted
    if (outcome.status === 'failed' && (isStopped || stopsRun(outcome.error))) return
    journal.note({ k: 'call', p: placeText(at), name, args, ...observationOutcome(outcome) })
  }

  function under(permission: Permission): Effects {
    const allow = permissionCheck(permission)

    const effects: Effects = {
      observe(at, { name, args, reads }, read) {
        const result = capture(read)
        journal.note({ k: 'obs', p: placeText(at), name, args, reads, ...observationOutcome(result) })
        return unwrap(result)
      },

      async observeAsync(at, { name, args, reads }, read) {
        signal.throwIfAborted()
        const result = await captureAsync(() => read(allow))
        // neither a stopped call nor one that waits for an approval is an observation
        if (result.status === 'failed') signal.throwIfAborted()
        if (result.status === 'failed' && isSuspension(result.error)) throw result.error
        journal.note({ k: 'obs', p: placeText(at), name, args, reads, ...observationOutcome(result) })
        return unwrap(result)
      },

      answers: () => false,
      wasDone: () => false,
      requested: () => undefined,

      async permit(at, action, since) {
        const verdict = permission.check(action)
        if (verdict.kind === 'deny') throw denialError(verdict)
        if (verdict.kind === 'allow') return { action }
        const { rule } = verdict
        return permitOf(action, await captureAsync(() => askPerson(at, action, { since, rule })))
      },

      changeFile(at, asked, plan, permit) {
        const p = placeText(at)
        const planned = capture(() => {
          const whole = plan((action, content) => allow(action, content, permit))
          return whole && { ...whole, kept: journal.keep && whole.keep?.(isFirst) }
        })
        if (planned.status === 'failed' || planned.value === undefined) {
          journal.note({ k: 'obs', p, name: changeName, args: asked, ...observationOutcome(planned) })
          unwrap(planned)
          return false
        }
        assertNotFenced()
        const { record, act, kept } = planned.value
        const kind = 'file'
        const fp = fingerprint(asked, journal.mask)
        const s = journal.note({ k: 'started', p, kind, repeat: 'safe', fp, request: record, kept: kept && keep(kept) })
        journal.push()
        onEffect?.(at, { kind, phase: 'started' })
        const result = capture(() => change(record, act))
        const outcome = outcomeOf(result, signal)
        journal.note({ k: 'ended', p, s, kind, ...outcome })
        onEffect?.(at, { kind, phase: outcome.status })
        unwrap(result)
        return true
      },

      async perform(at, effect, act, permit) {
        signal.throwIfAborted()
        if (permit === undefined) await effects.permit(at, effect.action)
        else allow(effect.action, undefined, permit)
        return run(at, effect, act, allow)
      },

      async boundary(at, work, boundary = {}) {
        const p = placeText(at)
        const { inputs = {}, label, hasBegun = false } = boundary
        if (!hasBegun) journal.note({ k: 'begin', p, key: boundaryKey(inputs, journal.mask), label })
        return finishBoundary(journal, p, { ...boundary, work })
      },

      undo: (at) => void journal.note({ k: 'undo', p: placeText(at) }),
      again: () => false,
      flush: () => journal.flush(),
      call: (at, { name, args }, work) => recordCall(work, (outcome) => noteCall(outcome, { at, name, args })),
      under,
    }
    return effects
  }

  async function askPerson(
    at: Place,
    action: Action,
    asked: { readonly since: number | undefined; readonly rule: string | undefined },
  ): Promise<Decision> {
    const place = [...at, part('approval')]
    // most runs have no approvals
    approvals ??= import('./approvals.ts').then(({ createApprovals }) =>
      createApprovals({ ...options.approvals, approver: options.approver }),
    )
    const { open, number, settle } = await approvals
    const p = placeText(place)
    const { times, answer } = open(action, { at, place: p, ...asked })
    const isBegun = (): void => void number(p)
    const { about } = action
    const told = about === undefined ? times : { ...times, about: { ...about } }
    const request = withoutDetails(action)
    const ask = { kind: 'approval', request, action, repeat: 'safe', times: told, isBegun } as const
    const decision = await run<Decision>(place, ask, answer)
    settle(decision)
    return decision
  }

  /** Performs an allowed effect: budget, journal, the act itself. */
  async function run<T>(
    at: Place,
    effect: EffectRequest<T> & Pick<Begun, 'times' | 'isBegun'>,
    act: Parameters<Effects['perform']>[2],
    allow: (action: Action) => void = () => {},
  ): Promise<T> {
    const reserve = (): ReturnType<Budget['reserve']> => budget.reserve(effect, { at, signal })
    const tries = createTries(await reserve(), { reserve, onSpent: (spent) => onSpent(at, spent) })
    const { process, waits, end } = await begin(at, effect).catch((error: unknown) => {
      tries.cancel()
      throw error
    })
    const { grant, failed, again } = tries
    const result = await captureAsync(async () => {
      signal.throwIfAborted()
      return around(effect.kind, () => act(signal, { ...grant, failed, again, allow, process, waits }) as Promise<T>)
    })
    if (result.status === 'failed' && isSuspension(result.error)) tries.cancel()
    else tries.settle(result.status === 'ok' ? effect.costOf?.(result.value) : undefined)
    await end(result, tries)
    return unwrap(result)
  }

  return under(options.permission)
}

const realDisk: Disk = (path) => path

/** The tries of one effect: at most one of them has a reservation at a time. */
interface Tries {
  readonly grant: Grant
  /** Counts the try that is in progress as failed; undefined: its usage is unknown. */
  readonly failed: (spent: Spent | undefined) => void
  /** Reserves again for the next try. */
  readonly again: () => Promise<Grant>
  /** Counts the last try, unless it was already counted as failed. */
  readonly settle: (spent: Spent | undefined) => void
  /** Releases the reservation of an effect that never started. */
  readonly cancel: () => void
  /** The total cost of all tries, as far as it is known for all of them; undefined if nothing is known. */
  readonly cost: () => Cost | undefined
  /** The usage of each try for which it is known. */
  readonly spent: () => readonly Spent[]
}

/** While an effect waits between two tries, it holds no reservation. `onSpent` is called for each try. */
function createTries(
  first: Reservation,
  { reserve, onSpent }: { readonly reserve: () => Promise<Reservation>; readonly onSpent: (spent: Spent) => void },
): Tries {
  let current: Reservation | undefined = first
  const counted: { readonly spent: Spent | undefined; readonly cost: Cost | undefined }[] = []

  function count(spent: Spent | undefined, cost: Cost | undefined): void {
    if (current === undefined) return
    counted.push({ spent, cost })
    current.settle(cost)
    current = undefined
    if (spent !== undefined) onSpent(spent)
  }

  return {
    grant: first.grant,
    failed: (spent) => count(spent, spent && costOfFailed(spent)),
    async again() {
      count(undefined, undefined)
      current = await reserve()
      return current.grant
    },
    settle: (spent) => count(spent, spent && costOf(spent)),
    cancel() {
      current?.settle(noCost)
      current = undefined
    },
    cost() {
      const sum = counted.map(({ cost }) => cost).reduce<Cost>(addCosts, noCost)
      return Object.keys(sum).length === 0 ? undefined : sum
    },
    spent: () => counted.flatMap(({ spent }) => spent ?? []),
  }
}

/** The cost of a call. Unknown parts are omitted: the price, and the tokens if the host did not count them. */
function costOf({ usage, costUsd }: Spent): Cost {
  const tokens = usage.input + usage.output
  return {
    calls: Math.max(1, usage.calls),
    ...(tokens > 0 || costUsd === 0 ? { tokens } : {}),
    ...(costUsd === null ? {} : { usd: costUsd }),
  }
}

/** The tokens of a failed call are estimated, so zero really means zero. */
function costOfFailed({ usage, costUsd }: Spent): Cost {
  return { calls: 1, tokens: usage.input + usage.output, ...(costUsd === null ? {} : { usd: costUsd }) }
}

function addCosts(left: Cost, right: Cost | undefined): Cost {
  const sum = (key: keyof Cost): Cost => {
    const [one, other] = [left[key], right?.[key]]
    return one === undefined || other === undefined ? {} : { [key]: one + other }
  }
  return { ...sum('calls'), ...sum('tokens'), ...sum('usd') }
}
