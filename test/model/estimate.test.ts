import { callOf, fileOf, messageOf, resultOf } from '../helpers/messages.ts'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { noUsage, textMessage, type Message } from '../../src/event/message.ts'
import type { FailureClass } from '../../src/model/errors.ts'
import { estimateOf, estimateTokens, usageOfFailedCall } from '../../src/model/estimate.ts'
import type { ToolDefinition } from '../../src/model/provider.ts'

const user = (text: string): Message => textMessage('user', text)

describe('estimateTokens', () => {
  it('counts UTF-8 bytes, 3.6 to a token, rounded up once for all messages', () => {
    expect(estimateTokens([])).toBe(0)
    expect(estimateTokens([user('a'.repeat(36))])).toBe(10)
    expect(estimateTokens([user('日'.repeat(36))])).toBe(30)
    expect(estimateTokens([user('a'), user('b'), user('c')])).toBe(1)
  })

  it('includes tool calls and their results', () => {
    const call = callOf('1', 'read', 'x'.repeat(32))
    expect(estimateTokens([messageOf('assistant', '', call)])).toBe(10)
    expect(estimateTokens([resultOf('1', 'x'.repeat(36))])).toBe(10)
    const tool: ToolDefinition = { name: 'read', description: 'Reads a file.', parameters: { type: 'object' } }
    expect(estimateTokens([], [tool])).toBe(Math.ceil(JSON.stringify(tool).length / 3.6))
  })

  it('counts attachments by their size, and images at most like a large one', () => {
    const attached = (mediaType: string, bytes: number): Message =>
      messageOf('user', '', fileOf('a', mediaType, 'A'.repeat((bytes / 3) * 4)))
    expect(estimateTokens([attached('application/pdf', 36_000)])).toBe(10_000)
    expect(estimateTokens([attached('image/png', 3600)])).toBe(1000)
    expect(estimateTokens([attached('image/png', 36_000), attached('image/png', 3_600_000)])).toBe(10_000)
  })
})

describe('reasoning in estimateTokens', () => {
  it('counts as displayed, and hidden reasoning as sent', () => {
    const provider = { format: 'responses', data: { encrypted_content: 'x'.repeat(360) } } as const
    const shown: Message = { role: 'assistant', parts: [{ type: 'reasoning', text: 'a'.repeat(36), provider }] }
    expect(estimateTokens([shown])).toBe(10)
    const hidden: Message = { role: 'assistant', parts: [{ type: 'reasoning', text: '', provider }] }
    expect(estimateTokens([hidden])).toBeGreaterThan(100)
  })
})

describe('estimateOf', () => {
  const request = { model: 'm', messages: [user('a'.repeat(360))] }

  it('is the input with its price, and the output limit with its rate', () => {
    expect(estimateOf({ ...request, max_tokens: 500 }, { input: 2 ** -19, output: 8e-6 })).toEqual({
      tokens: 100,
      usd: 100 * 2 ** -19,
      output: { tokens: 500, usdPerToken: 8e-6, least: 1024 },
    })
  })

  it('assumes 16384 tokens of output without a limit, and no dollars without a known price', () => {
    expect(estimateOf(request, undefined)).toEqual({ tokens: 100, output: { tokens: 16_384, least: 1024 } })
  })

  it('includes the schema of the output, which is sent with the request', () => {
    const output = { name: 'o', schema: { type: 'object', description: 'd'.repeat(360) } }
    expect(estimateOf({ ...request, output }, undefined).tokens).toBeGreaterThan(200)
  })
})

describe('usageOfFailedCall', () => {
  const request = { model: 'm', messages: [user('a'.repeat(36))] }
  const failed = (name: FailureClass): BatonError => {
    return new BatonError('MODEL_FAILED', 'x', { cause: { kind: 'model-failure', class: name, retryable: true } })
  }

  it.each(['auth', 'invalid_request', 'not_found', 'quota', 'rate_limit', 'unavailable'] as const)(
    'is a call and no tokens when the host did no work: %s',
    (name) => {
      expect(usageOfFailedCall(failed(name), request, 'came')).toEqual({ ...noUsage, calls: 1 })
    },
  )

  it.each(['network', 'timeout', 'garbled'] as const)(
    'includes the input and the received part of the answer: %s',
    (name) => {
      const usage = usageOfFailedCall(failed(name), request, 'came')
      expect(usage).toEqual({
        ...noUsage,
        calls: 1,
        input: estimateTokens(request.messages),
        output: 2,
        estimated: true,
      })
    },
  )

  it('is a call and no tokens when the connection broke before anything was received, or the error is not of a call', () => {
    expect(usageOfFailedCall(failed('network'), request, '')).toEqual({ ...noUsage, calls: 1 })
    expect(usageOfFailedCall(new Error('x'), request, 'came')).toEqual({ ...noUsage, calls: 1 })
  })
})
