import type { JsonObject } from '../base/json.ts'
import type { Message } from '../event/message.ts'
import type { ModelRequest } from './provider.ts'

/** Host of OpenAI's own API: the one that wants `max_completion_tokens` in place of `max_tokens`. */
const officialHost = 'api.openai.com'

/** The body of a streaming chat completion (R281, R282). Settings that are not given are left to the server. */
export function chatBody(request: ModelRequest, { host }: { readonly host: string }): JsonObject {
  const { model, messages, max_tokens: limit, temperature, top_p, reasoning_effort, seed } = request
  return {
    model,
    messages: messages.map(chatMessage),
    stream: true,
    stream_options: { include_usage: true },
    ...(limit === undefined ? {} : { [host === officialHost ? 'max_completion_tokens' : 'max_tokens']: limit }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(reasoning_effort === undefined ? {} : { reasoning_effort }),
    ...(seed === undefined ? {} : { seed }),
  }
}

/** Text alone stays a string, which every server takes; an attachment makes it a list of parts. */
function chatMessage({ role, content, attachment }: Message): JsonObject {
  if (attachment === undefined) return { role, content }
  const { name, mediaType, data } = attachment
  const url = `data:${mediaType};base64,${data}`
  const part = mediaType.startsWith('image/')
    ? { type: 'image_url', image_url: { url } }
    : { type: 'file', file: { filename: name, file_data: url } }
  return { role, content: [{ type: 'text', text: content }, part] }
}
