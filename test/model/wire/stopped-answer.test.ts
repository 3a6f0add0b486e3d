import { expect, it } from 'vitest'
import { isObject, type Json } from '../../../src/base/json.ts'
import { textMessage } from '../../../src/event/message.ts'
import { stoppedAnswer } from '../../../src/event/stopped-answer.ts'
import { anthropicFormat } from '../../../src/model/wire/anthropic.ts'
import { chatFormat } from '../../../src/model/wire/chat.ts'
import { commonQuirks } from '../../../src/model/wire/format.ts'
import { geminiFormat } from '../../../src/model/wire/gemini.ts'
import { responsesFormat } from '../../../src/model/wire/responses.ts'
import { callOf, resultOf } from '../../helpers/messages.ts'

const formats = { anthropic: anthropicFormat, chat: chatFormat, gemini: geminiFormat, responses: responsesFormat }

it.each(Object.entries(formats))(
  'a stopped answer is a message of its own between those of the user in the format %s, whatever had arrived',
  (name, format) => {
    const messages = [
      textMessage('user', 'Count'),
      stoppedAnswer('one two\n', true),
      textMessage('user', 'Look'),
      { role: 'assistant', parts: [callOf('call_0', 'read', '{"path":"a"}')] } as const,
      resultOf('call_0', 'a'),
      stoppedAnswer('', true),
      textMessage('user', 'Go on'),
    ]
    const tools = [{ name: 'read', description: 'read', parameters: { type: 'object' } }]
    const body = format.body({ model: 'm', messages, tools }, commonQuirks)
    const sent = (body['messages'] ?? body['contents'] ?? body['input']) as readonly Json[]
    // calls and results are items of their own in one of the formats
    const roles = sent.flatMap((one) => (isObject(one) && typeof one['role'] === 'string' ? [one['role']] : []))
    const model = name === 'gemini' ? 'model' : 'assistant'
    const tool = { anthropic: [model, 'user'], chat: [model, 'tool'], gemini: [model, 'user'], responses: [] }[name]
    expect(roles).toEqual(['user', model, 'user', ...(tool ?? []), model, 'user'])
    const text = JSON.stringify(sent)
    expect(text).toContain(JSON.stringify('one two\n\n[The user stopped this answer here.]'))
    expect(text).toContain('"[The user stopped this answer here.]"')
  },
)
