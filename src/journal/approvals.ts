import { durationText, startLimit } from '../base/clock.ts'
import { BatonError, isSuspension } from '../base/error.ts'
import { canonicalJson, defined, type Json } from '../base/json.ts'
import { type ApprovalView, actionView } from '../event/action-view.ts'
import type { EventBody } from '../event/event.ts'
import {
  type Action,
  actionText,
  type Approver,
  type CallGrant,
  type Decision,
  type Grant,
  onlyCommand,
  type RangeGrant,
} from '../event/permission.ts'
import { openerOf, type Place, placeText } from '../event/place.ts'
import { askUntil } from './ask-until.ts'
import { grantIn, type PastApprovals } from './grants.ts'
import { needsApproval } from './needs-approval.ts'

export interface ApprovalOptions {
  /**
   * Who answers. `allow`: everything is allowed without asking. Omitted: nobody can be asked, so requests are refused,
   * and open questions stay open. `deny`: those are refused as well.
   */
  readonly approver?: Approver | 'allow' | 'deny' | undefined
  readonly before?: PastApprovals | undefined
  /** How long a question may stay open, in milliseconds; omitted: indefinitely. */
  readonly limitMs?: number | undefined
  /** Called with each question that is put to someone, and with each decision. */
  readonly events?: ((at: Place, event: EventBody) => void) | undefined
  /** Called with questions that cannot be answered now. */
  readonly onWaiting?: ((view: ApprovalView) => void) | undefined
}

interface Asked {
  readonly at: Place
  /** The place of the question, as text. */
  readonly place: string
  /** When an older process first asked the question. */
  readonly since: number | undefined
  /** The rule with a pattern that asks. */
  readonly rule?: string | undefined
}

/** A question in its recorded form, and the way to its answer. */
interface OpenQuestion {
  readonly times: { readonly asked: number; readonly until?: number }
  readonly answer: (signal: AbortSignal) => Promise<Decision>
}

/** The approval questions of one run. */
export interface Approvals {
  /** @throws BatonError NEEDS_INPUT if nobody can be asked and no earlier decision answers it */
  readonly open: (action: Action, asked: Asked) => OpenQuestion
  /** Call this when a question has been recorded: numbers follow the order of the record. */
  readonly number: (place: string) => string
  /** Call this with each decision. */
  readonly settle: (decision: Decision) => void
}

export function createApprovals({ approver, before, limitMs, events, onWaiting }: ApprovalOptions = {}): Approvals {
  const numbers = new Map(before?.places.map((place, index) => [place, index + 1]))
  const grants: Grant[] = [...(before?.grants ?? [])]
  /** The versions of grants that name none, because another process gave them: that of their first use here. */
  const firstUse = new Map<Grant, string>()

  function isGranted(action: Action, rule: string | undefined): boolean {
    return grants.some((grant) => {
      if ('range' in grant) return isInRange(grant, action, rule)
      if (!covers(grant, action)) return false
      const { version } = action
      const given = grant.version ?? firstUse.get(grant) ?? version
      if (given !== undefined) firstUse.set(grant, given)
      return given === version
    })
  }

  function number(place: string): string {
    const known = numbers.get(place) ?? numbers.size + 1
    numbers.set(place, known)
    return String(known)
  }

  return {
    number,
    settle: (decision) => void grants.push(...grantIn(decision)),
    open(action, { at, place, since, rule }) {
      const isUnanswerable = approver === 'deny' || (approver === undefined && since === undefined)
      if (isUnanswerable && !isGranted(action, rule)) throw needsApproval(action)
      const asked = since ?? Date.now()
      const until = limitMs === undefined ? undefined : asked + limitMs
      const limited = until === undefined ? {} : { until }
      return {
        times: { asked, ...limited },
        async answer(signal) {
          if (isGranted(action, rule) || approver === 'allow') return 'allow'
          const id = number(place)
          const view = viewOf(action, { id, place: placeText(at), asked, ...limited })
          events?.(openerOf(at), requested(view))
          const put = async (either: AbortSignal): Promise<Decision> => {
            if (typeof approver !== 'function') throw waitingForApproval(action)
            const isReopened = since !== undefined
            return approver(action, {
              id,
              at,
              isReopened,
              signal: either,
              isGranted: () => isGranted(action, rule),
              ...defined({ rule }),
              ...limited,
            })
          }
          try {
            const given = await (until === undefined ? put(signal) : beforeTime(put, signal, { asked, until }))
            const { remarksText, toRecord } = await import('../event/review.ts')
            const decision = toRecord(given, action)
            const reason = typeof decision === 'object' && 'hunks' in decision ? remarksText(decision, action) : ''
            events?.(openerOf(at), { type: 'approval.decided', id, ...decisionFields(decision, reason) })
            return decision
          } catch (error) {
            if (isSuspension(error)) onWaiting?.(view)
            throw error
          }
        },
      }
    },
  }
}

/** Withdraws a question that was not answered in time. */
async function beforeTime(
  put: (signal: AbortSignal) => Promise<Decision>,
  signal: AbortSignal,
  { asked, until }: { readonly asked: number; readonly until: number },
): Promise<Decision> {
  if (until <= Date.now()) return expired(asked, until)
  let close = (): void => {}
  const otherwise = new Promise<Decision>((resolve) => {
    close = startLimit(until - Date.now(), () => resolve(expired(asked, until)))
  })
  try {
    return await askUntil(put, { signal, otherwise })
  } finally {
    close()
  }
}

function requested(view: ApprovalView): EventBody {
  const { place: _, asked: __, ...question } = view
  return { type: 'approval.requested', ...question }
}

type Decided = Omit<Extract<EventBody, { readonly type: 'approval.decided' }>, 'type' | 'id'>

/** `reason`: of the remarks about hunks. */
function decisionFields(decision: Decision, reason: string): Decided {
  if (typeof decision === 'string') return { decision }
  if ('hunks' in decision) {
    const { hunks, edits = [] } = decision
    const told = reason === '' ? {} : { reason }
    if (hunks.length === 0) return { decision: 'deny', ...told }
    const edited = edits.length === 0 ? {} : { edited: edits.map(({ hunk }) => hunk) }
    return { decision: 'allow', hunks, ...edited, ...told }
  }
  if ('always' in decision) return { decision: 'always' }
  if ('remark' in decision) return { decision: 'deny', reason: decision.remark }
  return { decision: 'expired', reason: `nobody has answered for ${decision.expired}` }
}

/** A question for display and for programs. Times are in milliseconds since 1970. */
export function viewOf(
  action: Action,
  question: { readonly id: string; readonly place: string; readonly asked: number; readonly until?: number },
): ApprovalView {
  const { id, place, asked, until } = question
  const time = (ms: number): string => new Date(ms).toISOString()
  const limited = until === undefined ? {} : { until: time(until) }
  return { id, place, ...actionView(action), asked: time(asked), ...limited }
}

function expired(asked: number, until: number): Decision {
  return { expired: durationText(until - asked) }
}

/**
 * Whether a grant for the rest of the run covers a call, as far as its version goes. Grants of older versions name no
 * folder.
 */
function covers(
  { tool, subject, folder }: CallGrant,
  action: Action,
): action is Extract<Action, { readonly kind: 'tool' }> {
  if (action.kind !== 'tool' || action.tool !== tool) return false
  if (folder !== undefined && folder !== action.about?.folder) return false
  const text = (value: unknown): string => canonicalJson((value ?? null) as Json)
  return text(subject) === text(action.subject)
}

/** Whether a range covers a call, or a change of an answer, about which a rule with a pattern asks or none does. */
function isInRange(grant: RangeGrant, action: Action, rule: string | undefined): boolean {
  if (rule !== undefined && rule !== grant.rule) return false
  switch (grant.range) {
    case 'commands': {
      const { tool, words, folder } = grant
      if (action.kind !== 'tool' || action.tool !== tool || action.about?.folder !== folder) return false
      const command = onlyCommand(action.subject)
      return command !== undefined && `${command} `.startsWith(`${words} `)
    }
    case 'file':
      return changedPath(action, grant.tools) === grant.path
    case 'edits':
      return changedPath(action, grant.tools) !== undefined
  }
}

/** The path (absolute, links resolved) of the file that would be changed; undefined for everything else. */
function changedPath(action: Action, tools: readonly string[]): string | undefined {
  if (action.kind === 'write') return action.path
  if (action.kind !== 'tool' || !tools.includes(action.tool)) return undefined
  return action.subject?.kind === 'path' ? action.subject.path : undefined
}

/** The error for a question that is answered later. */
export function waitingForApproval(action: Action): BatonError {
  return new BatonError('WAITING_FOR_APPROVAL', `${actionText(action)} needs approval`, {
    hint: 'Answer with baton approve or baton reject.',
  })
}
