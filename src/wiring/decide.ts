import { basename } from 'node:path'
import { readlinkSync } from 'node:fs'
import { BatonError, exitCodes } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { ApprovalView } from '../event/action-view.ts'
import { withoutDetails, type Decision, grantFor, type HunkEdit, type HunkRemark } from '../event/permission.ts'
import { hunkNumbers, numbersToDecide, partDecision, toRecord } from '../event/review.ts'
import { readRunState } from '../journal/run-state.ts'
import type { RunJournal } from '../journal/journal.ts'
import { decidedApproval, findApproval, type OpenApproval, openApprovals } from '../journal/open-approvals.ts'
import { refuseForeign } from '../journal/own-run.ts'
import { openError } from '../journal/recorded-error.ts'
import { indexRun, type RunIndex } from '../journal/run-index.ts'
import { createMask, noMask } from '../journal/secrets.ts'
import { withdrawEpoch } from '../journal/segment.ts'
import { openSigningKey } from '../journal/signing.ts'
import { openFileRecords } from '../journal/source.ts'
import { openRun } from '../journal/store.ts'
import { refuseUndone } from './resume.ts'
import { type Owner, processOwners } from '../journal/owner.ts'

/**
 * What the user decides about a call that a run waits for. `reason` and `remarks`: sent to the model. `hunks`: of a
 * change, only these are approved, or only these are rejected. `edits`: what is written for some of them instead.
 */
export type Verdict =
  | {
      readonly kind: 'approve'
      readonly always?: boolean | undefined
      readonly hunks?: readonly number[] | undefined
      readonly remarks?: readonly HunkRemark[] | undefined
      readonly edits?: readonly HunkEdit[] | undefined
      readonly reason?: string | undefined
    }
  | { readonly kind: 'reject'; readonly reason?: string | undefined; readonly hunks?: readonly number[] | undefined }

export interface DecideOptions {
  /** The folder of the run; see `findRun`. */
  readonly folder: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** The number of a call, or its place; `all`: all pending calls. Omitted: the only pending call. */
  readonly call?: string | { readonly kind: 'all' } | undefined
  readonly verdict: Verdict
}

/** What was decided, and what the run still waits for. */
export interface Decided {
  readonly decided: readonly ApprovalView[]
  readonly open: readonly ApprovalView[]
}

/**
 * Records the user's decision about calls that a run waits for, as a separate journal writer. It is durable when this
 * resolves, and a resume takes it as the answer to exactly these calls.
 * @throws BatonError USAGE if the run is running, has no such call, or the call is already decided; UNTRUSTED for
 * another user's run
 */
export async function decide({ folder, env, home, call, verdict }: DecideOptions): Promise<Decided> {
  const key = openSigningKey({ env, home })
  await refuseForeign(folder, key, 'changed')
  refuseUndone(folder)
  await refuseRunning(folder)
  // recorded values are copied verbatim, with secrets by name
  const journal = await openRun({ folder, now: () => new Date(), mask: noMask, key })
  const source = openFileRecords(folder, { mask: noMask, before: journal.epoch, key })
  let isRefused = true
  try {
    const index = await indexRun(source, { keeps: 'everything', repair: 'skip' })
    const open = openApprovals(index)
    const chosen = chosenCalls(call, { open, index, folder })
    if (verdict.kind === 'approve') for (const one of chosen) refuseExpired(one, folder)
    const { mask } = createMask(env, { names: Object.keys(env) })
    const decisions = chosen.map((one) => decisionOf(verdict, one, mask))
    isRefused = false
    for (const [index, one] of chosen.entries()) await record(one, decisions[index] ?? 'deny', journal)
    const left = open.filter((one) => !chosen.includes(one))
    copyEnd(index, journal, left.length > 0)
    await journal.flush()
    return { decided: chosen.map(({ view }) => view), open: left.map(({ view }) => view) }
  } finally {
    source.close()
    await journal.close()
    if (isRefused) withdrawEpoch(folder, journal.epoch)
  }
}

async function refuseRunning(folder: string): Promise<void> {
  const seen = await readRunState(folder)
  if (seen?.isRunning !== true) return
  const { owner } = seen
  const terminal = owner && terminalOf(owner)
  const who = owner === undefined ? '' : `: process ${owner.pid}`
  throw new BatonError('USAGE', `run ${basename(folder)} is running${who}`, {
    hint:
      terminal === undefined
        ? 'Answer where it runs, or stop it first: nothing it has paid for is lost.'
        : `Answer at the terminal it runs in, ${terminal}.`,
  })
}

interface Choosing {
  readonly open: readonly OpenApproval[]
  readonly index: RunIndex
  readonly folder: string
}

/** @throws BatonError USAGE */
function chosenCalls(call: DecideOptions['call'], { open, index, folder }: Choosing): readonly OpenApproval[] {
  const run = basename(folder)
  const listed = open.map(({ view: { id, tool, place } }) => `  ${id}  ${tool}  ${place}`).join('\n')
  if (typeof call === 'string') {
    const found = findApproval(open, call)
    if (found !== undefined) return [found]
    const decision = decidedApproval(index, call)
    if (decision !== undefined) {
      throw new BatonError('USAGE', `call ${call} of run ${run} is already decided: ${decisionText(decision)}`, {
        hint: `If the run has not ended, baton resume ${run} continues it.`,
      })
    }
    throw new BatonError('USAGE', `run ${run} is not waiting for approval of call ${call}`, {
      hint: listed === '' ? 'It has no pending calls.' : `Pending calls:\n${listed}`,
    })
  }
  if (open.length === 0) {
    throw new BatonError('USAGE', `run ${run} is not waiting for approval`, {
      hint: 'baton runs --waiting lists the runs that are.',
    })
  }
  if (call === undefined && open.length > 1) {
    throw new BatonError('USAGE', `run ${run} has ${open.length} pending calls`, {
      hint: `Name one of them, or use --all:\n${listed}`,
    })
  }
  return open
}

function decisionText(decision: Decision): string {
  if (typeof decision === 'string') return decision === 'allow' ? 'approved' : 'rejected'
  if ('always' in decision || ('hunks' in decision && decision.hunks.length > 0)) return 'approved'
  return 'expired' in decision ? 'nobody answered in time' : 'rejected'
}

/** An answer after the deadline does not count, whoever gives it. */
function refuseExpired({ view: { id, until } }: OpenApproval, folder: string): void {
  if (until === undefined || Date.parse(until) > Date.now()) return
  throw new BatonError('USAGE', `call ${id} could only be approved until ${until}`, {
    hint: `To be asked again, resume with a longer time: baton resume ${basename(folder)} -c timeouts.approval=...`,
  })
}

/**
 * The decision of a verdict, with secrets by name.
 * @throws BatonError USAGE for hunks that the change does not have
 */
function decisionOf(verdict: Verdict, { action }: OpenApproval, mask: (text: string) => string): Decision {
  const { hunks, reason: given = '' } = verdict
  const reason = mask(given.trim())
  if (hunks !== undefined) {
    if (verdict.kind === 'reject') {
      return toRecord(partDecision({ kind: 'reject', hunks, reason }, hunkNumbers(action)), action)
    }
    const remarks = verdict.remarks?.map(({ text, ...one }) => ({ ...one, text: mask(text) }))
    const edits = verdict.edits?.map(({ text, ...one }) => ({ ...one, text: mask(text) }))
    return toRecord(
      partDecision({ kind: 'approve', hunks, reason, remarks, edits }, numbersToDecide(action, verdict)),
      action,
    )
  }
  if (verdict.kind === 'reject') return reason === '' ? 'deny' : toRecord({ remark: reason }, action)
  // file changes are always approved one by one
  return verdict.always === true && action.kind === 'tool' ? { always: grantFor(action) } : 'allow'
}

/** Records the original question, with the fingerprint of its call, and the answer. */
async function record({ started, action }: OpenApproval, value: Decision, journal: RunJournal): Promise<void> {
  const { p, kind, repeat, fp, asked = started.t, until } = started
  const told = defined({ asked, until, about: action.about && { ...action.about } })
  const s = journal.note({ k: 'started', p, kind, repeat, fp, request: withoutDetails(action), ...told })
  await journal.append({ k: 'ended', p, s, kind, status: 'ok', value })
}

/** Leaves the run in the state it was in, with no process working on it; an interrupted run waits. */
function copyEnd({ records, source }: RunIndex, journal: RunJournal, stillWaits: boolean): void {
  const last = records('run.end').at(-1)
  const interrupted = { exit: exitCodes.SUSPENDED, stop: 'waiting_for_approval', facts: undefined, error: undefined }
  const { exit, stop, facts, error } = last?.e === journal.epoch - 1 ? last : interrupted
  const isWaiting = stop === 'waiting_for_approval'
  journal.note({
    k: 'run.end',
    exit,
    stop: isWaiting && !stillWaits ? 'suspended' : stop,
    ...(facts === undefined ? {} : { facts: source.value(facts) }),
    ...(error === undefined ? {} : { error: openError(source, error) }),
  })
}

/** The terminal that a process reads from; undefined if it does not read from one, or that cannot be seen from here. */
function terminalOf(owner: Owner): string | undefined {
  if (!processOwners.isVisible(owner)) return undefined
  try {
    const input = readlinkSync(`/proc/${owner.pid}/fd/0`)
    return /^\/dev\/(?:pts\/\d+|tty\w*|console)$/.test(input) ? input : undefined
  } catch {
    return undefined
  }
}
