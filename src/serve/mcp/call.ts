import { isBatonError } from '../../base/error.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { answerCalls } from '../../library/approvals.ts'
import type { PlaceOptions, RunOptions } from '../../library/options.ts'
import { beginResume, beginRun } from '../../library/runs.ts'
import type { ServerAnswer } from '../../library/server-questions.ts'
import { type CallEnd, callEnd, fullErrorText } from './call-end.ts'
import {
  type Begin,
  type Calling,
  createPendingCalls,
  type Followed,
  type PendingCallsOptions,
} from './pending-calls.ts'
import type { Offer } from './offer.ts'

/** The user's decision about a call that needs approval. */
export interface Decision {
  /** The number of the call. */
  readonly id: string
  readonly decision: 'allow' | 'deny'
  /** Passed on to the model. */
  readonly reason?: string
  /** With `allow`: only these hunks of a change. */
  readonly hunks?: readonly number[]
}

/** What a client provides for a waiting run. */
export type ClientReply =
  | { readonly kind: 'approvals'; readonly runId: string; readonly decisions: readonly Decision[] }
  /** Answers by question id; undefined: no answer. */
  | {
      readonly kind: 'questions'
      readonly runId: string
      readonly answers: ReadonlyMap<string, ServerAnswer | undefined>
    }

/** What all calls of a server share: their place, and settings that override files. */
export interface Serving extends Required<PlaceOptions>, Partial<PendingCallsOptions> {
  readonly shared: Pick<RunOptions, 'model' | 'overrides' | 'timeout'>
}

/** Calls of offers. Each call is a run. */
export interface Calls {
  /** Runs an offer with a client's arguments, which have been validated against its schema. */
  start(offer: Offer, input: JsonObject, calling: Calling): Promise<CallEnd>
  /** Passes answers to a waiting run and continues to follow it. */
  answer(offer: Offer, given: ClientReply, calling: Calling): Promise<CallEnd>
  /** Stops the runs that wait for answers to servers. Never rejects. */
  close(): Promise<void>
}

export function createCalls({ shared, log = () => {}, answerMs, ...place }: Serving): Calls {
  const held = createPendingCalls({ log, ...defined({ answerMs }) })
  const { timeout, overrides } = shared

  async function follow(begin: Begin, offer: Offer, calling: Calling): Promise<CallEnd> {
    return endOf(await held.follow(begin, offer.name, calling), offer, calling)
  }

  async function decided(runId: string, decisions: readonly Decision[]): Promise<void> {
    for (const { id, decision, reason, hunks } of decisions) {
      // a reason for hunks that are left out, if there are any
      const part = hunks === undefined ? {} : { hunks, reason }
      const verdict =
        decision === 'allow' ? ({ kind: 'approve', ...part } as const) : ({ kind: 'reject', reason } as const)
      await answerCalls(runId, verdict, { ...place, ...defined({ overrides }), call: id })
    }
  }

  async function continued(offer: Offer, given: ClientReply, calling: Calling): Promise<CallEnd> {
    const { runId } = given
    if (given.kind === 'questions') return endOf(await held.answer(runId, given.answers, calling), offer, calling)
    await decided(runId, given.decisions)
    const options = { ...defined({ timeout, overrides }), ...approving(calling) }
    return follow((more) => beginResume(runId, { ...options, ...more }, place), offer, calling)
  }

  return {
    start(offer, input, calling) {
      const options = { ...shared, ...givenTo(offer, input), ...approving(calling) }
      return explained(follow((more) => beginRun(offer.file, { ...options, ...more }, place), offer, calling))
    },
    answer: (offer, given, calling) => explained(continued(offer, given, calling)),
    close: () => held.close(),
  }
}

function endOf(followed: Followed, offer: Offer, { shows }: Calling): CallEnd {
  if (followed.kind === 'asks') return { ...followed, kind: 'questions' }
  return callEnd(followed, offer, shows.form)
}

/** Approval requests are left pending: the client is asked once the rest of the run cannot proceed without them. */
function approving({ shows }: Calling): Pick<RunOptions, 'approve'> {
  return shows.form ? { approve: () => 'suspend' } : {}
}

function givenTo({ target }: Offer, input: JsonObject): Pick<RunOptions, 'vars' | 'stdin' | 'inputs'> {
  if (target.kind === 'agent') return input['input'] === undefined ? {} : { inputs: [input['input']] }
  const { [target.context]: context, [target.input ?? '']: message, ...vars } = input
  return {
    vars,
    ...(typeof message === 'string' && message !== '' ? { inputs: [message] } : {}),
    ...(typeof context === 'string' && context !== '' ? { stdin: context } : {}),
  }
}

/** A client sees only the message of an error, so place and hint are added to it. */
async function explained(end: Promise<CallEnd>): Promise<CallEnd> {
  try {
    return await end
  } catch (error) {
    throw isBatonError(error) ? new Error(fullErrorText(error), { cause: error }) : error
  }
}
