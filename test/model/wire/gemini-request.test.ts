import { callOf, fileOf, messageOf, resultOf } from '../../helpers/messages.ts'
import { describe, expect, it } from 'vitest'
import { type Message, textMessage } from '../../../src/event/message.ts'
import type { ModelRequest } from '../../../src/model/provider.ts'
import { geminiFormat } from '../../../src/model/wire/gemini.ts'
import { commonQuirks, type Quirks } from '../../../src/model/wire/format.ts'

const hello: readonly Message[] = [textMessage('user', 'Hello')]
const schema = { type: 'object', properties: { a: { type: 'string' } } }
const tools = [{ name: 'read', description: 'Reads a file.', parameters: schema }]
const output = { name: 'answer', schema }

function body(request: Partial<ModelRequest>, quirks: Partial<Quirks> = {}): unknown {
  return geminiFormat.body({ model: 'gemini-3.8-flash', messages: hello, ...request }, { ...commonQuirks, ...quirks })
}

function thinking(model: string, request: Partial<ModelRequest>): unknown {
  return (body({ model, ...request }) as { generationConfig?: { thinkingConfig?: unknown } }).generationConfig
    ?.thinkingConfig
}

describe('a Gemini request', () => {
  it('goes to the model as a stream of events', () => {
    expect(geminiFormat.path({ model: 'gemini-3.8-flash', messages: hello })).toBe(
      '/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
    )
    expect(geminiFormat.path({ model: 'tunedModels/my model?', messages: hello })).toBe(
      '/tunedModels/my%20model%3F:streamGenerateContent?alt=sse',
    )
  })

  it('contains the messages and leaves all settings to the server', () => {
    expect(body({})).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] })
  })

  it('contains every given setting', () => {
    const request = {
      messages: [textMessage('system', 'Be brief.'), ...hello],
      temperature: 0.2,
      top_p: 0.9,
      max_tokens: 500,
      reasoning_effort: 'high',
      seed: 7,
      tools,
      output,
    }
    expect(body(request)).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      tools: [{ functionDeclarations: [{ name: 'read', description: 'Reads a file.', parametersJsonSchema: schema }] }],
      generationConfig: {
        maxOutputTokens: 500,
        temperature: 0.2,
        topP: 0.9,
        seed: 7,
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
        thinkingConfig: { thinkingLevel: 'high', includeThoughts: true },
      },
    })
  })

  it('describes a schema in words if it cannot be enforced', () => {
    const asked = { parts: [{ text: expect.stringContaining(JSON.stringify(schema)) as string }] }
    expect(body({ output }, { structured: 'json' })).toMatchObject({
      systemInstruction: asked,
      generationConfig: { responseMimeType: 'application/json' },
    })
    expect(body({ output }, { structured: 'json' })).not.toHaveProperty('generationConfig.responseJsonSchema')
    expect(body({ output }, { structured: 'none' })).toMatchObject({ systemInstruction: asked })
    expect(body({ output }, { structured: 'none' })).not.toHaveProperty('generationConfig')
  })

  it('describes it in words when tools are offered to a model that supports only one of both', () => {
    const model = 'gemini-2.5-flash'
    expect(body({ model, output })).toHaveProperty('generationConfig.responseJsonSchema', schema)
    expect(body({ model, output, tools })).not.toHaveProperty('generationConfig')
    expect(body({ model, output, tools })).toHaveProperty('systemInstruction')
  })
})

describe('the messages of a Gemini request', () => {
  it('are grouped by side: adjacent ones of one side are one content, with system messages above them', () => {
    const messages: Message[] = [
      textMessage('system', 'One'),
      textMessage('user', 'Two'),
      { ...textMessage('user', 'Three'), name: 'ada' },
      textMessage('system', 'Four'),
      textMessage('assistant', 'Five'),
      textMessage('assistant', ''),
      messageOf('user', 'Six', fileOf('a.png', 'image/png', 'AAA=')),
      messageOf('user', '', fileOf('a.md', 'text/markdown', 'BBB=')),
    ]
    expect(body({ messages })).toEqual({
      systemInstruction: { parts: [{ text: 'One' }, { text: 'Four' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Two' }, { text: 'ada: Three' }] },
        { role: 'model', parts: [{ text: 'Five' }] },
        {
          role: 'user',
          parts: [
            { text: 'Six' },
            { inlineData: { mimeType: 'image/png', data: 'AAA=' } },
            { inlineData: { mimeType: 'text/plain', data: 'BBB=' } },
          ],
        },
      ],
    })
  })

  const called: readonly Message[] = [
    messageOf('assistant', '', callOf('c1', 'read', '{"a":1}'), callOf('c2', 'list', '{"a":')),
    resultOf('c1', 'one'),
    resultOf('c2', 'no JSON'),
  ]
  const answered = {
    role: 'user',
    parts: [
      { functionResponse: { id: 'c1', name: 'read', response: { output: 'one' } } },
      { functionResponse: { id: 'c2', name: 'list', response: { output: 'no JSON' } } },
    ],
  }
  const first = { functionCall: { id: 'c1', name: 'read', args: { a: 1 } } }
  const second = { functionCall: { id: 'c2', name: 'list', args: { invalid_json: '{"a":' } } }

  it('contain tool calls, and their results together under the names of the tools', () => {
    expect(body({ model: 'gemini-2.5-pro', messages: called })).toHaveProperty('contents', [
      { role: 'model', parts: [first, second] },
      answered,
    ])
  })

  it('contain a placeholder for the signature that newer models require at the first call', () => {
    const signed = { ...first, thoughtSignature: 'skip_thought_signature_validator' }
    for (const model of ['gemini-3.1-pro-preview', 'gemini-flash-latest']) {
      expect(body({ model, messages: called })).toHaveProperty('contents', [
        { role: 'model', parts: [signed, second] },
        answered,
      ])
    }
  })
})

describe('the thinking of a Gemini model', () => {
  it.each([
    ['none', 0, 128],
    ['minimal', 512, 512],
    ['low', 1024, 1024],
    ['medium', 8000, 8000],
    ['high', 24_000, 24_000],
    ['max', 24_576, 32_768],
  ])('is a number of tokens up to 2.5 for the effort %s', (effort, flash, pro) => {
    const includeThoughts = effort !== 'none'
    const asked = { reasoning_effort: effort }
    expect(thinking('gemini-2.5-flash', asked)).toEqual({ thinkingBudget: flash, includeThoughts })
    expect(thinking('gemini-2.5-pro', asked)).toEqual({ thinkingBudget: pro, includeThoughts })
  })

  it.each([
    ['none', 'low'],
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['xhigh', 'high'],
    ['max', 'high'],
  ])('is a level from version 3 on: %s is %s', (effort, level) => {
    for (const model of [
      'gemini-3.8-flash',
      'gemini-3.1-pro-preview',
      'gemini-4-argon',
      'gemini-4-carbon',
      'gemini-pro-latest',
    ]) {
      expect(thinking(model, { reasoning_effort: effort })).toHaveProperty('thinkingLevel', level)
    }
  })

  it('considers that some models have fewer or more levels', () => {
    expect(thinking('gemini-3.5-flash-lite', { reasoning_effort: 'none' })).toHaveProperty('thinkingLevel', 'minimal')
    expect(thinking('gemini-3-pro-preview', { reasoning_effort: 'medium' })).toHaveProperty('thinkingLevel', 'high')
    for (const model of ['gemini-4-hydrogen', 'gemini-4-neon']) {
      expect(thinking(model, { reasoning_effort: 'max' })).toHaveProperty('thinkingLevel', 'xhigh')
    }
  })

  it('is not requested from models without thinking', () => {
    expect(thinking('gemini-2.0-flash', { reasoning_effort: 'high' })).toBeUndefined()
    expect(thinking('gemma-3-27b-it', { reasoning_effort: 'high' })).toBeUndefined()
  })

  it('is shown when a summary is requested, and hidden otherwise', () => {
    const model = 'gemini-3.8-flash'
    expect(thinking(model, { reasoning_summary: 'auto' })).toEqual({ includeThoughts: true })
    expect(thinking(model, { reasoning_summary: 'none' })).toBeUndefined()
    expect(thinking(model, { reasoning_effort: 'low', reasoning_summary: 'none' })).toEqual({
      thinkingLevel: 'low',
      includeThoughts: false,
    })
  })
})
