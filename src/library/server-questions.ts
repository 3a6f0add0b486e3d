import { BatonError } from '../base/error.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import type { AskPerson, McpAnswer } from '../event/mcp.ts'
import { openerOf, placeText } from '../event/place.ts'

/** A question of an MCP server during a call. Everything except `server` and `agent` is the server's text. */
export type ServerQuestion = {
  readonly server: string
  /** The place of the calling agent, as in its events. */
  readonly agent: string
  readonly message: string
  /** Aborted if the question is withdrawn. */
  readonly signal: AbortSignal
} & (
  | { readonly kind: 'form'; /** A flat JSON Schema of type object. */ readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly url: string }
)

/** `accept`: with the values of a form; for a URL, it was opened. */
export type ServerAnswer = 'decline' | 'cancel' | { readonly accept: JsonObject }

/** Answers questions of servers. */
export type AnswerServer = (question: ServerQuestion) => ServerAnswer | Promise<ServerAnswer>

/** A program that answers instead of the user. */
export function personOf(answer: AnswerServer): AskPerson {
  return async ({ server, question, at }, signal) => {
    const given = plainAnswer(await answer({ ...question, server, agent: placeText(openerOf(at)), signal }))
    return question.kind === 'url' ? { action: given.action } : given
  }
}

function plainAnswer(answer: unknown): McpAnswer {
  if (answer === 'decline' || answer === 'cancel') return { action: answer }
  if (isObject(answer) && isObject(answer['accept'])) {
    return { action: 'accept', content: answer['accept'] as JsonObject }
  }
  throw new BatonError('USAGE', 'the option "answer" must return { accept }, "decline" or "cancel"', {
    hint: 'docs/library.md describes them.',
  })
}
