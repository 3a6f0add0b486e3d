import { cutText } from '../../base/cut-text.ts'
import { isObject, type JsonObject } from '../../base/json.ts'
import type { ApprovalView } from '../../event/asked-action.ts'
import type { ServerAnswer } from '../../library/server-questions.ts'
import type { Decision, Given } from './call.ts'
import type { CallEnd } from './call-end.ts'
import type { Calling, HeldQuestion } from './held-runs.ts'

type AskingEnd = Exclude<CallEnd, { readonly kind: 'ended' }>

/**
 * State that a client returns with the user's answers. It is signed, so it cannot name another run, and bound to one
 * offer.
 */
export type WaitingRun = {
  readonly offer: string
  readonly kind: AskingEnd['kind']
  readonly runId: string
  readonly ids: readonly string[]
}

export function stateOf({ kind, runId, questions }: AskingEnd, offer: string): WaitingRun {
  return { offer, kind, runId, ids: questions.map(({ id }) => id) }
}

/** What a client can show, by its capability `elicitation`. Without any kind, it can show forms. */
export function clientShows(elicitation: unknown): Calling['shows'] {
  if (!isObject(elicitation)) return { form: false, url: false }
  const url = elicitation['url'] !== undefined
  return { form: elicitation['form'] !== undefined || !url, url }
}

const decisionSchema: JsonObject = {
  type: 'object',
  properties: {
    decision: { type: 'string', title: 'Decision', enum: ['allow', 'deny'] },
    reason: { type: 'string', title: 'Reason', description: 'Passed on to the model if the call is denied.' },
  },
  required: ['decision'],
}

/** Maximum characters shown of an input, a diff, or a message of a server. */
const shownText = 4000

/** A question as the client shows it. */
export type ShownQuestion =
  | { readonly kind: 'form'; readonly message: string; /** Flat, of type object. */ readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string }

/** The questions for the user of a client, by id. */
export function shownQuestions(end: AskingEnd): readonly (readonly [id: string, ShownQuestion])[] {
  return end.kind === 'approvals'
    ? end.questions.map((question) => [question.id, shownApproval(question)])
    : end.questions.map((question) => [question.id, shownServerQuestion(question)])
}

function shownApproval({ tool, input, diff }: ApprovalView): ShownQuestion {
  const shown = cutText(diff ?? JSON.stringify(input, undefined, 2), shownText)
  return { kind: 'form', message: `Allow ${tool}?\n\n${shown}`, schema: decisionSchema }
}

/** Names the server that asks: users trust the client, and maybe Baton, but may not know the server. */
function shownServerQuestion({ question }: HeldQuestion): ShownQuestion {
  const message = `The MCP server ${question.server} asks:\n\n${cutText(question.message, shownText)}`
  return question.kind === 'url'
    ? { kind: 'url', message, url: question.url }
    : { kind: 'form', message, schema: question.schema }
}

/** A client's response to a question; undefined: none, or not a valid one. */
export type ClientResponse =
  | { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: { readonly [name: string]: unknown } }
  | undefined

/** The responses of a client for a waiting run. */
export function givenIn({ kind, runId, ids }: WaitingRun, responseTo: (id: string) => ClientResponse): Given {
  if (kind === 'approvals') return { kind, runId, decisions: ids.map((id) => decisionOf(id, responseTo(id))) }
  return { kind, runId, answers: new Map(ids.map((id) => [id, answerOf(responseTo(id))])) }
}

/** Anything that is not an answer denies the call. */
function decisionOf(id: string, response: ClientResponse): Decision {
  if (response?.action !== 'accept') return { id, decision: 'deny' }
  const { decision, reason } = response.content ?? {}
  if (decision === 'allow') return { id, decision }
  return { id, decision: 'deny', ...(typeof reason === 'string' && reason !== '' ? { reason } : {}) }
}

/** A missing answer is undefined, and the question is asked again. */
function answerOf(response: ClientResponse): ServerAnswer | undefined {
  if (response?.action !== 'accept') return response?.action
  return { accept: (response.content ?? {}) as JsonObject }
}
