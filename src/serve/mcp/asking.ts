import { cutText } from '../../base/cut-text.ts'
import { isObject, type JsonObject } from '../../base/json.ts'
import type { ApprovalView } from '../../event/asked-action.ts'
import type { ServerAnswer } from '../../library/server-questions.ts'
import type { Decision, Given } from './call.ts'
import type { CallEnd } from './call-end.ts'
import type { Calling, HeldQuestion } from './held-runs.ts'

type AskingEnd = Exclude<CallEnd, { readonly kind: 'ended' }>

/** What a client gives back with the answers of a person. It is signed, so that it names no other run, and is of one offer. */
export type WaitingRun = {
  readonly offer: string
  readonly kind: AskingEnd['kind']
  readonly runId: string
  readonly ids: readonly string[]
}

export function stateOf({ kind, runId, questions }: AskingEnd, offer: string): WaitingRun {
  return { offer, kind, runId, ids: questions.map(({ id }) => id) }
}

/** By the capability `elicitation` of a client; one that names no kind can show forms. */
export function clientShows(elicitation: unknown): Calling['shows'] {
  if (!isObject(elicitation)) return { form: false, url: false }
  const url = elicitation['url'] !== undefined
  return { form: elicitation['form'] !== undefined || !url, url }
}

const decisionSchema: JsonObject = {
  type: 'object',
  properties: {
    decision: { type: 'string', title: 'Decision', enum: ['allow', 'deny'] },
    reason: { type: 'string', title: 'Reason', description: 'Told to the model when the call is denied.' },
  },
  required: ['decision'],
}

/** Characters of an input, of a difference, or of what a server says, that are shown. */
const shownText = 4000

/** A question as the client shows it. */
export type ShownQuestion =
  | { readonly kind: 'form'; readonly message: string; /** Flat, of type object. */ readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string }

/** What the person of a client is asked, by the id of the question. */
export function shownQuestions(end: AskingEnd): readonly (readonly [id: string, ShownQuestion])[] {
  return end.kind === 'approvals'
    ? end.questions.map((question) => [question.id, shownApproval(question)])
    : end.questions.map((question) => [question.id, shownServerQuestion(question)])
}

function shownApproval({ tool, input, diff }: ApprovalView): ShownQuestion {
  const shown = cutText(diff ?? JSON.stringify(input, undefined, 2), shownText)
  return { kind: 'form', message: `Allow ${tool}?\n\n${shown}`, schema: decisionSchema }
}

/** The person is told whose words they read: they trust the client, and maybe Baton, but need not know the server. */
function shownServerQuestion({ question }: HeldQuestion): ShownQuestion {
  const message = `The MCP server ${question.server} asks:\n\n${cutText(question.message, shownText)}`
  return question.kind === 'url'
    ? { kind: 'url', message, url: question.url }
    : { kind: 'form', message, schema: question.schema }
}

/** What a client says to a question; undefined: nothing that is an answer to one. */
export type ClientResponse =
  | { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: { readonly [name: string]: unknown } }
  | undefined

/** What a client has brought for a run that waits. */
export function givenIn({ kind, runId, ids }: WaitingRun, responseTo: (id: string) => ClientResponse): Given {
  if (kind === 'approvals') return { kind, runId, decisions: ids.map((id) => decisionOf(id, responseTo(id))) }
  return { kind, runId, answers: new Map(ids.map((id) => [id, answerOf(responseTo(id))])) }
}

/** What is not an answer is a refusal. */
function decisionOf(id: string, response: ClientResponse): Decision {
  if (response?.action !== 'accept') return { id, decision: 'deny' }
  const { decision, reason } = response.content ?? {}
  if (decision === 'allow') return { id, decision }
  return { id, decision: 'deny', ...(typeof reason === 'string' && reason !== '' ? { reason } : {}) }
}

/** What is missing is asked for again. */
function answerOf(response: ClientResponse): ServerAnswer | undefined {
  if (response?.action !== 'accept') return response?.action
  return { accept: (response.content ?? {}) as JsonObject }
}
