import { BatonError } from '../base/error.ts'
import { defined, isObject } from '../base/json.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import { type ActionView, actionView } from '../event/action-view.ts'
import {
  type Action,
  type Approver,
  type Decision,
  grantFor,
  type HunkEdit,
  type HunkRemark,
  type PartialDecision,
} from '../event/permission.ts'
import { numbersToDecide, partDecision } from '../event/review.ts'
import { openerOf, placeText } from '../event/place.ts'
import { findRun } from '../journal/find-run.ts'
import { runsFolder } from '../journal/run-id.ts'
import type { Decided, Verdict } from '../wiring/decide.ts'
import type { PlaceOptions } from './options.ts'

/** A question to a program: a tool call, or a file change of an answer (`tool`: `write` or `delete`). */
export interface ApprovalRequest extends ActionView {
  /** Its number in the run. */
  readonly id: string
  /** The place of the agent that asks, as in its events. */
  readonly agent: string
  /** ISO 8601, UTC: the deadline for an answer. */
  readonly until?: string
  /** Aborted if the question is withdrawn. */
  readonly signal: AbortSignal
}

/**
 * `always`: this call, and calls of the same tool about the same target until the end of the run. `suspend`: answer
 * later. `deny` with a text: the model gets the reason. `hunks`: of a change, only these hunks of its diff are made,
 * counted from 1; `remarks` say why others are not; `edits` hold what is written for some of them instead.
 */
export type ApprovalAnswer = 'allow' | 'always' | 'deny' | 'suspend' | { readonly deny: string } | PartialDecision

/** Answers what needs an approval. */
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>

/** A program that answers instead of the user. */
export function approverOf(approve: Approve): Approver {
  return async (action, { id, at, until, signal }) => {
    const limit = until === undefined ? undefined : new Date(until).toISOString()
    const agent = placeText(openerOf(at))
    const answer: unknown = await approve({ ...actionView(action), id, agent, signal, ...defined({ until: limit }) })
    if (answer === 'suspend') throw (await import('../journal/approvals.ts')).waitingForApproval(action)
    if (answer === 'always') return action.kind === 'tool' ? { always: grantFor(action) } : 'allow'
    return plainAnswer(answer, action)
  }
}

function plainAnswer(answer: unknown, action: Action): Decision {
  if (answer === 'allow' || answer === 'deny') return answer
  if (isObject(answer) && typeof answer['deny'] === 'string') return { remark: answer['deny'] }
  if (isPartial(answer)) {
    return partDecision({ kind: 'approve', ...answer }, numbersToDecide(action, answer))
  }
  throw new BatonError(
    'USAGE',
    'the option "approve" must return "allow", "always", "deny", "suspend", { deny } or { hunks }',
    {
      hint: 'docs/library.md describes them.',
    },
  )
}

function isPartial(answer: unknown): answer is PartialDecision {
  if (!isObject(answer)) return false
  const { hunks, remarks = [], edits = [] } = answer
  const isNumber = (value: unknown): boolean => Number.isInteger(value)
  const isRemark = (value: unknown): boolean =>
    isObject(value) && typeof value['text'] === 'string' && (value['hunk'] === undefined || isNumber(value['hunk']))
  const isEdit = (value: unknown): boolean =>
    isObject(value) && typeof value['text'] === 'string' && isNumber(value['hunk'])
  return isListOf(hunks, isNumber) && isListOf(remarks, isRemark) && isListOf(edits, isEdit)
}

function isListOf(value: unknown, holds: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(holds)
}

/** Selects the calls of a recorded run to answer. */
export interface AnswerOptions extends PlaceOptions {
  /** The number of a call, or its place; `all` for all pending ones. Default: the only one. */
  readonly call?: string
  /** Settings as `-c` takes them, if they define where runs are stored. */
  readonly overrides?: readonly string[]
}

export interface ApproveOptions extends AnswerOptions {
  /** Also approves further calls of the same tool about the same target, until the end of the run. */
  readonly always?: boolean
  /** Of a change: only these hunks are approved, counted from 1. */
  readonly hunks?: readonly number[]
  /** Why other hunks are rejected. */
  readonly remarks?: readonly HunkRemark[]
  /** What is written for some of the approved hunks instead of their lines. */
  readonly edits?: readonly HunkEdit[]
  /** The same for all other hunks. */
  readonly reason?: string
}

export interface RejectOptions extends AnswerOptions {
  /** The reason that the model gets. */
  readonly reason?: string
  /** Of a change: only these hunks are rejected, counted from 1. */
  readonly hunks?: readonly number[]
}

/** Records decisions about pending calls of a recorded run. */
export async function answerCalls(
  run: string,
  verdict: Verdict,
  { call, overrides = [], ...place }: AnswerOptions & Required<PlaceOptions>,
): Promise<Decided> {
  const { env, home, cwd } = place
  const { workspace, settings } = await loadTargetConfig({ env, home, cwd, flags: { overrides } })
  const folder = findRun(runsFolder({ env, home, workspace, runsDir: settings.runs.dir }), run)
  const { decide } = await import('../wiring/decide.ts')
  return decide({ folder, env, home, verdict, call: call === 'all' ? { kind: 'all' } : call })
}
