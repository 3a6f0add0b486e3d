import type { RunActions } from './change-runs.ts'
import type { Conversations } from './conversations.ts'
import { get, post, type Route } from './route.ts'
import * as schemas from './schemas.ts'

export interface ConversationRoutesOptions {
  readonly conversations: Conversations
  readonly actions: RunActions
}

/** The routes for conversations. Each prompt of a conversation is a run. */
export function conversationRoutes({ conversations, actions }: ConversationRoutesOptions): readonly Route[] {
  const callOf = async (promptId: string, call: string | undefined): Promise<string> =>
    call ?? (await conversations.onlyCall(promptId))

  return [
    post(
      {
        path: '/prompt',
        summary: 'Sends a prompt to a conversation, or starts a new one',
        body: schemas.promptBody,
        gives: schemas.promptBegun,
      },
      ({ body }) => conversations.ask(body),
    ),
    post(
      {
        path: '/prompts/:id/approve',
        summary: 'Approves the call that a prompt waits for',
        body: schemas.approvePromptBody,
        gives: schemas.decided,
        status: 200,
      },
      async ({ params: { id = '' }, body: { call, ...body } }) => ({
        open: await actions.decide(id, await callOf(id, call), { kind: 'approve', ...body }),
      }),
    ),
    post(
      {
        path: '/prompts/:id/reject',
        summary: 'Rejects the call that a prompt waits for',
        body: schemas.rejectPromptBody,
        gives: schemas.decided,
        status: 200,
      },
      async ({ params: { id = '' }, body: { call, ...body } }) => ({
        open: await actions.decide(id, await callOf(id, call), { kind: 'reject', ...body }),
      }),
    ),
    get(
      {
        path: '/api/conversations',
        summary: 'The conversations of the workspace, newest first',
        query: schemas.noQuery,
        gives: schemas.conversationList,
      },
      async () => ({ conversations: await conversations.list() }),
    ),
    get(
      {
        path: '/api/conversations/:id',
        summary: 'One conversation with its answers',
        query: schemas.noQuery,
        gives: schemas.conversation,
      },
      ({ params: { id = '' } }) => conversations.read(id),
    ),
    post(
      {
        path: '/api/conversations/:id/close',
        summary: 'Ends the process of a conversation, with its MCP servers and background commands',
        body: schemas.noBody,
        gives: schemas.closed,
        status: 200,
      },
      async ({ params: { id = '' } }) => ({ closed: conversations.close(id) }),
    ),
  ]
}
