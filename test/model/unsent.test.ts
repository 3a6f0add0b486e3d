import { textMessage } from '../../src/event/message.ts'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/model/provider.ts'
import { unsentSettings } from '../../src/model/transport.ts'
import { anthropicFormat } from '../../src/model/wire/anthropic.ts'
import { chatFormat } from '../../src/model/wire/chat.ts'
import { commonQuirks, type Quirks, type WireFormat } from '../../src/model/wire/format.ts'
import { geminiFormat } from '../../src/model/wire/gemini.ts'
import { responsesFormat } from '../../src/model/wire/responses.ts'

/** One line for each setting that is not sent. */
function unsent(
  format: WireFormat,
  request: Omit<ModelRequest, 'messages'>,
  quirks: Partial<Quirks> = {},
): readonly string[] {
  const asked: ModelRequest = { messages: [textMessage('user', 'Hi')], ...request }
  return unsentSettings(asked, (one) => format.body(one, { ...commonQuirks, ...quirks })).map(
    ({ name, reason }) => `${name} ${reason}`,
  )
}

const unknown = 'is not known to support it'

describe('settings that are not sent', () => {
  it('do not exist if the format supports all of them', () => {
    const all = { temperature: 0.3, top_p: 0.5, max_tokens: 9, reasoning_effort: 'high', seed: 1 }
    expect(unsent(chatFormat, { model: 'm', ...all })).toEqual([])
    expect(unsent(geminiFormat, { model: 'gemini-2.5-pro', ...all })).toEqual([])
    expect(unsent(responsesFormat, { model: 'gpt-6', ...all, seed: undefined } as never)).toEqual([])
    expect(unsent(anthropicFormat, { model: 'claude-haiku-4-5', temperature: 0.3, max_tokens: 16_384 })).toEqual([])
    expect(unsent(anthropicFormat, { model: 'claude-haiku-4-5', reasoning_effort: 'none', max_tokens: 500 })).toEqual(
      [],
    )
  })

  it.each([
    [
      { reasoning_effort: 'high', max_tokens: 500 },
      ['reasoning_effort does not support it together with max_tokens = 500'],
    ],
    [
      { reasoning_effort: 'high', temperature: 0.3 },
      ['temperature does not support it together with reasoning_effort = "high"'],
    ],
    [{ temperature: 0.3, top_p: 0.5 }, ['top_p does not support it together with temperature = 0.3']],
    [
      { reasoning_effort: 'high', temperature: 0.3, top_p: 0.5 },
      [
        'temperature does not support it together with reasoning_effort = "high"',
        'top_p does not support it together with reasoning_effort = "high" and temperature = 0.3',
      ],
    ],
    [{ seed: 7 }, [`seed ${unknown}`]],
  ])('to an older Claude: %j', (settings, expected) => {
    expect(unsent(anthropicFormat, { model: 'claude-haiku-4-5', ...settings })).toEqual(expected)
  })

  it('are those that a model refuses or that do not fit its name', () => {
    const effort = { reasoning_effort: 'high' }
    expect(unsent(anthropicFormat, { model: 'claude-sonnet-5-5', ...effort, temperature: 0.3 })).toEqual([
      `temperature ${unknown}`,
    ])
    expect(unsent(anthropicFormat, { model: 'claude-2.1', ...effort })).toEqual([`reasoning_effort ${unknown}`])
    expect(unsent(geminiFormat, { model: 'tunedModels/mine', ...effort })).toEqual([`reasoning_effort ${unknown}`])
    for (const model of ['gpt-6.1-sol', 'gpt-6.2-sol', 'gpt-6.2-astra']) {
      const sampling = { temperature: 0.3, top_p: 0.5 }
      const expected = [`temperature ${unknown}`, `top_p ${unknown}`]
      expect(unsent(responsesFormat, { model, ...sampling })).toEqual(expected)
      expect(unsent(chatFormat, { model: `openai/${model}`, ...sampling })).toEqual(expected)
    }
    expect(unsent(responsesFormat, { model: 'gpt-6.1-terra', temperature: 0.3 })).toEqual([])
    expect(unsent(responsesFormat, { model: 'gpt-6', seed: 7 })).toEqual([`seed ${unknown}`])
    expect(unsent(chatFormat, { model: 'm', seed: 7 }, { refusesExtras: true })).toEqual([`seed ${unknown}`])
    expect(unsent(chatFormat, { model: 'm', ...effort }, { reasoning: 'none' })).toEqual([
      `reasoning_effort ${unknown}`,
    ])
  })
})
