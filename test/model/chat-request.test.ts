import { expect, it } from 'vitest'
import { chatBody } from '../../src/model/chat-request.ts'

it.each([
  ['api.openai.com', { max_completion_tokens: 9 }],
  ['api.openai.com.example', { max_tokens: 9 }],
  ['127.0.0.1:8080', { max_tokens: 9 }],
])('names the output limit as %s wants it', (host, expected) => {
  expect(chatBody({ model: 'm', messages: [], max_tokens: 9 }, { host })).toEqual({
    model: 'm',
    messages: [],
    stream: true,
    stream_options: { include_usage: true },
    ...expected,
  })
})
