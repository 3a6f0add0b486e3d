import { chatBody } from './chat-request.ts'
import { chatStart, endOfChat, readChatBody, readChatEvent, type ChatState } from './chat-stream.ts'
import type { WireFormat } from './format.ts'

/** Chat completions of OpenAI and of the many servers that are compatible with it (R276, R281, R282). */
export const chatFormat: WireFormat<ChatState> = {
  name: 'chat',
  path: () => '/chat/completions',
  keyHeaders: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  headers: {},
  body: chatBody,
  start: chatStart,
  read: readChatEvent,
  readBody: readChatBody,
  end: endOfChat,
}
