import { type AgentStatus, leaderId } from '../../event/collab.ts'
import { type ContextWith, emit, type Events, withScope } from '../../event/context.ts'
import type { EventBody } from '../../event/event.ts'
import { openerOf, placeText } from '../../event/place.ts'
import type { Stall } from './stalls.ts'
import type { ToolCall } from '../../tool/toolbox/kind.ts'

/**
 * The events of a model's call of an operation of its team, whichever tools it has for that. Each
 * function sends the begin, and returns the one that sends the end of the same call.
 */
export interface OperationEvents {
  readonly spawn: (asked: {
    readonly prompt: string
    readonly role: string
  }) => (end: { readonly id: string } | { readonly refused: string }) => void
  readonly send: (asked: {
    readonly id: string
    readonly prompt: string
    readonly interrupt: boolean
  }) => (end: { readonly status: AgentStatus; readonly submission_id?: string; readonly refused?: string }) => void
  readonly wait: (asked: {
    readonly ids: readonly string[]
    readonly returnWhen: 'all' | 'any'
    readonly seconds: number
  }) => (end: {
    readonly statuses: { readonly [id: string]: AgentStatus }
    readonly timed_out: boolean
    readonly stalled?: string
  }) => void
  readonly close: (asked: { readonly id: string; readonly status: AgentStatus }) => (status: AgentStatus) => void
}

/** `sender`: the id of the member whose model makes the call. */
export function operationEvents(
  { context, at }: Pick<ToolCall, 'context' | 'at'>,
  sender: string = leaderId,
): OperationEvents {
  const opener = withScope(context, { at: openerOf(at) })
  const call = { call_id: context.services.callId ?? placeText(at), sender_id: sender }
  const tell = (event: EventBody): void => emit(opener, event)
  return {
    spawn({ prompt, role }) {
      tell({ type: 'collab.spawn_begin', ...call, prompt, role })
      return (end) =>
        tell(
          'id' in end
            ? { type: 'collab.spawn_end', ...call, thread_id: end.id, status: 'pending_init' }
            : { type: 'collab.spawn_end', ...call, thread_id: null, status: 'not_found', refused: end.refused },
        )
    },
    send({ id, prompt, interrupt }) {
      tell({ type: 'collab.interaction_begin', ...call, thread_id: id, prompt, interrupt })
      return (end) => tell({ type: 'collab.interaction_end', ...call, thread_id: id, ...end })
    },
    wait({ ids, returnWhen, seconds }) {
      const asked = { thread_ids: [...ids], return_when: returnWhen, timeout_seconds: seconds }
      tell({ type: 'collab.waiting_begin', ...call, ...asked })
      return (end) => tell({ type: 'collab.waiting_end', ...call, ...end })
    },
    close({ id, status }) {
      tell({ type: 'collab.close_begin', ...call, thread_id: id, status })
      return (before) => tell({ type: 'collab.close_end', ...call, thread_id: id, status: before })
    },
  }
}

type Sender = ContextWith<'at', Events>

/** A member as events name it. */
interface NamedMember {
  readonly id: string
  readonly name: string
  readonly role: string
}

export function emitStatus({ id, name, role }: NamedMember, status: AgentStatus, context: Sender): void {
  emit(context, { type: 'collab.status', thread_id: id, name, role, status })
}

/** Reports that a team cannot make progress without help. */
export function announceStall({ kind, agents, message }: Stall, context: Sender): void {
  emit(context, { type: 'collab.stalled', kind, agents: [...agents], message })
  emit(context, { type: 'warning', message: `the team is stalled: ${message}` })
}
