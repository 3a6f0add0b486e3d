import type { JsonObject } from '../base/json.ts'
import type { ModelRequest } from './provider.ts'

/** Host of OpenAI's own API: the one that wants `max_completion_tokens` in place of `max_tokens`. */
const officialHost = 'api.openai.com'

/** The body of a streaming chat completion (R281, R282). Settings that are not given are left to the server. */
export function chatBody(request: ModelRequest, { host }: { readonly host: string }): JsonObject {
  const { model, messages, max_tokens: limit, temperature, top_p, reasoning_effort, seed } = request
  return {
    model,
    messages: messages.map(({ role, content }) => ({ role, content })),
    stream: true,
    stream_options: { include_usage: true },
    ...(limit === undefined ? {} : { [host === officialHost ? 'max_completion_tokens' : 'max_tokens']: limit }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(reasoning_effort === undefined ? {} : { reasoning_effort }),
    ...(seed === undefined ? {} : { seed }),
  }
}
