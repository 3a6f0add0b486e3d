import { modelText } from '../../base/model-text.ts'
import { defined, type Json, type JsonObject } from '../../base/json.ts'
import type { MemberEnd } from './member.ts'
import type { PreparedMember } from './members.ts'

/** A member for `post_task` agents and aggregators: an entry of `ai_response.members`. */
export interface MemberView extends JsonObject {
  readonly name: string
  /** `{file}-ensemble-{name}` (R267). */
  readonly id: string
  readonly status: 'answered' | 'failed' | 'timed_out' | 'stopped'
  /** Empty without an answer. */
  readonly content: string
  readonly error: { readonly code: string; readonly reason?: string; readonly message: string } | null
  /** The model that answered, for display; null if none did. */
  readonly model: string | null
  readonly usage: Json
  /** Null if the price is unknown, or it has not answered. */
  readonly cost_usd: number | null
  readonly seconds: number | null
}

/** All members, in the order in which they are listed. */
export function viewsOf(
  members: readonly PreparedMember[],
  ends: ReadonlyMap<string, MemberEnd>,
): readonly MemberView[] {
  return members.map(({ name, id }) => viewOf({ name, id }, ends.get(name) ?? { status: 'stopped' }))
}

function viewOf(who: Pick<PreparedMember, 'name' | 'id'>, end: MemberEnd): MemberView {
  const { status } = end
  const nothing = { content: '', error: null, model: null, usage: null, cost_usd: null, seconds: null }
  if (status === 'stopped') return { ...who, status, ...nothing }
  const { seconds } = end
  if (status !== 'answered') {
    const { code, reason, message } = end.error
    return { ...who, status, ...nothing, error: { code, ...defined({ reason }), message }, seconds }
  }
  const { content, value, response, spent } = end
  const model = response['model_name'] ?? null
  return {
    ...who,
    status,
    ...nothing,
    content,
    ...(value === undefined ? {} : { value }),
    model: typeof model === 'string' ? model : null,
    usage: response['usage'] ?? null,
    cost_usd: spent.costUsd,
    seconds,
  }
}

/** Why there is no answer, in a sentence. */
export function errorText({ error, status }: Pick<MemberView, 'error' | 'status'>): string {
  return (
    error?.message ??
    (status === 'stopped' ? modelText`another answer was accepted first` : modelText`it gave no answer`)
  )
}

/** Whether an expected answer is missing. No answer was expected of stopped members. */
export function isMissing({ status }: Pick<MemberView, 'status'>): boolean {
  return status === 'failed' || status === 'timed_out'
}
